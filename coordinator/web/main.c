/* main.c - sliceup-web: answers browsers and scripts that watch runs. */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/err.h"
#include "common/base/rng.h"
#include "common/io/atomic_file.h"
#include "common/io/clock.h"
#include "common/io/fd.h"
#include "common/io/log.h"
#include "common/io/proc.h"
#include "common/io/process_capacity.h"
#include "common/io/program_start.h"
#include "coordinator/web/server.h"

/* ---- listen ---- */

/* Where the server listens: its socket, its names, and the token for other machines. */
struct web_listen {
    int fd;
    char address[64]; /* as a Host has it: "127.0.0.1", "[::1]" */
    char own[256];    /* this machine's name; "": not used */
    uint16_t port;    /* bound */
    bool local;       /* only this machine reaches it */
};

enum { BACKLOG = 128, HTTP_PORT = 80 };

/* ---- the socket ---- */

/* "[::1]:80" and "127.0.0.1:80" -> "::1", "80". */
static bool web_split (const char *where, char host[64], char port[8])
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
    if (!web_split (where, host, port) ||
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

/* "127.0.0.1:8420", "[::1]:0", "0.0.0.0:8420": a number and a port, 0 any. */
static int web_listen_open (const char *where, struct web_listen *out, struct err *err)
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

static int make_token (const char *path, char out[WEB_TOKEN_BYTES], struct err *err)
{
    if (random_hex (out, WEB_TOKEN_BYTES - 1, "a token", err) < 0)
        return -1;
    return atomic_file_write (path, out, WEB_TOKEN_BYTES - 1, 0600, err);
}

static int load_token (const char *home, char out[WEB_TOKEN_BYTES], struct err *err)
{
    char path[1200];
    snprintf (path, sizeof path, "%s/web.token", home);
    if (access (path, F_OK) != 0 && errno == ENOENT)
        return make_token (path, out, err);
    LOCAL_BUF kept = { .max = WEB_TOKEN_BYTES };
    int rc = private_file_read_nofollow (path, &kept, err);
    if (rc == 0 && !(text_to_c (buf_as_text (&kept), out, WEB_TOKEN_BYTES) &&
                     strspn (out, "0123456789abcdef") == WEB_TOKEN_BYTES - 1))
        rc = err_set (err, ERR_DAMAGE, "%s has no token in it: remove it, and a new one is made", path);
    return rc;
}

static void web_add_name (struct web_access *access, const char *name)
{
    if (name[0] && access->names_n < WEB_NAMES_MAX)
        access->names[access->names_n++] = name;
}

/* Completes `access`, which has the names that were given: the address, localhost, and a token for other machines. It
 * is kept in <home>/web.token, so that a page goes on after a restart. */
static int web_listen_admit (struct web_listen *listen, const char *home, struct web_access *access, struct err *err)
{
    access->any_address = strcmp (listen->address, "0.0.0.0") == 0 || strcmp (listen->address, "[::]") == 0;
    if (!listen->local && gethostname (listen->own, sizeof listen->own - 1) == 0)
        web_add_name (access, listen->own);
    web_add_name (access, listen->address);
    web_add_name (access, "localhost");
    return listen->local ? 0 : load_token (home, access->token, err);
}

/* "http://127.0.0.1:8420/", with the token behind '#'. */
static void web_listen_print_url (const struct web_listen *listen, const struct web_access *access, struct buf *out)
{
    buf_printf (out, "http://%s", listen->local || access->names_n == 0 ? listen->address : access->names[0]);
    if (listen->port != HTTP_PORT)
        buf_printf (out, ":%u", (unsigned) listen->port);
    buf_puts (out, "/");
    if (access->token[0])
        buf_printf (out, "#token=%s", access->token);
}

/* ---- main ---- */

/* Once who started it has ended: for pages that fetch the end of the run. */
enum { LINGER_MS = 3000, TIDY_NICE = 10 };
enum { EXIT_GOOD = 0, EXIT_USAGE = 2, EXIT_COULD_NOT = 3 };

static const char help[] =
    "usage: sliceup-web --home DIR [--run ID] [--listen ADDRESS:PORT] [--name HOST]... [--until-eof]\n"
    "\n"
    "Answers browsers and scripts that watch the runs of a home: docs/spec/web.md. It reads, and changes nothing.\n"
    "sliceup serve starts it. The first line on standard output is its address. --until-eof: it ends soon after its\n"
    "standard input does.\n"
    "\n"
    "Exit status: 0 it was ended (SIGTERM, SIGINT); 2 usage; 3 it could not listen, or say where.\n";

struct web {
    const char *home, *run, *where;
    bool until_eof;
    struct web_access access;
    struct web_listen listen;
    struct loop *loop;
    struct served_runs *runs;
    struct server *server;
    struct http *http;
    uint64_t end_ms; /* 0: not yet */
};

static int web_read_options (struct web *web, int argc, char **argv)
{
    static const struct option options[] = { { "home", 1, NULL, 'h' },      { "run", 1, NULL, 'r' },
                                             { "listen", 1, NULL, 'l' },    { "name", 1, NULL, 'n' },
                                             { "until-eof", 0, NULL, 'e' }, { 0 } };
    int option;
    opterr = 0; /* getopt's message would quote the word unescaped */
    while ((option = getopt_long (argc, argv, "", options, NULL)) >= 0) {
        if (option == 'h')
            web->home = optarg;
        else if (option == 'r')
            web->run = optarg;
        else if (option == 'l')
            web->where = optarg;
        else if (option == 'n' && web->access.names_n < WEB_NAMES_MAX - 3) /* its addresses are three */
            web->access.names[web->access.names_n++] = optarg;
        else if (option == 'e')
            web->until_eof = true;
        else
            return -1;
    }
    return web->home && web->home[0] == '/' && optind == argc ? 0 : -1;
}

/* Lowers its priority below a coordinator on this machine. */
static void stand_back (void)
{
    if (setpriority (PRIO_PROCESS, 0, TIDY_NICE) < 0 || proc_file_write ("/proc/self/oom_score_adj", "500") < 0)
        errno = 0; /* best effort */
}

static void web_on_signal (void *owner, int signal, int64_t pid, int value)
{
    struct web *web = owner;
    (void) pid;
    (void) value;
    if (signal != SIGPIPE)
        loop_stop (web->loop);
}

static void on_input (void *owner, int fd, uint32_t events)
{
    struct web *web = owner;
    char bytes[256];
    (void) events;
    ssize_t n = fd_read (fd, bytes, sizeof bytes);
    if (n > 0 || (n < 0 && errno == EAGAIN))
        return;
    loop_forget (web->loop, fd);
    web->end_ms = clock_boot_ms () + LINGER_MS;
}

static void on_iteration (void *owner)
{
    struct web *web = owner;
    uint64_t now_ms = clock_boot_ms ();
    uint64_t runs_ms = served_runs_tick (web->runs, now_ms, clock_wall_ms ());
    server_tick (web->server, now_ms);
    uint64_t http_ms = http_tick (web->http, now_ms);
    uint64_t server_ms = server_next_ms (web->server);
    if (web->end_ms && now_ms >= web->end_ms)
        loop_stop (web->loop);
    loop_set_deadline (web->loop, least_u64 (least_u64 (runs_ms, server_ms),
                                             least_u64 (http_ms, web->end_ms ? web->end_ms : UINT64_MAX)));
}

static int web_open_all (struct web *web, struct err *err)
{
    static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE, 0 };
    if ((web->loop = loop_open (err)) == NULL || loop_watch_signals (web->loop, signals, web_on_signal, web, err) < 0 ||
        web_listen_open (web->where, &web->listen, err) < 0 ||
        web_listen_admit (&web->listen, web->home, &web->access, err) < 0)
        return -1;
    web->runs = served_runs_open (web->home, web->run);
    web->server = server_open (&web->access, web->runs, err);
    if (!web->server)
        return -1;
    web->http = http_open (web->loop, web->listen.fd, server_ask, web->server, err);
    if (!web->http)
        return -1;
    loop_set_iteration_fn (web->loop, on_iteration, web);
    return web->until_eof ? loop_watch (web->loop, STDIN_FILENO, EPOLLIN, on_input, web, err) : 0;
}

