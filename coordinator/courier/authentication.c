/* authentication.c - proves who we are: by an agent's keys, by key files, last by the password, if there is one. */
#include "coordinator/courier/ssh_login.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

int ssh_authenticate (ssh_session session, const char *user, const struct request_ssh *ssh, struct err *err)
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
