#include "coordinator/web/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/io/atomic_file.h"
#include "common/io/private_file.h"

enum { BACKLOG = 128, HTTP_PORT = 80 };

/* ---- the socket ---- */

/* "[::1]:80" and "127.0.0.1:80" -> "::1", "80". */
static bool split (const char *where, char host[64], char port[8])
{
    struct text all = text_of (where), name = all;
    const char *colon = strrchr (where, ':');
    uint64_t number;
    if (!colon)
        return false;
    name.len = (uint32_t) (colon - where);
    if (name.len > 2 && name.ptr[0] == '[' && name.ptr[name.len - 1] == ']')
        name = (struct text){ name.ptr + 1, name.len - 2 };
    return text_to_c (name, host, 64) && text_to_c (text_of (colon + 1), port, 8) &&
           text_to_u64 (text_of (port), &number) && number <= UINT16_MAX;
}

static struct addrinfo *find_address (const char *where, struct err *err)
{
    const struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM };
    struct addrinfo *found = NULL;
    char host[64], port[8];
    if (!split (where, host, port) ||
        getaddrinfo (strcmp (host, "localhost") == 0 ? "127.0.0.1" : host, port, &hints, &found) != 0) {
        err_set (err, ERR_USAGE,
                 "--listen %s: expected ADDRESS:PORT, as in 127.0.0.1:8420, [::1]:0 (any port), or 0.0.0.0:8420 (all "
                 "addresses of this machine)",
                 where);
        return NULL;
    }
    return found;
}

static int bind_to (const struct addrinfo *at, const char *where, struct err *err)
{
    int on = 1, fd = socket (at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return err_errno (err, ERR_IO, "cannot make a socket");
    (void) setsockopt (fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on); /* after a restart; never beside another server */
    if (bind (fd, at->ai_addr, at->ai_addrlen) == 0 && listen (fd, BACKLOG) == 0)
        return fd;
    if (errno == EADDRINUSE)
        err_set (err, ERR_STATE, "another program listens on %s; give another port with --listen, or port 0 for any",
                 where);
    else
        err_errno (err, ERR_IO, "cannot listen on %s", where);
    close (fd);
    return -1;
}

static void take_bound (struct web_listen *out)
{
    struct sockaddr_in6 at = { 0 }; /* the larger one */
    struct sockaddr_in *four = (struct sockaddr_in *) &at;
    socklen_t bytes = sizeof at;
    char number[INET6_ADDRSTRLEN] = "";
    (void) getsockname (out->fd, (struct sockaddr *) &at, &bytes);
    bool six = at.sin6_family == AF_INET6;
    out->port = ntohs (six ? at.sin6_port : four->sin_port);
    (void) inet_ntop (at.sin6_family, six ? (void *) &at.sin6_addr : (void *) &four->sin_addr, number, sizeof number);
    snprintf (out->address, sizeof out->address, six ? "[%s]" : "%s", number);
    out->local = six ? IN6_IS_ADDR_LOOPBACK (&at.sin6_addr) : (ntohl (four->sin_addr.s_addr) >> 24) == 127;
}

int web_listen_open (const char *where, struct web_listen *out, struct err *err)
{
    *out = (struct web_listen){ .fd = -1 };
    struct addrinfo *at = find_address (where, err);
    if (!at)
        return -1;
    out->fd = bind_to (at, where, err);
    freeaddrinfo (at);
    if (out->fd < 0)
        return -1;
    take_bound (out);
    return 0;
}

/* ---- who may ask ---- */

static bool is_token (struct text token)
{
    bool good = token.len == WEB_TOKEN_BYTES - 1;
    for (uint32_t i = 0; good && i < token.len; i++)
        good = strchr ("0123456789abcdef", token.ptr[i]) != NULL;
    return good;
}

static int make_token (const char *path, char out[WEB_TOKEN_BYTES], struct err *err)
{
    unsigned char random[(WEB_TOKEN_BYTES - 1) / 2];
    if (getrandom (random, sizeof random, 0) != sizeof random)
        return err_errno (err, ERR_IO, "cannot get random numbers for a token");
    for (size_t i = 0; i < sizeof random; i++)
        snprintf (out + 2 * i, 3, "%02x", random[i]);
    return atomic_file_write (path, out, WEB_TOKEN_BYTES - 1, 0600, err);
}

static int load_token (const char *home, char out[WEB_TOKEN_BYTES], struct err *err)
{
    char path[1200];
    struct buf kept;
    snprintf (path, sizeof path, "%s/web.token", home);
    if (access (path, F_OK) != 0 && errno == ENOENT)
        return make_token (path, out, err);
    buf_init (&kept, WEB_TOKEN_BYTES);
    int rc = private_file_read_nofollow (path, &kept, err);
    if (rc == 0 && !(is_token (buf_as_text (&kept)) && text_to_c (buf_as_text (&kept), out, WEB_TOKEN_BYTES)))
        rc = err_set (err, ERR_DAMAGE, "%s has no token in it: remove it, and a new one is made", path);
    buf_release (&kept);
    return rc;
}

static void add_name (struct web_access *access, const char *name)
{
    if (name[0] && access->names_n < WEB_NAMES_MAX)
        access->names[access->names_n++] = name;
}

int web_listen_admit (struct web_listen *listen, const char *home, struct web_access *access, struct err *err)
{
    access->any_address = strcmp (listen->address, "0.0.0.0") == 0 || strcmp (listen->address, "[::]") == 0;
    if (!listen->local && gethostname (listen->own, sizeof listen->own - 1) == 0)
        add_name (access, listen->own);
    add_name (access, listen->address);
    add_name (access, "localhost");
    return listen->local ? 0 : load_token (home, access->token, err);
}

void web_listen_print_url (const struct web_listen *listen, const struct web_access *access, struct buf *out)
{
    buf_printf (out, "http://%s", listen->local || access->names_n == 0 ? listen->address : access->names[0]);
    if (listen->port != HTTP_PORT)
        buf_printf (out, ":%u", (unsigned) listen->port);
    buf_puts (out, "/");
    if (access->token[0])
        buf_printf (out, "#token=%s", access->token);
}
