#include "coordinator/courier/ssh_login.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/io/clock.h"
#include "common/io/fd.h"

/* ---- the session ---- */

/* Algorithms of OpenSSH of the last ten years, the cheapest first; no SHA-1, no CBC, no DSA, no RSA below 2048 bits. */
#define SIGNATURES                                                                                                     \
    "ssh-ed25519,ecdsa-sha2-nistp256,ecdsa-sha2-nistp384,ecdsa-sha2-nistp521,sk-ssh-ed25519@openssh.com,"              \
    "sk-ecdsa-sha2-nistp256@openssh.com,rsa-sha2-512,rsa-sha2-256"
#define EXCHANGES                                                                                                      \
    "curve25519-sha256,curve25519-sha256@libssh.org,ecdh-sha2-nistp256,ecdh-sha2-nistp384,ecdh-sha2-nistp521,"         \
    "diffie-hellman-group16-sha512,diffie-hellman-group18-sha512,diffie-hellman-group-exchange-sha256,"                \
    "diffie-hellman-group14-sha256"
#define CIPHERS                                                                                                        \
    "aes128-gcm@openssh.com,aes256-gcm@openssh.com,chacha20-poly1305@openssh.com,aes256-ctr,aes192-ctr,aes128-ctr"
#define MACS "hmac-sha2-256-etm@openssh.com,hmac-sha2-512-etm@openssh.com,hmac-sha2-256,hmac-sha2-512"

enum { RSA_MIN_BITS = 2048 };
/* Doubled from FIRST to LAST, plus a random part up to as much again, so that couriers refused together do not return
 * together. In all at most about 15 s. */
enum { BACKOFF_FIRST_MS = 100, BACKOFF_LAST_MS = 2000, RETRIES = 8 };

/* ---- options ---- */

/* Escapes '%' and a leading '~', which libssh expands in paths. */
static void literal_path (const char *path, char *out, size_t out_bytes)
{
    size_t len = 0;
    for (; *path && len + 2 < out_bytes; path++) {
        if (*path == '%')
            out[len++] = '%';
        out[len++] = *path;
    }
    out[len] = '\0';
}

static int set_texts (ssh_session session, const struct ssh_login *login)
{
    char host[REQUEST_NAME_MAX_BYTES + 3], known_hosts[2 * REQUEST_PATH_MAX_BYTES + 1];
    const char *name = *login->host_key_alias ? HOST_KEY_ALIAS_STAND_IN : login->address;
    snprintf (host, sizeof host, strchr (name, ':') ? "[%s]" : "%s", name);
    literal_path (login->ssh->known_hosts, known_hosts, sizeof known_hosts);
    if (*login->host_key_alias)
        snprintf (known_hosts, sizeof known_hosts, "/proc/self/fd/%d", login->alias_fd);
    const struct {
        enum ssh_options_e option;
        const char *value;
    } texts[] = { { SSH_OPTIONS_HOST, host },
                  { SSH_OPTIONS_USER, *login->user ? login->user : NULL },
                  { SSH_OPTIONS_KNOWNHOSTS, known_hosts },
                  { SSH_OPTIONS_GLOBAL_KNOWNHOSTS, "/dev/null" },
                  { SSH_OPTIONS_KEY_EXCHANGE, EXCHANGES },
                  { SSH_OPTIONS_HOSTKEYS, SIGNATURES },
                  { SSH_OPTIONS_PUBLICKEY_ACCEPTED_TYPES, SIGNATURES },
                  { SSH_OPTIONS_CIPHERS_C_S, CIPHERS },
                  { SSH_OPTIONS_CIPHERS_S_C, CIPHERS },
                  { SSH_OPTIONS_HMAC_C_S, MACS },
                  { SSH_OPTIONS_HMAC_S_C, MACS },
                  { SSH_OPTIONS_COMPRESSION, "no" } };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (ssh_options_set (session, texts[i].option, texts[i].value) != SSH_OK)
            return -1;
    return 0;
}

/* An alias stands without a port, as with OpenSSH (ssh_config(5), HostKeyAlias). */
static uint16_t known_port (const struct ssh_login *login)
{
    return *login->host_key_alias ? 22 : login->port;
}

