#include "project.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include "common/base/mem.h"
#include "usage.h"

enum { KEY_BYTES = 32, ROUTING_ID_BYTES = 5, SOCKETS_MAX = 16384, BACKLOG = 1024 };

struct bare {
    const struct bench_options *options;
    struct bench_figures *figures;
    struct crowd crowd;
    void *context, *router;
    uint8_t (*keys)[KEY_BYTES]; /* sorted; the ZAP thread reads them */
    char (*routes)[ROUTING_ID_BYTES];
    zmq_msg_t id, body;
};

/* ---- ZAP (RFC 27): version, request id, domain, address, identity, mechanism, key ---- */

static int by_key (const void *a, const void *b)
{
    return memcmp (a, b, KEY_BYTES);
}

static void answer (const struct bare *bare, void *requests, const char *request_id, size_t request_id_len,
                    const void *key)
{
    bool known = bsearch (key, bare->keys, bare->options->hosts, KEY_BYTES, by_key) != NULL;
    zmq_send (requests, "1.0", 3, ZMQ_SNDMORE);
    zmq_send (requests, request_id, request_id_len, ZMQ_SNDMORE);
    zmq_send (requests, known ? "200" : "400", 3, ZMQ_SNDMORE);
    zmq_send (requests, "", 0, ZMQ_SNDMORE);
    zmq_send (requests, "", 0, ZMQ_SNDMORE);
    zmq_send (requests, "", 0, 0);
}

static void *handle_zap (void *owner)
{
    enum { REQUEST_ID = 1, KEY = 6, PARTS = 7, PART_BYTES = 256 };
    struct bare *bare = owner;
    char parts[PARTS][PART_BYTES];
    int lens[PARTS];
    void *requests = zmq_socket (bare->context, ZMQ_REP);
    if (requests == NULL || zmq_bind (requests, "inproc://zeromq.zap.01") != 0)
        bench_die ("no ZAP handler");
    for (;;) {
        for (int i = 0; i < PARTS; i++)
            if ((lens[i] = zmq_recv (requests, parts[i], PART_BYTES, 0)) < 0) {
                zmq_close (requests); /* the context is being ended */
                return NULL;
            }
        answer (bare, requests, parts[REQUEST_ID], (size_t) lens[REQUEST_ID], parts[KEY]);
    }
}

static void note_keys (struct bare *bare)
{
    bare->keys = mem_array (bare->options->hosts, KEY_BYTES);
    for (uint32_t i = 0; i < bare->options->hosts; i++)
        zmq_z85_decode (bare->keys[i], bare->crowd.public_keys[i]);
    qsort (bare->keys, bare->options->hosts, KEY_BYTES, by_key);
}

/* ---- frames ---- */

static void take (struct bare *bare, enum msg_kind *kind, uint32_t *rank)
{
    if (zmq_msg_recv (&bare->id, bare->router, 0) < 0 || zmq_msg_recv (&bare->body, bare->router, 0) < 0)
        bench_die ("receiving failed");
    const char *bytes = zmq_msg_data (&bare->body);
    *kind = (enum msg_kind) bytes[0];
    memcpy (rank, bytes + 1, sizeof *rank);
}

static void tell (struct bare *bare, uint32_t rank, enum msg_kind kind, uint32_t bytes)
{
    static char frame[MSG_MAX_BYTES];
    frame[0] = (char) kind;
    if (zmq_send (bare->router, bare->routes[rank], ROUTING_ID_BYTES, ZMQ_SNDMORE) < 0 ||
        zmq_send (bare->router, frame, bytes, 0) < 0)
        bench_die ("sending failed");
}

static void join (struct bare *bare)
{
    uint64_t cpu_ns = usage_cpu_ns ();
    bare->figures->released_ns = usage_now_ns ();
    crowd_release (&bare->crowd);
    for (uint32_t joined_n = 0; joined_n < bare->options->hosts;) {
        enum msg_kind kind;
        uint32_t rank;
        take (bare, &kind, &rank);
        if (kind != MSG_HELLO)
            continue;
        joined_n++;
        memcpy (bare->routes[rank], zmq_msg_data (&bare->id), ROUTING_ID_BYTES);
        tell (bare, rank, MSG_WELCOME, bare->options->frames.welcome);
    }
    bare->figures->joined_ns = usage_now_ns ();
    bare->figures->join_cpu_ns = usage_cpu_ns () - cpu_ns;
}

