/* authentication.c - proves who we are: by an agent's keys, by key files, last by the password, if there is one; then
 * to sudo. */
#include "common/base/digest.h"
#include "common/io/fd.h"
#include "coordinator/courier/ssh_login.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* ---- the agent ---- */

/* draft-ietf-sshm-ssh-agent, 3; OpenSSH's agent takes and sends at most 256 KiB. */
enum { HEAD_BYTES = 4, MESSAGE_MAX_BYTES = 256 << 10, IDENTITIES_ANSWER = 12, FIRST_KEY_AT = 5 };

/* One login at a time. */
static struct {
    int fd, ours; /* the agent's, and our end of a pair whose other end is libssh's */
    pthread_t thread;
    bool only_named;
    struct digest named[REQUEST_IDENTITIES_MAX]; /* public keys */
    uint32_t named_n, keys;                      /* keys: that libssh was told of */
    uint8_t message[HEAD_BYTES + MESSAGE_MAX_BYTES], sorted[MESSAGE_MAX_BYTES];
} agent;

/* The public half needs no passphrase: it is in the file itself (OpenSSH's format), or in its .pub. */
static void agent_name_key (const char *path)
{
    char beside[REQUEST_PATH_MAX_BYTES + 8];
    ssh_key key = NULL;
    unsigned char *hash = NULL;
    size_t len = 0;
    snprintf (beside, sizeof beside, "%s.pub", path);
    if ((ssh_pki_import_pubkey_file (path, &key) == SSH_OK || ssh_pki_import_pubkey_file (beside, &key) == SSH_OK) &&
        ssh_get_publickey_hash (key, SSH_PUBLICKEY_HASH_SHA256, &hash, &len) == 0)
        memcpy (agent.named[agent.named_n++].bytes, hash, sizeof agent.named->bytes);
    ssh_clean_pubkey_hash (&hash);
    ssh_key_free (key);
}

static bool agent_key_is_named (const uint8_t *key, size_t len)
{
    struct digest digest = digest_of (key, len);
    for (uint32_t i = 0; i < agent.named_n; i++)
        if (digest_equal (&digest, &agent.named[i]))
            return true;
    return false;
}

/* The bytes of a string with its length before it; more than `room`: it is cut off. */
static size_t string_bytes (const uint8_t *at, size_t room)
{
    uint32_t len = UINT32_MAX;
    if (room >= HEAD_BYTES)
        memcpy (&len, at, sizeof len);
    return HEAD_BYTES + (size_t) ntohl (len);
}

/* Of a list (number of keys; of each the key and its comment) leaves what may be offered, the named ones first, as ssh
 * does: a server takes few. The bytes of that. */
static size_t agent_filter (uint8_t *list, size_t len)
{
    size_t to = 0, key, both;
    agent.keys = 0;
    for (int others = 0; others <= !agent.only_named; others++)
        for (size_t from = FIRST_KEY_AT; (key = string_bytes (list + from, len - from)) <= len - from; from += both) {
            both = key + string_bytes (list + from + key, len - from - key);
            if (both > len - from)
                break;
            if (agent_key_is_named (list + from + HEAD_BYTES, key - HEAD_BYTES) == others)
                continue;
            memcpy (agent.sorted + to, list + from, both);
            to += both;
            agent.keys++;
        }
    memcpy (list + FIRST_KEY_AT, agent.sorted, to);
    memcpy (list + 1, &(uint32_t){ htonl (agent.keys) }, HEAD_BYTES);
    return FIRST_KEY_AT + to;
}

static bool agent_pass_on (int from, int to)
{
    uint8_t *message = agent.message, *body = message + HEAD_BYTES;
    ssize_t n = fd_read_whole (from, message, HEAD_BYTES);
    size_t len = string_bytes (message, n > 0 ? (size_t) n : 0) - HEAD_BYTES;
    if (len > MESSAGE_MAX_BYTES || fd_read_whole (from, body, len) != (ssize_t) len)
        return false;
    if (from == agent.fd && len >= FIRST_KEY_AT && body[0] == IDENTITIES_ANSWER)
        len = agent_filter (body, len);
    memcpy (message, &(uint32_t){ htonl ((uint32_t) len) }, HEAD_BYTES);
    return fd_write (to, message, HEAD_BYTES + len) == 0;
}

static void *agent_relay (void *none)
{
    while (agent_pass_on (agent.ours, agent.fd) && agent_pass_on (agent.fd, agent.ours))
        ;
    (void) shutdown (agent.ours, SHUT_RDWR); /* libssh sees the agent gone */
    return none;
}

