#include "coordinator/czmq/quiet.h"

#include <czmq.h>
#include <stdlib.h>
#include <string.h>

#include "common/io/capacity.h"

/* A reaper and a thread for input and output, each with descriptors of its own, and one connection's sockets. */
static const struct capacity needs = { .descriptors = 24, .threads = 2, .bytes = 4 * 1024 * 1024 };

static bool begun;

static void unset (const char *entry, size_t name_len)
{
    char *name = strndup (entry, name_len);
    if (name)
        unsetenv (name);
    free (name);
}

/* czmq takes queues, linger, interface, log and more from variables ZSYS_*. */
static void scrub_environment (void)
{
    for (char **entry = environ; entry && *entry;) {
        const char *assigned = strchr (*entry, '=');
        const char *before = *entry;
        if (assigned && strncmp (*entry, "ZSYS_", 5) == 0)
            unset (*entry, (size_t) (assigned - *entry));
        if (*entry == before)
            entry++;
    }
}

int quiet_begin (struct err *err)
{
    if (begun)
        return 0;
    if (capacity_check ("messaging", &needs, err) != 0)
        return -1;
    scrub_environment ();
    zsys_handler_set (NULL); /* else SIGINT and SIGTERM are czmq's from its first socket on */
    if (!zsys_init ())
        return err_set (err, ERR_IO, "cannot start ZeroMQ messaging: %s", zmq_strerror (zmq_errno ()));
    zsys_set_logstream (stderr); /* not on standard output, which may be read by a program */
    begun = true;
    return 0;
}
