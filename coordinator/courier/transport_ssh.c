#include <errno.h>
#include <libssh/libssh.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/io/clock.h"
#include "common/io/fd.h"
#include "common/io/program_start.h"
#include "coordinator/courier/bootstrap_protocol.h"
#include "coordinator/courier/ssh_login.h"

/* ---- the carrier ----
 *
 * Carries a worker's link through the ssh connection that started it, to a coordinator that its host cannot reach.
 *
 * The host's sshd listens on its loopback (RFC 4254, 7.1); every connection there becomes a channel, and goes on to the
 * coordinator's own port. What passes is CURVE from end to end: nothing is read here. One thread, which never waits but
 * in carrier_open and carrier_tell_way. */

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

static void pump_close (struct pump *pump)
{
    ssh_channel_free (pump->channel);
    fd_close (pump->fd);
    mem_free (pump);
}

/* `carrier` may be NULL; before the session. */
static void carrier_close (struct carrier *carrier)
{
    if (!carrier)
        return;
    for (uint32_t i = 0; i < carrier->pumps_n; i++)
        pump_close (carrier->pumps[i]);
    mem_free (carrier);
}

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

/* Makes the server listen, and fills in the ports on the host's 127.0.0.1. NULL on error. Borrows the session. */
static struct carrier *carrier_open (ssh_session session, const struct carrier_ends *to, uint64_t until_ms,
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

/* Writes the ports to the file `way` in the worker's folder, which a running worker reads. Waits; the watchdog
 * bounds that. */
static int carrier_tell_way (ssh_session session, const struct request *request, const uint16_t at[CARRIER_ENDS],
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

/* Accepts, moves bytes, and drops what ended. True: something happened, so more may. */
static bool carrier_move (struct carrier *carrier)
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

static bool carrier_is_idle (const struct carrier *carrier)
{
    return carrier->pumps_n == 0;
}

/* Adds what to poll for its sockets, at most CARRIED_MAX; `session_events`: for its session. */
static size_t carrier_watch (const struct carrier *carrier, struct pollfd *entries, short *session_events)
{
    for (uint32_t i = 0; i < carrier->pumps_n; i++) {
        short events = pump_fd_events (carrier->pumps[i]);
        entries[i] = (struct pollfd){ .fd = events ? carrier->pumps[i]->fd : -1, .events = events };
        *session_events |= pump_session_events (carrier->pumps[i]);
    }
    return carrier->pumps_n;
}

/* ---- the transport ---- */

enum { LOOK_MS = 20, LOOKS = 50 }; /* for the end of a command that closed its output */

struct transport_ssh {
    struct transport transport;
    ssh_session session;
    ssh_channel channel;     /* NULL: it only carries */
    struct jump *jump;       /* NULL: straight, or by the command */
    pid_t command;           /* the user's ProxyCommand; 0: none, or reaped */
    struct carrier *carrier; /* NULL: nothing is carried */
    bool lost;               /* the connection is of no use any more */
    uint32_t window, widest; /* bytes that the server would take when last asked, and at most */
    uint64_t grew_ms;        /* when the first of them last grew */
};

/* ---- the running program ---- */

/* An sshd keeps what its program has not read yet in one buffer, and copies it again and again where the network is
 * faster: 2 MiB of that took a third of all CPU that bringing a bundle takes. So no more than this is under way, unless
 * the server, which decides when it says what was read, or a long way lets that stand still. */
enum { UNDER_WAY_BYTES = 512 * 1024, STANDS_STILL_MS = 500 };

static bool transport_ssh_has_room (struct transport_ssh *ssh)
{
    uint32_t window = ssh->lost || !ssh->channel ? 0 : ssh_channel_window_size (ssh->channel);
    uint64_t now_ms = clock_boot_ms ();
    if (window > ssh->window)
        ssh->grew_ms = now_ms;
    ssh->window = window;
    ssh->widest = window > ssh->widest ? window : ssh->widest;
    return window > 0 && (ssh->widest - window < UNDER_WAY_BYTES || now_ms - ssh->grew_ms >= STANDS_STILL_MS);
}

static size_t transport_ssh_watch (struct transport *transport, bool to_send, struct pollfd entries[TRANSPORT_FDS_MAX])
{
    struct transport_ssh *ssh = (struct transport_ssh *) transport;
    /* `receive` may have buffered the packet that opens a full window, and poll does not report it again. */
    bool may_send = to_send && transport_ssh_has_room (ssh);
    short events = POLLIN | (may_send || (ssh_get_poll_flags (ssh->session) & SSH_WRITE_PENDING) ? POLLOUT : 0);
    size_t carried = ssh->carrier && !ssh->lost ? carrier_watch (ssh->carrier, entries + 1, &events) : 0;
    entries[0] = (struct pollfd){ .fd = ssh->lost ? -1 : ssh_get_fd (ssh->session), .events = events };
    return 1 + carried;
}

static ssize_t transport_ssh_receive (struct transport *transport, enum transport_stream stream, void *bytes,
                                      size_t max)
{
    struct transport_ssh *ssh = (struct transport_ssh *) transport;
    if (ssh->lost || !ssh->channel)
        return -1;
    int n = ssh_channel_read_nonblocking (ssh->channel, bytes, (uint32_t) max, stream == TRANSPORT_ERROR);
    if (n == SSH_ERROR)
        ssh->lost = true;
    return n >= 0 ? n : -1;
}

static ssize_t transport_ssh_say (struct transport *transport, const void *bytes, size_t len)
{
    struct transport_ssh *ssh = (struct transport_ssh *) transport;
    if (!ssh->lost && !transport_ssh_has_room (ssh))
        return 0;
    int n = ssh->lost ? -1 : ssh_channel_write (ssh->channel, bytes, (uint32_t) len);
    return n >= 0 ? n : -1;
}

/* Non-blocking, ssh_channel_get_exit_status reads what came and returns -1 while there is no status; -1 with a closed
 * channel is an end by a signal. */
static bool ended (struct transport *transport, struct buf *how)
{
    struct transport_ssh *ssh = (struct transport_ssh *) transport;
    int status = ssh->lost || !ssh->channel ? -1 : ssh_channel_get_exit_status (ssh->channel);
    if (status >= 0)
        buf_printf (how, "exit status %d", status);
    else if (!ssh->lost && ssh_is_connected (ssh->session) && !(ssh->channel && ssh_channel_is_closed (ssh->channel)))
        return false;
    else if (!ssh->lost && ssh_is_connected (ssh->session))
        buf_puts (how, "a signal");
    else
        buf_puts (how, TRANSPORT_LOST);
    return true;
}

static int transport_ssh_carry (struct transport *transport, const struct carrier_ends *to, uint64_t until_ms,
                                uint16_t at[CARRIER_ENDS], struct err *err)
{
    struct transport_ssh *ssh = (struct transport_ssh *) transport;
    dial_watch_peer (ssh->jump ? jump_fd (ssh->jump) : ssh_get_fd (ssh->session), PEER_LOST_CARRIED_S);
    ssh->carrier = carrier_open (ssh->session, to, until_ms, at, err);
    return ssh->carrier ? 0 : -1;
}

static bool transport_ssh_move (struct transport *transport, bool *idle)
{
    struct transport_ssh *ssh = (struct transport_ssh *) transport;
    bool moved = ssh->carrier && !ssh->lost && carrier_move (ssh->carrier);
    *idle = !ssh->carrier || ssh->lost || carrier_is_idle (ssh->carrier);
    return moved;
}

static void close_transport (struct transport *transport, uint64_t leave_ms)
{
    struct transport_ssh *ssh = (struct transport_ssh *) transport;
    (void) leave_ms; /* sshd closes the program's input when the connection ends */
    carrier_close (ssh->carrier);
    if (ssh->channel)
        ssh_channel_free (ssh->channel);
    if (ssh->session)
        ssh_login_close (ssh->session);
    if (ssh->jump)
        jump_close (ssh->jump);
    if (ssh->command > 0)
        (void) kill (ssh->command, SIGHUP); /* as ssh: sshconnect.c, ssh_kill_proxy_command */
    mem_free (ssh);
}

static const struct transport_ops ops = { .watch = transport_ssh_watch,
                                          .receive = transport_ssh_receive,
                                          .say = transport_ssh_say,
                                          .ended = ended,
                                          .carry = transport_ssh_carry,
                                          .move = transport_ssh_move,
                                          .close = close_transport };

/* ---- getting there ---- */

static int open_jump (struct transport_ssh *ssh, const struct ssh_login *host, int *fd, struct err *err)
{
    struct ssh_login login = *host;
    login.address = host->ssh->jump_address;
    login.host_key_alias = "";
    login.port = host->ssh->jump_port;
    login.user = *host->ssh->jump_user ? host->ssh->jump_user : host->user;
    reporter_set_jump_host (host->reporter, host->ssh->jump);
    ssh->jump = jump_open (&login, host->address, host->port, fd, err);
    reporter_set_jump_host (host->reporter, "");
    return ssh->jump ? 0 : err_prefix (err, "jump host %s", host->ssh->jump);
}

/* As ssh runs it (ssh_config(5), ProxyCommand): by the user's shell. What it says goes to the worker's log. */
static int transport_ssh_run_command (struct transport_ssh *ssh, const struct ssh_login *login, int *fd,
                                      struct err *err)
{
    const char *shell = getenv ("SHELL");
    LOCAL_ARENA arena = { 0 };
    const char *line = text_format (&arena, "exec %s", login->ssh->command).ptr;
    const char *const argv[] = { shell && *shell ? shell : "/bin/sh", "-c", line, NULL };
    int pair[2] = { -1, -1 };
    reporter_send_step (login->reporter, STEP_CONNECT, "its ProxyCommand");
    if (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0) {
        const struct program program = {
            .argv = argv, .envp = environ, .in = pair[1], .out = pair[1], .error = STDERR_FILENO
        };
        errno = program_start (&ssh->command, &program);
    }
    int rc = ssh->command > 0 ? 0 : err_errno (err, ERR_IO, "cannot start its ProxyCommand by %s", argv[0]);
    fd_close (pair[1]);
    *fd = pair[0];
    return rc;
}

/* Says how the command ended, if that ended the connection. */
static void transport_ssh_explain_command (struct transport_ssh *ssh, struct err *err)
{
    int status = 0;
    pid_t ended = 0;
    for (int look = 0; look < LOOKS && (ended = waitpid (ssh->command, &status, WNOHANG)) == 0; look++)
        (void) poll (NULL, 0, LOOK_MS);
    if (ended <= 0)
        return;
    ssh->command = 0;
    err_set (err, ERR_IO, "its ProxyCommand ended with %s%d before the ssh server was reached",
             WIFEXITED (status) ? "" : "signal ", WIFEXITED (status) ? WEXITSTATUS (status) : WTERMSIG (status));
}

static int run_bootstrap (struct transport_ssh *ssh, const struct request_ssh *request, struct reporter *reporter,
                          struct err *err)
{
    reporter_send_step (reporter, STEP_SHELL, "the host's shell: ssh has logged in");
    ssh->channel = ssh_channel_new (ssh->session);
    if (!ssh->channel || ssh_channel_open_session (ssh->channel) != SSH_OK)
        return err_set (err, ERR_REFUSED,
                        "cannot open a session with the ssh server (MaxSessions, or a forced command?): %s",
                        ssh_get_error (ssh->session));
    if (request->sudo)
        reporter_send_step (reporter, STEP_AUTHENTICATION, "sudo on the host");
    if (ssh_run (ssh->session, ssh->channel, request, bootstrap_command, err) < 0)
        return -1;
    if (request->sudo)
        reporter_send_step (reporter, STEP_SHELL, "the shell of root");
    ssh_set_blocking (ssh->session, 0);
    return 0;
}

/* For a worker that runs: no command, but new ports. */
static int carry_again (struct transport_ssh *ssh, const struct request *request, struct reporter *reporter,
                        uint64_t until_ms, struct err *err)
{
    uint16_t at[CARRIER_ENDS];
    reporter_send_step (reporter, STEP_LINK, "the ssh server to forward ports");
    if (transport_ssh_carry (&ssh->transport, &request->hub, until_ms, at, err) < 0)
        return -1;
    if (carrier_tell_way (ssh->session, request, at, err) < 0)
        return -1;
    ssh_set_blocking (ssh->session, 0);
    return 0;
}

static int reach (struct transport_ssh *ssh, const struct ssh_login *login, char near_end[DIAL_ADDRESS_BYTES],
                  struct err *err)
{
    int fd = -1;
    near_end[0] = '\0';
    if (*login->ssh->jump && open_jump (ssh, login, &fd, err) != 0)
        return -1;
    if (*login->ssh->command && transport_ssh_run_command (ssh, login, &fd, err) != 0)
        return -1;
    ssh->session = ssh_login_open (login, fd, err);
    if (!ssh->session && ssh->command > 0 && login->reporter->step == STEP_CONNECT)
        transport_ssh_explain_command (ssh, err);
    if (!ssh->session)
        return -1;
    if (fd < 0 && dial_local_address (ssh_get_fd (ssh->session), near_end, err) != 0)
        return -1;
    return 0;
}

struct transport *transport_ssh_open (const struct request *request, struct reporter *reporter, uint64_t until_ms,
                                      char near_end[DIAL_ADDRESS_BYTES], struct err *err)
{
    struct transport_ssh *ssh = mem_alloc (sizeof *ssh);
    struct ssh_login login = { .address = request->ssh.address,
                               .host_key_alias = request->ssh.host_key_alias,
                               .user = request->ssh.user,
                               .port = request->ssh.port,
                               .ssh = &request->ssh,
                               .reporter = reporter,
                               .until_ms = until_ms };
    ssh->transport.ops = &ops;
    if (reach (ssh, &login, near_end, err) == 0 &&
        (request->again ? carry_again (ssh, request, reporter, until_ms, err)
                        : run_bootstrap (ssh, &request->ssh, reporter, err)) == 0)
        return &ssh->transport;
    close_transport (&ssh->transport, 0);
    return NULL;
}

/* ---- transport ---- */

struct text transport_last_line (struct text received)
{
    while (received.len > 0 && received.ptr[received.len - 1] == '\n')
        received.len--;
    const char *newline = received.len ? memrchr (received.ptr, '\n', received.len) : NULL;
    uint32_t skipped = newline ? (uint32_t) (newline + 1 - received.ptr) : 0;
    return (struct text){ received.ptr + skipped, received.len - skipped };
}

/* "12" or "12.0" at the front of the text: its length. */
static uint32_t number_len (struct text text)
{
    uint32_t len = 0;
    while (len < text.len && (text_is_digit (text.ptr[len]) || (len > 0 && text.ptr[len] == '.' && len + 1 < text.len &&
                                                                text_is_digit (text.ptr[len + 1]))))
        len++;
    return len;
}

/* Texts before such a number in Slurm's messages: "job 9 queued", "allocation 9 has been revoked", "StepId=9.0". */
static bool names_job (struct text before)
{
    static const char *const words[] = { "job ", "Job ", "allocation ", "step ", "STEP ", "JobId=", "StepId=" };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t len = strlen (words[i]);
        if (before.len >= len && memcmp (before.ptr + before.len - len, words[i], len) == 0)
            return true;
    }
    return false;
}

void transport_mask_job_ids (struct text line, struct buf *out)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < line.len; i++) {
        struct text before = { line.ptr, i };
        uint32_t len = number_len ((struct text){ line.ptr + i, line.len - i });
        if (len == 0 || !names_job (before))
            continue;
        buf_add (out, line.ptr + kept, i - kept - (line.ptr[i - 1] == ' '));
        kept = i + len;
        i = kept - 1;
    }
    buf_add (out, line.ptr + kept, line.len - kept);
}
