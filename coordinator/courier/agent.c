#include "coordinator/courier/ssh_login.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "common/base/digest.h"
#include "common/io/fd.h"

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

bool agent_open (ssh_session session, const struct request_ssh *ssh)
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

uint32_t agent_close (void)
{
    (void) shutdown (agent.ours, SHUT_RDWR); /* what the thread reads is over, whichever it is */
    (void) shutdown (agent.fd, SHUT_RDWR);
    (void) pthread_join (agent.thread, NULL);
    fd_close (agent.ours);
    fd_close (agent.fd);
    return agent.keys;
}