/* The agent at SSH_AUTH_SOCK as libssh gets it: a thread passes messages on, and with `identities_only` leaves
 * out keys that are not those of `identities` (ssh_config(5), IdentitiesOnly), which libssh 0.10 cannot. False: it
 * cannot be reached. */
static bool agent_open (ssh_session session, const struct request_ssh *ssh)
{
    struct sockaddr_un name = { .sun_family = AF_UNIX };
    int pair[2] = { -1, -1 };
    snprintf (name.sun_path, sizeof name.sun_path, "%s", getenv ("SSH_AUTH_SOCK"));
    agent.only_named = ssh->identities_only;
    agent.named_n = 0;
    for (uint32_t i = 0; i < ssh->identities_n; i++)
        agent_name_key (ssh->identities[i]);
    agent.fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool good = agent.fd >= 0 && connect (agent.fd, (struct sockaddr *) &name, sizeof name) == 0 &&
                socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0;
    agent.ours = pair[0];
    if (good && ssh_set_agent_socket (session, pair[1]) == SSH_OK && /* which closes it with the session */
        pthread_create (&agent.thread, NULL, agent_relay, NULL) == 0)
        return true;
    fd_close (agent.ours);
    fd_close (agent.fd);
    return false;
}

/* How many keys libssh was told of. */
static uint32_t agent_close (void)
{
    (void) shutdown (agent.ours, SHUT_RDWR); /* what the thread reads is over, whichever it is */
    (void) shutdown (agent.fd, SHUT_RDWR);
    (void) pthread_join (agent.thread, NULL);
    fd_close (agent.ours);
    fd_close (agent.fd);
    return agent.keys;
}

/* ---- the methods ---- */

/* The largest sensible key, RSA of 16384 bits, takes 13 KiB as PEM. */
enum { KEY_FILE_MAX_BYTES = 64 * 1024, TRIED_MAX_BYTES = 260, LOOK_MS = 100 };

struct authentication {
    ssh_session session;
    const struct request_ssh *ssh;
    struct buf tried;    /* what was tried and why it failed, for the sentence */
    uint32_t agent_keys; /* that were offered */
    bool asked, wrong;   /* a key file has a passphrase; the password was not accepted */
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
    authentication_note (attempt, key,
                         rc == SSH_AUTH_PARTIAL  ? "(accepted, but the server requires a second method)"
                         : rc == SSH_AUTH_DENIED ? "(not accepted)"
                         : rc == SSH_AUTH_INFO   ? "(the server asks for something else as well)"
                                                 : "(the server ended the connection)");
    attempt->broken = rc != SSH_AUTH_DENIED && rc != SSH_AUTH_PARTIAL && rc != SSH_AUTH_INFO;
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
    while (authentication_waits (attempt, rc = ssh_userauth_agent (attempt->session, NULL)))
        ;
    attempt->agent_keys = agent_close ();
    return authentication_judge (attempt, rc, attempt->agent_keys ? "agent's keys" : "agent without a key");
}

/* ---- key files ---- */

static const char *authentication_read_key (const char *path, char *out, size_t out_bytes)
{
    struct stat at;
    LOCAL_FD fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
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
    return why;
}

static int authentication_passphrase (const char *prompt, char *out, size_t len, int echo, int verify, void *owner)
{
    struct authentication *attempt = owner;
    (void) prompt, (void) echo, (void) verify;
    attempt->asked = true;
    return attempt->ssh->password && text_to_c (text_of (attempt->ssh->password), out, len) ? 0 : -1;
}

static ssh_key load_key (struct authentication *attempt, const char *path)
{
    LOCAL_MEM char *text = mem_alloc (KEY_FILE_MAX_BYTES);
    ssh_key key = NULL;
    const char *why = authentication_read_key (path, text, KEY_FILE_MAX_BYTES);
    attempt->asked = false;
    if (!why && ssh_pki_import_privkey_base64 (text, NULL, authentication_passphrase, attempt, &key) != SSH_OK)
        why = !attempt->asked          ? "(not a private key that libssh supports)"
              : attempt->ssh->password ? "(has another passphrase than the given password)"
                                       : "(has a passphrase: load it into an agent with ssh-add, or give --ask-pass)";
    if (why)
        authentication_note (attempt, path, why);
    explicit_bzero (text, KEY_FILE_MAX_BYTES);
    return key;
}

