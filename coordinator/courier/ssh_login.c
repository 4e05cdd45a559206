#include "coordinator/courier/ssh_login.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/io/clock.h"
#include "common/io/fd.h"
#include "common/io/tcp_try.h"

/* ---- authentication: by an agent's keys, then by key files; never by password or keyboard ---- */

/* The largest sensible key, RSA of 16384 bits, takes 13 KiB as PEM. */
enum { KEY_FILE_MAX_BYTES = 64 * 1024, TRIED_MAX_BYTES = 260, LOOK_MS = 100 };

struct authentication {
    ssh_session session;
    const struct request_ssh *ssh;
    struct buf tried;    /* what was tried and why it failed, for the sentence */
    uint32_t agent_keys; /* that were offered */
    bool broken;         /* the connection is unusable */
};

static void authentication_note (struct authentication *attempt, const char *key, const char *why)
{
    size_t before = attempt->tried.len;
    buf_printf (&attempt->tried, "%s%s %s", before ? "; " : "", key, why);
}

/* True: authenticated. */
static bool authentication_judge (struct authentication *attempt, int rc, const char *key)
{
    if (rc == SSH_AUTH_SUCCESS)
        return true;
    if (rc == SSH_AUTH_PARTIAL)
        authentication_note (attempt, key, "(accepted, but the server requires a second method)");
    else if (rc == SSH_AUTH_DENIED)
        authentication_note (attempt, key, "(not accepted)");
    else
        authentication_note (attempt, key, "(the server ended the connection)");
    attempt->broken = rc != SSH_AUTH_DENIED && rc != SSH_AUTH_PARTIAL;
    return false;
}

/* A libssh 0.10 that may block would wait until the deadline for words of a server that has ended the connection. */
static bool authentication_waits (const struct authentication *attempt, int rc)
{
    struct pollfd entry = { .fd = ssh_get_fd (attempt->session), .events = POLLIN };
    bool over = ssh_get_status (attempt->session) & (SSH_CLOSED | SSH_CLOSED_ERROR);
    return rc == SSH_AUTH_AGAIN && !over && poll (&entry, 1, LOOK_MS) >= -1;
}

static bool by_agent (struct authentication *attempt)
{
    const char *socket = getenv ("SSH_AUTH_SOCK");
    bool named = socket && *socket;
    int rc;
    if (!named || !agent_open (attempt->session, attempt->ssh)) {
        authentication_note (attempt, "agent",
                             named ? "(none answers at SSH_AUTH_SOCK)" : "(SSH_AUTH_SOCK is not set)");
        return false;
    }
    do
        rc = ssh_userauth_agent (attempt->session, NULL);
    while (authentication_waits (attempt, rc));
    attempt->agent_keys = agent_close ();
    return authentication_judge (attempt, rc, attempt->agent_keys ? "agent's keys" : "agent without a key");
}

/* ---- key files ---- */

static const char *authentication_read_key (const char *path, char *out, size_t out_bytes)
{
    struct stat at;
    int fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return errno == ENOENT ? "(no such file)" : "(cannot be read: check its owner and mode)";
    const char *why = NULL;
    ssize_t n = -1;
    if (fstat (fd, &at) != 0 || !S_ISREG (at.st_mode))
        why = "(not a regular file)";
    else if (at.st_uid == geteuid () && (at.st_mode & 077))
        why = "(other users may read it: chmod 600)"; /* as OpenSSH: its rule holds for one's own files */
    else if ((n = read (fd, out, out_bytes - 1)) < 0 || (size_t) n == out_bytes - 1)
        why = "(not a key file)";
    out[n > 0 ? n : 0] = '\0';
    (void) close (fd); /* only read */
    return why;
}

static int no_passphrase (const char *prompt, char *out, size_t len, int echo, int verify, void *asked)
{
    (void) prompt, (void) out, (void) len, (void) echo, (void) verify;
    *(bool *) asked = true;
    return -1;
}