/* PROCESS_CONFIG first: else ~/.ssh/config would override these options (libssh 0.10), and may run commands. */
static int set_options (ssh_session session, const struct ssh_login *login, int fd, struct err *err)
{
    bool process_config = false;
    unsigned port = known_port (login); /* the connection is there: libssh looks host keys up by it */
    int bits = RSA_MIN_BITS;
    uint64_t now_ms = clock_boot_ms ();
    long timeout_s = (long) (now_ms < login->until_ms ? (login->until_ms - now_ms) / 1000 : 0) +
                     5; /* the watchdog fires earlier */
    if (ssh_options_set (session, SSH_OPTIONS_PROCESS_CONFIG, &process_config) == SSH_OK &&
        set_texts (session, login) == 0 && ssh_options_set (session, SSH_OPTIONS_PORT, &port) == SSH_OK &&
        ssh_options_set (session, SSH_OPTIONS_RSA_MIN_SIZE, &bits) == SSH_OK &&
        ssh_options_set (session, SSH_OPTIONS_TIMEOUT, &timeout_s) == SSH_OK &&
        ssh_options_set (session, SSH_OPTIONS_FD, &fd) == SSH_OK)
        return 0;
    return err_set (err, ERR_STATE, "libssh rejects the address, user or settings of this host: %s",
                    ssh_get_error (session));
}

/* ---- the three steps ---- */

/* -1, or -2 if the server closed without a greeting, as a busy one does. */
static int greet (const struct ssh_login *login, ssh_session session, struct err *err)
{
    reporter_set_awaited (login->reporter, "the ssh server's greeting and key exchange");
    if (ssh_connect (session) == SSH_OK)
        return 0;
    if (!ssh_get_serverbanner (session)) {
        err_set (err, ERR_IO,
                 "the server closed the connection, or did not send the greeting of an ssh server (%s): is sshd "
                 "overloaded (MaxStartups), and is the port right?",
                 ssh_get_error (session));
        return -2;
    }
    return err_set (err, ERR_IO, "the key exchange with the ssh server failed: %s", ssh_get_error (session));
}

static int enter (const struct ssh_login *login, ssh_session session, struct err *err)
{
    reporter_send_step (login->reporter, STEP_HOST_KEY, "the check of the host key");
    const char *name = *login->host_key_alias ? login->host_key_alias : login->address;
    if (host_key_check (session, login, name, known_port (login), err) < 0)
        return *login->host_key_alias ? err_prefix (err, "looked up under its ssh.host_key_alias") : -1;
    reporter_send_step (login->reporter, STEP_AUTHENTICATION, "the ssh server, or an agent, to check the keys");
    return ssh_authenticate (session, login->user, login->ssh, err);
}

/* Silent: ssh_disconnect leaves a given descriptor open, except after some errors, and does not say when. */
void ssh_login_close (ssh_session session)
{
    ssh_silent_disconnect (session);
    ssh_free (session);
}

/* The session, or NULL; *again: it may be tried once more. */
static ssh_session attempt (const struct ssh_login *login, int fd, bool *again, struct err *err)
{
    ssh_session session = ssh_new ();
    *again = false;
    if (!session || set_options (session, login, fd, err) != 0) {
        if (!session)
            err_set (err, ERR_LIMIT, "not enough memory for an ssh session");
        ssh_free (session);
        (void) close (fd);
        return NULL;
    }
    int rc = greet (login, session, err); /* from here on the descriptor is libssh's */
    *again = rc == -2;
    if (rc == 0 && enter (login, session, err) == 0)
        return session;
    ssh_login_close (session);
    return NULL;
}

static void back_off (uint32_t failures)
{
    uint32_t base_ms = BACKOFF_FIRST_MS << (failures < 5 ? failures : 5), random = 0;
    if (base_ms > BACKOFF_LAST_MS)
        base_ms = BACKOFF_LAST_MS;
    if (getrandom (&random, sizeof random, 0) < 0)
        random = (uint32_t) getpid (); /* spreads as well */
    (void) poll (NULL, 0, (int) (base_ms + random % base_ms));
}

/* libssh reads that file already during the key exchange, and would hang on a pipe or a device. */
static int look_at_known_hosts (struct ssh_login *login, int fd, struct err *err)
{
    const char *known_hosts = login->ssh->known_hosts;
    login->alias_fd = -1;
    if (host_key_file_check (known_hosts, err) == 0 &&
        (!*login->host_key_alias ||
         (login->alias_fd = host_key_alias_file (known_hosts, login->host_key_alias, err)) >= 0))
        return 0;
    reporter_send_step (login->reporter, STEP_HOST_KEY, "the file of known host keys");
    fd_close (fd); /* nothing was said on it */
    return -1;
}