static void web_close_all (struct web *web)
{
    if (web->server)
        server_end (web->server);
    http_close (web->http);
    server_close (web->server);
    served_runs_close (web->runs);
    loop_close (web->loop);
    explicit_bzero (web->access.token, sizeof web->access.token);
}

/* A failure ends the server, since nobody would know its address. */
static int say_url (const struct web *web, struct err *err)
{
    LOCAL_BUF url = { .max = 1024 };
    web_listen_print_url (&web->listen, &web->access, &url);
    bool said = printf ("%s\n", buf_c (&url)) > 0 && fflush (stdout) == 0;
    return said ? 0 : err_errno (err, ERR_IO, "cannot write the address to standard output");
}

/* Connections, the files of the runs that are watched, and its own. */
static int check_capacity (struct err *err)
{
    const struct capacity_needs needs = { HTTP_CONNECTIONS + 8 * SERVED_FEEDS_MAX + 32, 1, 16 << 20 };
    return process_capacity_check ("sliceup-web", &needs, err);
}

int main (int argc, char **argv)
{
    struct web web = { .where = "127.0.0.1:8420", .listen = { .fd = -1 } };
    struct err err = { 0 };
    standard_fds_keep ();
    exhaustion_install_handlers ("sliceup-web");
    signal (SIGPIPE, SIG_IGN);
    json_set_alloc_funcs (mem_alloc, mem_free);
    if (web_read_options (&web, argc, argv) < 0) {
        fputs (help, stderr);
        return EXIT_USAGE;
    }
    stand_back ();
    int rc = check_capacity (&err);
    if (rc == 0)
        rc = web_open_all (&web, &err);
    if (rc == 0)
        rc = say_url (&web, &err);
    if (rc == 0)
        rc = loop_run (web.loop, &err);
    web_close_all (&web);
    if (rc < 0)
        log_print (&(struct log){ .to = stderr, .program = "sliceup-web" }, "%s", err.text);
    return rc == 0 ? EXIT_GOOD : err.code == ERR_USAGE ? EXIT_USAGE : EXIT_COULD_NOT;
}
