#include "common/io/context.h"
#include "common/io/process_capacity.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <zmq.h>

/* Two a spoke, nine a hub; tests and simulations hold thousands of spokes in one process. libzmq's default is 1,023. */
enum { SOCKETS_MAX = 16384 };

/* A reaper and a thread for input and output, each with descriptors of its own, and one connection's sockets. Refused
 * any of it, libzmq ends the process. */
static const struct capacity_needs needs = { .descriptors = 24, .threads = 2, .bytes = 4 * 1024 * 1024 };

static struct {
    pthread_mutex_t lock;
    void *context;
    unsigned holders;
} the = { .lock = PTHREAD_MUTEX_INITIALIZER };

void *context_hold (struct err *err)
{
    pthread_mutex_lock (&the.lock);
    if (!the.context && process_capacity_check ("messaging", &needs, err) != 0) {
        pthread_mutex_unlock (&the.lock);
        return NULL;
    }
    if (!the.context) {
        the.context = zmq_ctx_new ();
        if (the.context && zmq_ctx_set (the.context, ZMQ_MAX_SOCKETS, SOCKETS_MAX) != 0) {
            zmq_ctx_term (the.context);
            the.context = NULL;
        }
    }
    if (the.context)
        the.holders++;
    else
        err_set (err, ERR_IO, "cannot start ZeroMQ messaging: %s", zmq_strerror (zmq_errno ()));
    void *context = the.context;
    pthread_mutex_unlock (&the.lock);
    return context;
}

void context_release (void)
{
    pthread_mutex_lock (&the.lock);
    assert (the.holders > 0);
    if (--the.holders == 0) {
        while (zmq_ctx_term (the.context) != 0)
            assert (zmq_errno () == EINTR);
        the.context = NULL;
    }
    pthread_mutex_unlock (&the.lock);
}