static ssh_session log_in (const struct ssh_login *login, int fd, struct err *err)
{
    ssh_session session = NULL;
    bool again = true, given = fd >= 0;
    if (given)
        reporter_send_step (login->reporter, STEP_CONNECT, "the ssh server's greeting and key exchange");
    for (uint32_t failures = 0; again && !session; failures++) {
        if (!given && (fd = dial (login->address, login->port, login->until_ms, login->reporter, err)) < 0)
            return NULL;
        session = attempt (login, fd, &again, err);
        if (given || failures == RETRIES)
            again = false;
        if (again && !session)
            back_off (failures);
    }
    return session;
}

ssh_session ssh_login_open (const struct ssh_login *asked, int fd, struct err *err)
{
    struct ssh_login login = *asked;
    if (look_at_known_hosts (&login, fd, err) != 0)
        return NULL;
    ssh_session session = log_in (&login, fd, err);
    fd_close (login.alias_fd);
    return session;
}

/* ---- a TCP connection ---- */

/* Bounds one address, so that the next one has time. */
enum { ONE_ADDRESS_MS = 10 * 1000 };

void dial_watch_peer (int fd, uint32_t within_s)
{
    const struct {
        int level, name, value;
    } options[] = { { IPPROTO_TCP, TCP_NODELAY, 1 },
                    { SOL_SOCKET, SO_KEEPALIVE, 1 },
                    { IPPROTO_TCP, TCP_KEEPIDLE, (int) within_s / 3 },
                    { IPPROTO_TCP, TCP_KEEPINTVL, (int) within_s / 6 },
                    { IPPROTO_TCP, TCP_KEEPCNT, 4 },
                    { IPPROTO_TCP, TCP_USER_TIMEOUT, (int) within_s * 1000 } };
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) /* may fail: the deadline still holds */
        (void) setsockopt (fd, options[i].level, options[i].name, &options[i].value, sizeof (int));
}

static int connect_any (const struct addrinfo *list, uint16_t port, uint64_t until_ms, struct err *err)
{
    int fd = -1;
    for (const struct addrinfo *at = list; at && fd < 0; at = at->ai_next) {
        uint64_t share_ms = clock_boot_ms () + ONE_ADDRESS_MS;
        fd = tcp_connect (at, at->ai_next && share_ms < until_ms ? share_ms : until_ms);
    }
    if (fd < 0)
        return err_errno (
            err, ERR_IO,
            "cannot connect to port %u (is the host up, does sshd listen there, does a firewall allow this machine?)",
            port);
    dial_watch_peer (fd, PEER_LOST_S);
    return fd;
}

int dial (const char *address, uint16_t port, uint64_t until_ms, struct reporter *reporter, struct err *err)
{
    const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV };
    struct addrinfo *list = NULL;
    char service[8];
    snprintf (service, sizeof service, "%u", port);
    reporter_send_step (reporter, STEP_RESOLVE, "the name service");
    int rc = getaddrinfo (address, service, &hints, &list);
    if (rc != 0)
        return err_set (err, ERR_IO,
                        "this machine cannot resolve the address for its ssh connection (%s): correct the "
                        "name, or give the address of the host",
                        rc == EAI_SYSTEM ? "system error" : gai_strerror (rc));
    reporter_send_step (reporter, STEP_CONNECT, "the host to accept the connection");
    int fd = connect_any (list, port, until_ms, err);
    freeaddrinfo (list);
    return fd;
}

int dial_local_address (int fd, char out[DIAL_ADDRESS_BYTES], struct err *err)
{
    struct sockaddr_storage near;
    socklen_t len = sizeof near;
    if (getsockname (fd, (struct sockaddr *) &near, &len) != 0)
        return err_errno (err, ERR_IO, "cannot find the address of this machine");
    if (getnameinfo ((struct sockaddr *) &near, len, out, DIAL_ADDRESS_BYTES, NULL, 0, NI_NUMERICHOST) != 0)
        return err_set (err, ERR_IO, "cannot find the address of this machine: set coordinator.address");
    return 0;
}