static bool by_file (struct authentication *attempt, const char *path)
{
    ssh_key key = load_key (attempt, path);
    if (!key)
        return false;
    int rc;
    while (authentication_waits (attempt, rc = ssh_userauth_publickey (attempt->session, NULL, key)))
        ;
    ssh_key_free (key);
    return authentication_judge (attempt, rc, path);
}

/* ---- the password ---- */

enum { BY_PASSWORD = SSH_AUTH_METHOD_PASSWORD | SSH_AUTH_METHOD_INTERACTIVE };

/* Answers the one question whose answer is not shown (RFC 4256, 3.2). SSH_AUTH_INFO: there are others. */
static int by_keyboard (const struct authentication *attempt)
{
    ssh_session session = attempt->session;
    int rc, questions, left = 1;
    char echo = 0;
    do {
        while (authentication_waits (attempt, rc = ssh_userauth_kbdint (session, NULL, NULL)))
            ;
        questions = rc == SSH_AUTH_INFO ? ssh_userauth_kbdint_getnprompts (session) : 0;
        if (questions > 0)
            (void) ssh_userauth_kbdint_getprompt (session, 0, &echo);
        left -= questions;
    } while (rc == SSH_AUTH_INFO && left >= 0 && !echo &&
             (!questions || ssh_userauth_kbdint_setanswer (session, 0, attempt->ssh->password) == 0));
    return rc;
}

/* One try a host, also where the server has both methods: it counts them as two, and locks accounts. */
static bool by_password (struct authentication *attempt)
{
    ssh_session session = attempt->session;
    int rc = SSH_AUTH_DENIED;
    while (!ssh_userauth_list (session, NULL) && authentication_waits (attempt, rc = ssh_userauth_none (session, NULL)))
        ; /* a server tells its methods when it refuses */
    int offered = ssh_userauth_list (session, NULL);
    if (rc != SSH_AUTH_DENIED || !attempt->ssh->password || !(offered & BY_PASSWORD))
        return rc == SSH_AUTH_SUCCESS;
    bool typed = !(offered & SSH_AUTH_METHOD_PASSWORD);
    while (!typed && authentication_waits (attempt, rc = ssh_userauth_password (session, NULL, attempt->ssh->password)))
        ;
    rc = typed ? by_keyboard (attempt) : rc;
    attempt->wrong = rc == SSH_AUTH_DENIED;
    return authentication_judge (attempt, rc, "password");
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
    LOCAL_BUF methods = { .max = TRIED_MAX_BYTES };
    methods_of (attempt->session, &methods);
    struct text tried = buf_as_text (&attempt->tried);
    err_set (err, ERR_REFUSED, "the %s for %s%s. Tried: %.*s%s. The methods that it allows: %s. %s%s",
             attempt->wrong ? "password was not accepted" : "server accepted no key", *user ? "user " : "this user",
             user, TEXT_ARG (tried), attempt->tried.overflow ? " and more" : "", buf_c (&methods),
             attempt->wrong ? "It was tried once, so that no account is locked: correct it, or ssh.user"
                            : "Put the public key into this user's authorized_keys there, or correct ssh.user, "
                              "ssh.identities or the agent",
             !attempt->ssh->password && ssh_userauth_list (attempt->session, NULL) & BY_PASSWORD
                 ? "; or --ask-pass asks you for the password"
                 : "");
    return -1;
}

