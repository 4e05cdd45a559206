#include "coordinator/courier/carrier.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "common/base/mem.h"
#include "common/base/text.h"
#include "common/io/clock.h"
#include "common/io/fd.h"
#include "coordinator/courier/pump.h"
#include "coordinator/courier/ssh_login.h"

enum { LISTEN_LOOK_MS = 50, WAY_WAIT_MS = 10 * 1000, WAY_ANSWER_BYTES = 4096 };
enum { GREETING_BYTES = 64 }; /* ZMTP 3.1, all that a stranger gets: its CURVE answers only who has the key */

/* Replaces the file at once, since a worker may read it meanwhile. */
static const char way_command[] = "exec /bin/sh -c 'read -r dir ports || exit 1; umask 077; cd \"$dir\" && "
                                  "echo \"$ports\" >way.new && mv way.new way && echo sliceup-way placed'";

struct carrier {
    ssh_session session;
    const struct carrier_ends *to;
    int host_ports[CARRIER_ENDS];
    struct pump *pumps[CARRIED_MAX]; /* the oldest first */
    uint32_t pumps_n;
};

/* ---- opening ---- */

static int carrier_listen (struct carrier *carrier, int end, uint64_t until_ms, struct err *err)
{
    int rc;
    do {
        rc = ssh_channel_listen_forward (carrier->session, "localhost", 0, &carrier->host_ports[end]);
        struct pollfd entry = { .fd = ssh_get_fd (carrier->session), .events = POLLIN };
        if (rc == SSH_AGAIN)
            (void) poll (&entry, 1, LISTEN_LOOK_MS);
    } while (rc == SSH_AGAIN && clock_boot_ms () < until_ms);
    if (rc == SSH_OK && carrier->host_ports[end] > 0 && carrier->host_ports[end] <= UINT16_MAX)
        return 0;
    return err_set (
        err, ERR_REFUSED,
        "its ssh server forwards no ports (sshd_config: AllowTcpForwarding, PermitListen, DisableForwarding; "
        "or the options of the key in authorized_keys)");
}

struct carrier *carrier_open (ssh_session session, const struct carrier_ends *to, uint64_t until_ms,
                              uint16_t at[CARRIER_ENDS], struct err *err)
{
    struct carrier *carrier = mem_alloc (sizeof *carrier);
    *carrier = (struct carrier){ .session = session, .to = to };
    for (int end = 0; end < CARRIER_ENDS; end++) {
        if (carrier_listen (carrier, end, until_ms, err) < 0) {
            carrier_close (carrier);
            return NULL;
        }
        at[end] = (uint16_t) carrier->host_ports[end];
    }
    return carrier;
}

/* A shell may print a greeting before. */
static bool way_is_placed (ssh_channel channel)
{
    char said[WAY_ANSWER_BYTES + 1];
    uint32_t len = 0;
    int n;
    while (len < WAY_ANSWER_BYTES &&
           (n = ssh_channel_read_timeout (channel, said + len, WAY_ANSWER_BYTES - len, 0, WAY_WAIT_MS)) > 0)
        len += (uint32_t) n;
    return text_find ((struct text){ said, len }, TEXT_LIT ("sliceup-way placed"), NULL);
}

int carrier_tell_way (ssh_session session, const struct request *request, const uint16_t at[CARRIER_ENDS],
                      struct err *err)
{
    char words[REQUEST_PATH_MAX_BYTES + 64];
    int len = snprintf (words, sizeof words, "%s %u %u\n", request->worker_directory, at[0], at[1]);
    ssh_channel channel = ssh_channel_new (session);
    bool opened = len < (int) sizeof words && channel && ssh_channel_open_session (channel) == SSH_OK;
    err_set (err, ERR_IO, "cannot tell the worker its new ports: %s/way cannot be written", request->worker_directory);
    bool placed = opened && ssh_run (session, channel, &request->ssh, way_command, err) == 0 &&
                  ssh_channel_write (channel, words, (uint32_t) len) == len && way_is_placed (channel);
    if (channel)
        ssh_channel_free (channel);
    return placed ? 0 : -1;
}

/* ---- carrying ---- */

/* This machine itself: what does not connect at once is seen when bytes are moved. */
static int carrier_dial (const struct carrier *carrier, uint16_t port)
{
    struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM }, *found = NULL;
    char service[8];
    int fd = -1, yes = 1;
    snprintf (service, sizeof service, "%u", port);
    if (getaddrinfo (carrier->to->address, service, &hints, &found) == 0)
        fd = socket (found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0) {
        (void) setsockopt (fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes); /* only slower */
        (void) connect (fd, found->ai_addr, found->ai_addrlen);
    }
    if (found)
        freeaddrinfo (found);
    return fd;
}

static void pump_close (struct pump *pump)
{
    ssh_channel_free (pump->channel);
    fd_close (pump->fd);
    mem_free (pump);
}

static void carrier_drop (struct carrier *carrier, uint32_t i)
{
    pump_close (carrier->pumps[i]);
    memmove (&carrier->pumps[i], &carrier->pumps[i + 1], (--carrier->pumps_n - i) * sizeof carrier->pumps[0]);
}

/* Another user of the host may take all places, but keeps none that is wanted. */
static void carrier_make_room (struct carrier *carrier)
{
    for (uint32_t i = 0; i < carrier->pumps_n && carrier->pumps_n == CARRIED_MAX; i++)
        if (carrier->pumps[i]->given_bytes <= GREETING_BYTES)
            carrier_drop (carrier, i);
}

/* True: one came. More than CARRIED_MAX are closed. */
static bool carrier_accept (struct carrier *carrier)
{
    int port = 0;
    ssh_channel channel = ssh_channel_open_forward_port (carrier->session, 0, &port, NULL, NULL);
    if (!channel)
        return false;
    struct pump *pump = mem_alloc (sizeof *pump);
    *pump = (struct pump){ .channel = channel, .fd = -1 };
    carrier_make_room (carrier);
    for (int end = 0; end < CARRIER_ENDS && pump->fd < 0 && carrier->pumps_n < CARRIED_MAX; end++)
        if (port == carrier->host_ports[end])
            pump->fd = carrier_dial (carrier, carrier->to->ports[end]);
    if (pump->fd < 0)
        pump_close (pump);
    else
        carrier->pumps[carrier->pumps_n++] = pump;
    return true;
}

bool carrier_move (struct carrier *carrier)
{
    bool moved = carrier_accept (carrier);
    for (uint32_t i = 0; i < carrier->pumps_n;) {
        moved |= pump_move (carrier->pumps[i]);
        if (pump_is_over (carrier->pumps[i]))
            carrier_drop (carrier, i);
        else
            i++;
    }
    return moved;
}

bool carrier_is_idle (const struct carrier *carrier)
{
    return carrier->pumps_n == 0;
}

size_t carrier_watch (const struct carrier *carrier, struct pollfd *entries, short *session_events)
{
    for (uint32_t i = 0; i < carrier->pumps_n; i++) {
        short events = pump_fd_events (carrier->pumps[i]);
        entries[i] = (struct pollfd){ .fd = events ? carrier->pumps[i]->fd : -1, .events = events };
        *session_events |= pump_session_events (carrier->pumps[i]);
    }
    return carrier->pumps_n;
}

void carrier_close (struct carrier *carrier)
{
    if (!carrier)
        return;
    for (uint32_t i = 0; i < carrier->pumps_n; i++)
        pump_close (carrier->pumps[i]);
    mem_free (carrier);
}