static void one_round (struct bare *bare)
{
    for (uint32_t i = 0; i < bare->options->hosts; i++)
        tell (bare, i, MSG_RUN, bare->options->frames.run);
    for (uint32_t results_n = 0; results_n < bare->options->hosts;) {
        enum msg_kind kind;
        uint32_t rank;
        take (bare, &kind, &rank);
        if (kind != MSG_RESULT)
            continue;
        results_n++;
        tell (bare, rank, MSG_RESULT_ACK, bare->options->frames.ack);
    }
}

static void all_rounds (struct bare *bare)
{
    struct bench_figures *figures = bare->figures;
    uint64_t cpu_ns = usage_cpu_ns (), loop_cpu_ns = usage_thread_cpu_ns ();
    while (figures->rounds_n < bare->options->rounds) {
        uint64_t began_ns = usage_now_ns ();
        one_round (bare);
        figures->rounds_ns[figures->rounds_n++] = usage_now_ns () - began_ns;
    }
    figures->rounds_cpu_ns = usage_cpu_ns () - cpu_ns;
    figures->loop_cpu_ns = usage_thread_cpu_ns () - loop_cpu_ns;
    figures->rss_kib = usage_rss_kib ();
    figures->rss_peak_kib = usage_rss_peak_kib ();
    for (uint32_t i = 0; i < bare->options->hosts; i++)
        tell (bare, i, MSG_SHUTDOWN, BARE_HEAD_BYTES);
}

/* ---- life ---- */

static void open_router (struct bare *bare, struct crowd_request *request)
{
    char public_key[LINK_KEY_BYTES], secret_key[LINK_KEY_BYTES], endpoint[256];
    const int server = 1, backlog = BACKLOG, mandatory = 1;
    size_t len = sizeof endpoint;
    zmq_curve_keypair (public_key, secret_key);
    bare->router = zmq_socket (bare->context, ZMQ_ROUTER);
    if (bare->router == NULL || zmq_setsockopt (bare->router, ZMQ_CURVE_SERVER, &server, sizeof server) != 0 ||
        zmq_setsockopt (bare->router, ZMQ_CURVE_SECRETKEY, secret_key, LINK_KEY_BYTES) != 0 ||
        zmq_setsockopt (bare->router, ZMQ_ZAP_DOMAIN, "bench", 5) != 0 ||
        zmq_setsockopt (bare->router, ZMQ_BACKLOG, &backlog, sizeof backlog) != 0 ||
        zmq_setsockopt (bare->router, ZMQ_ROUTER_MANDATORY, &mandatory, sizeof mandatory) != 0 ||
        zmq_bind (bare->router, "tcp://127.0.0.1:*") != 0 ||
        zmq_getsockopt (bare->router, ZMQ_LAST_ENDPOINT, endpoint, &len) != 0)
        bench_die ("no ROUTER");
    request->port = request->bulk_port = (uint16_t) atoi (strrchr (endpoint, ':') + 1);
    memcpy (request->hub_key, public_key, LINK_KEY_BYTES);
}

static void run (struct bare *bare)
{
    pthread_t zap;
    struct crowd_request request = { .bare = true, .bulk = bare->options->bulk, .frames = bare->options->frames };
    bare->context = zmq_ctx_new ();
    if (bare->context == NULL || zmq_ctx_set (bare->context, ZMQ_MAX_SOCKETS, SOCKETS_MAX) != 0)
        bench_die ("no messaging");
    if (pthread_create (&zap, NULL, handle_zap, bare) != 0)
        bench_die ("no thread");
    open_router (bare, &request);
    crowd_aim (&bare->crowd, &request);
    join (bare);
    all_rounds (bare);
    crowd_finish (&bare->crowd, &bare->figures->crowd);
    zmq_close (bare->router);
    zmq_ctx_term (bare->context);
    pthread_join (zap, NULL);
}

void bare_measure (const struct bench_options *options, struct bench_figures *out)
{
    struct bare bare = { .options = options, .figures = out };
    crowd_start (&bare.crowd, options->hosts);
    bare.routes = mem_array (options->hosts, ROUTING_ID_BYTES);
    note_keys (&bare);
    zmq_msg_init (&bare.id);
    zmq_msg_init (&bare.body);
    run (&bare);
    zmq_msg_close (&bare.body);
    zmq_msg_close (&bare.id);
    mem_free (bare.keys);
    mem_free (bare.routes);
}