int ssh_authenticate (ssh_session session, const char *user, const struct request_ssh *ssh, struct err *err)
{
    struct authentication attempt = { .session = session, .ssh = ssh };
    buf_init (&attempt.tried, TRIED_MAX_BYTES);
    ssh_set_blocking (session, 0);
    bool proved = ssh->agent && by_agent (&attempt);
    for (uint32_t i = 0; i < ssh->identities_n && !proved && !attempt.broken; i++)
        proved = by_file (&attempt, ssh->identities[i]);
    proved = proved || (!attempt.broken && by_password (&attempt));
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

/* ---- as root ---- */

/* The command comes as a line, so that neither sudo's log nor its refusal quotes all of it; it ends in root's folder, not
 * in the login user's. The prompt tells when a password is asked for: an unasked one would be read by the command. */
#define SUDO_ASKS "sliceup-sudo-asks:"
#define SUDO_IS_ROOT "sliceup-sudo begins"
#define SUDO(HOW) "exec sudo -H " HOW " /bin/sh -c 'cd; echo " SUDO_IS_ROOT "; read -r job && eval \"$job\"'"
enum { SUDO_WORDS_MAX_BYTES = 64 * 1024, SUDO_QUOTED_COLUMNS = 300 };

struct sudo {
    ssh_channel channel;
    const char *password;   /* NULL: it must ask for none */
    struct buf out, errors; /* the latter since the password was told */
    bool asks, told;
};

static bool sudo_hear (struct sudo *sudo, int stream, struct buf *words)
{
    char bytes[1024];
    int n = ssh_channel_read_nonblocking (sudo->channel, bytes, sizeof bytes, stream);
    buf_add (words, bytes, n > 0 ? (size_t) n : 0);
    return n > 0;
}

static bool sudo_tell (struct sudo *sudo, const char *line)
{
    return ssh_channel_write (sudo->channel, line, (uint32_t) strlen (line)) >= 0 &&
           ssh_channel_write (sudo->channel, "\n", 1) == 1;
}

/* 1: a shell of root reads a line now; -1: there will be none; 0: not yet. A wrong password is asked for again. */
static int sudo_look (struct sudo *sudo)
{
    bool more = sudo_hear (sudo, 0, &sudo->out) | sudo_hear (sudo, 1, &sudo->errors);
    if (text_find (buf_as_text (&sudo->out), TEXT_LIT (SUDO_IS_ROOT "\n"), NULL))
        return 1;
    sudo->asks = sudo->password && text_ends (buf_as_text (&sudo->errors), SUDO_ASKS);
    if ((sudo->asks && sudo->told) || sudo->out.overflow || sudo->errors.overflow ||
        (!more && (ssh_channel_is_eof (sudo->channel) || ssh_channel_is_closed (sudo->channel))))
        return -1;
    if (sudo->asks) {
        buf_clear (&sudo->errors);
        sudo->told = sudo_tell (sudo, sudo->password);
    }
    return 0;
}

static int sudo_explain (const struct sudo *sudo, struct err *err)
{
    struct text said = buf_as_text (&sudo->errors);
    said.len -= sudo->asks ? (uint32_t) strlen (SUDO_ASKS) : 0;
    said = text_trimmed (said);
    const char *newline = said.len ? memrchr (said.ptr, '\n', said.len) : NULL; /* its last line */
    text_skip (&said, newline ? (uint32_t) (newline + 1 - said.ptr) : 0);
    LOCAL_BUF quoted = { .max = 8 * SUDO_QUOTED_COLUMNS };
    buf_escaped (&quoted, said, SUDO_QUOTED_COLUMNS);
    err_set (err, ERR_REFUSED, "%s; %s%s", quoted.len ? buf_c (&quoted) : "the connection ended before sudo began",
             sudo->asks || text_find (said, TEXT_LIT ("incorrect password"), NULL)
                 ? "sudo did not accept the password, which was tried once, so that no account is locked"
             : text_find (said, TEXT_LIT ("not found"), NULL)
                 ? "the slice file has `ssh: {sudo: true}`: install sudo there, or enter as root"
                 : "the slice file has `ssh: {sudo: true}`: sudo must let this user run /bin/sh, without a terminal",
             !sudo->asks && !sudo->password ? " and a password; --ask-pass asks you for one" : "");
    return -1;
}

int ssh_run (ssh_session session, ssh_channel channel, const struct request_ssh *ssh, const char *command,
             struct err *err)
{
    struct sudo sudo = { .channel = channel, .password = ssh->password };
    struct pollfd entry = { .fd = ssh_get_fd (session), .events = POLLIN };
    const char *as_root = ssh->password ? SUDO ("-S -p " SUDO_ASKS) : SUDO ("-n");
    int found = 0;
    if (ssh_channel_request_exec (channel, ssh->sudo ? as_root : command) != SSH_OK)
        return err_set (err, ERR_REFUSED, "cannot run a command on the host with this user's ssh session: %s",
                        ssh_get_error (session));
    buf_init (&sudo.out, SUDO_WORDS_MAX_BYTES);
    buf_init (&sudo.errors, SUDO_WORDS_MAX_BYTES);
    while (ssh->sudo && (found = sudo_look (&sudo)) == 0)
        (void) poll (&entry, 1, LOOK_MS);
    int rc = !ssh->sudo || (found > 0 && sudo_tell (&sudo, command)) ? 0 : sudo_explain (&sudo, err);
    buf_release (&sudo.out);
    buf_release (&sudo.errors);
    return rc;
}
