#include "coordinator/courier/ssh_login.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The largest sensible key, RSA of 16384 bits, takes 13 KiB as PEM. */
enum { KEY_FILE_MAX_BYTES = 64 * 1024, TRIED_MAX_BYTES = 260 };

struct attempt {
    ssh_session session;
    struct buf tried; /* what was tried and why it failed, for the sentence */
    bool broken;      /* the connection is unusable */
};

static void authentication_note (struct attempt *attempt, const char *key, const char *why)
{
    size_t before = attempt->tried.len;
    buf_printf (&attempt->tried, "%s%s %s", before ? "; " : "", key, why);
}

/* True: authenticated. */
static bool authentication_judge (struct attempt *attempt, int rc, const char *key)
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

static bool by_agent (struct attempt *attempt)
{
    const char *socket = getenv ("SSH_AUTH_SOCK");
    if (!socket || !*socket) {
        authentication_note (attempt, "agent", "(SSH_AUTH_SOCK is not set)");
        return false;
    }
    return authentication_judge (attempt, ssh_userauth_agent (attempt->session, NULL), "agent's keys");
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

static ssh_key load_key (struct attempt *attempt, const char *path)
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

static bool by_file (struct attempt *attempt, const char *path)
{
    ssh_key key = load_key (attempt, path);
    if (!key)
        return false;
    bool proved = authentication_judge (attempt, ssh_userauth_publickey (attempt->session, NULL, key), path);
    ssh_key_free (key);
    return proved;
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

static int authentication_explain (struct attempt *attempt, const char *user, struct err *err)
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

int authenticate (ssh_session session, const char *user, const struct request_ssh *ssh, struct err *err)
{
    struct attempt attempt = { .session = session };
    buf_init (&attempt.tried, TRIED_MAX_BYTES);
    bool proved = ssh->agent && by_agent (&attempt);
    for (uint32_t i = 0; i < ssh->identities_n && !proved && !attempt.broken; i++)
        proved = by_file (&attempt, ssh->identities[i]);
    if (!proved && attempt.tried.len == 0)
        authentication_note (&attempt, "nothing", "(no agent and no identities are configured)");
    int rc = proved ? 0 : authentication_explain (&attempt, user, err);
    buf_release (&attempt.tried);
    return rc;
}