static ssh_key load_key (struct authentication *attempt, const char *path)
{
    char *text = mem_alloc (KEY_FILE_MAX_BYTES);
    ssh_key key = NULL;
    bool asked = false;
    const char *why = authentication_read_key (path, text, KEY_FILE_MAX_BYTES);
    if (!why && ssh_pki_import_privkey_base64 (text, NULL, no_passphrase, &asked, &key) != SSH_OK)
        why = asked ? "(has a passphrase: load it into an agent with ssh-add)"
                    : "(not a private key that libssh supports)";
    if (why)
        authentication_note (attempt, path, why);
    explicit_bzero (text, KEY_FILE_MAX_BYTES);
    mem_free (text);
    return key;
}

static bool by_file (struct authentication *attempt, const char *path)
{
    ssh_key key = load_key (attempt, path);
    if (!key)
        return false;
    int rc;
    do
        rc = ssh_userauth_publickey (attempt->session, NULL, key);
    while (authentication_waits (attempt, rc));
    ssh_key_free (key);
    return authentication_judge (attempt, rc, path);
}

/* ---- the sentence ---- */

static void methods_of (ssh_session session, struct buf *out)
{
    static const struct {
        int bit;
        const char *name;
    } methods[] = { { SSH_AUTH_METHOD_PUBLICKEY, "publickey" },
                    { SSH_AUTH_METHOD_PASSWORD, "password" },
                    { SSH_AUTH_METHOD_INTERACTIVE, "keyboard-interactive" },
                    { SSH_AUTH_METHOD_HOSTBASED, "hostbased" },
                    { SSH_AUTH_METHOD_GSSAPI_MIC, "gssapi-with-mic" } };
    int offered = ssh_userauth_list (session, NULL);
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++)
        if (offered & methods[i].bit)
            buf_printf (out, "%s%s", out->len ? "," : "", methods[i].name);
    if (out->len == 0)
        buf_puts (out, "unknown");
}

/* A server counts each key as an attempt (sshd_config(5), MaxAuthTries). */
static int authentication_explain_end (struct authentication *attempt, struct err *err)
{
    bool many = strstr (ssh_get_error (attempt->session), "oo many authentication failures"); /* sshd's words */
    return err_set (
        err, ERR_REFUSED,
        "the server ended the connection%s; %u keys of the agent were offered. Write `ssh: {agent: false}`, "
        "after which %s is tried, or empty the agent: ssh-add -D",
        many ? ": too many authentication failures" : "", attempt->agent_keys,
        attempt->ssh->identities_n ? attempt->ssh->identities[0] : "what ssh.identities names");
}

static int authentication_explain (struct authentication *attempt, const char *user, struct err *err)
{
    struct buf methods;
    buf_init (&methods, TRIED_MAX_BYTES);
    methods_of (attempt->session, &methods);
    struct text tried = buf_as_text (&attempt->tried);
    err_set (err, ERR_REFUSED,
             "the server accepted no key for %s%s. Tried: %.*s%s. The methods that it allows: %s. Put the public key "
             "into this "
             "user's authorized_keys there, or correct ssh.user, ssh.identities or the agent",
             *user ? "user " : "this user", user, TEXT_ARG (tried), attempt->tried.overflow ? " and more" : "",
             buf_c (&methods));
    buf_release (&methods);
    return -1;
}

static int authenticate (ssh_session session, const char *user, const struct request_ssh *ssh, struct err *err)
{
    struct authentication attempt = { .session = session, .ssh = ssh };
    buf_init (&attempt.tried, TRIED_MAX_BYTES);
    ssh_set_blocking (session, 0);
    bool proved = ssh->agent && by_agent (&attempt);
    for (uint32_t i = 0; i < ssh->identities_n && !proved && !attempt.broken; i++)
        proved = by_file (&attempt, ssh->identities[i]);
    if (!proved && attempt.tried.len == 0)
        authentication_note (&attempt, "nothing", "(no agent and no identities are configured)");
    ssh_set_blocking (session, 1);
    bool ended = attempt.broken && attempt.agent_keys > 0;
    int rc = proved  ? 0
             : ended ? authentication_explain_end (&attempt, err)
                     : authentication_explain (&attempt, user, err);
    buf_release (&attempt.tried);
    return rc;
}

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
    return authenticate (session, login->user, login->ssh, err);
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
