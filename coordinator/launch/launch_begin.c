/* launch_begin.c - what a worker or its courier is told, and its process. */
#include "coordinator/launch/launch_private.h"

#include "common/io/atomic_file.h"
#include "common/io/clock.h"
#include "common/model/launch_variables.h"
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NONCE_BYTES = 16 };

static int start_process (struct start *start, const char *directory, struct err *err)
{
    struct launch *launch = start->launch;
    bool courier = launch_is_remote (launch);
    int log_fd = worker_log_open (&start->log, directory, err);
    if (log_fd < 0)
        return -1;
    struct arena arena = { 0 };
    var_list set = { 0 };
    struct launch_program program = { .path = launch->program, .word = courier ? "carry" : "join", .courier = courier };
    if (!courier && launch->plan) {
        set = launch_variables_of_rehearsal (launch->plan, start->rank, &arena);
        /* In a rehearsal nothing of this machine is taken for a pod's. */
        program.inherit = set.n ? NULL : &launch->plan->profile.inherit;
        program.set = &set;
    }
    int rc = launch_process_start (&program, log_fd, &start->process, err);
    arena_release (&arena);
    (void) close (log_fd); /* ours was never written to */
    if (rc == 0 && start_watch (start, err) != 0) {
        launch_process_kill_group (&start->process);
        rc = -1;
    }
    return rc;
}

#define BUILD_IT "(build it: cmake --build build --target bundle)"

/* <bundle>.head, which deploy/bundle writes: "<sha256> <bytes>" of what a host knows the bundle by. */
static int read_head (struct launch *launch, struct err *err)
{
    struct arena arena = { 0 };
    struct digest digest;
    struct buf line;
    char hex[DIGEST_HEX_BYTES];
    const char *path = text_format (&arena, "%s.head", launch->bundle).ptr;
    buf_init (&line, 256);
    int rc = file_read (path, &line, err);
    if (rc == 0 && (sscanf (buf_c (&line), "%64s %" SCNu64, hex, &launch->bundle_head_bytes) != 2 ||
                    !digest_parse (text_of (hex), &digest) || launch->bundle_head_bytes == 0))
        rc = err_set (err, ERR_DAMAGE, "%s does not hold the sha256 and length of the worker bundle " BUILD_IT, path);
    else if (rc == 0)
        digest_hex (&digest, launch->bundle_sha256);
    buf_release (&line);
    arena_release (&arena);
    return rc;
}

/* Once a launch: all hosts get the same one. */
static int read_bundle (struct launch *launch, struct err *err)
{
    struct stat st;
    if (launch->bundle_sha256[0] != '\0')
        return 0;
    if (stat (launch->bundle, &st) != 0)
        return err_errno (err, ERR_IO, "cannot read the worker bundle %s " BUILD_IT, launch->bundle);
    launch->bundle_bytes = (uint64_t) st.st_size;
    return read_head (launch, err);
}

static int courier_words (struct launch *launch, const struct plan_host *host, struct buf *words, struct err *err)
{
    uint8_t random[NONCE_BYTES];
    char nonce[2 * NONCE_BYTES + 1];
    if (read_bundle (launch, err) != 0)
        return -1;
    if (getrandom (random, sizeof random, 0) != sizeof random)
        return err_errno (err, ERR_IO, "cannot get random numbers");
    for (size_t i = 0; i < NONCE_BYTES; i++)
        snprintf (nonce + 2 * i, 3, "%02x", random[i]);
    struct courier_request request = { .launcher = launch->launcher,
                                       .host = host,
                                       .start = launch->start,
                                       .nonce = nonce,
                                       .bundle = launch->bundle,
                                       .bundle_sha256 = launch->bundle_sha256,
                                       .bundle_bytes = launch->bundle_bytes,
                                       .bundle_head_bytes = launch->bundle_head_bytes };
    return launch_protocol_put_courier (words, &request, err);
}

static int worker_words (const struct launch *launch, uint32_t rank, struct text host, const char *directory,
                         struct buf *words, struct err *err)
{
    struct launch_line_fields join = {
        .run_id_hex = launch->run_id_hex,
        .host = host,
        .rank = rank,
        .address = launch->hub_address,
        .control_port = launch->control_port,
        .bulk_port = launch->bulk_port,
        .hub_public_key = launch->hub_public_key,
        .directory = directory,
        .tied = launch_is_remote (launch) && (launch->start->tied || launch->launcher == LAUNCHER_SLURM),
    };
    if (directory[0] != '/')
        return err_set (err, ERR_STATE, "the directory of a worker must be an absolute path, not %s", directory);
    return launch_protocol_put_join (words, &join, err);
}

/* On its own host, a worker's folder is named after run and host. */
static int words_for (struct launch *launch, uint32_t rank, const struct plan_host *host, const char *directory,
                      struct buf *words, struct err *err)
{
    char there[PATH_MAX_BYTES + 1];
    if (!launch_is_remote (launch))
        return worker_words (launch, rank, host->name, directory, words, err);
    int len = snprintf (there, sizeof there, "%.*s/runs/%s/%.*s", TEXT_ARG (launch->start->directory),
                        launch->run_id_hex, TEXT_ARG (host->name));
    if (len >= (int) sizeof there)
        return err_set (err, ERR_LIMIT, "start.directory %.*s is too long, expected at most %zu bytes",
                        TEXT_ARG (launch->start->directory), sizeof there - 128);
    return courier_words (launch, host, words, err) != 0 ? -1
                                                         : worker_words (launch, rank, host->name, there, words, err);
}

static int begin (struct start *start, const char *directory, struct err *err)
{
    struct launch *launch = start->launch;
    if (start_process (start, directory, err) != 0)
        return -1;
    start->parser = mem_alloc (sizeof *start->parser);
    start->parser->courier = launch_is_remote (launch);
    start->deadline_ms = clock_boot_ms () + launch->timeout_ms;
    start_set_state (start, START_AWAITED);
    if (start->deadline_ms < launch->timer_ms)
        launch_timer_set (launch, start->deadline_ms);
    (void) start_send (start, buf_as_text (&start->words)); /* not heard: its end or the deadline says so */
    buf_release (&start->words);
    return 0;
}

static struct start *oldest_queued (const struct launch *launch)
{
    struct start *oldest = NULL;
    for (struct start *start = launch->starts; start; start = start->next)
        if (start->state == START_QUEUED)
            oldest = start;
    return oldest;
}

void launch_report_exit (struct launch *launch, uint32_t rank, const struct buf *why)
{
    launch->exited (launch->owner, rank, buf_as_text (why));
    launch_begin_queued (launch);
}

static void begin_next (struct launch *launch, struct start *start)
{
    struct err err = { 0 };
    struct buf why;
    uint32_t rank = start->rank;
    if (begin (start, start->directory, &err) == 0)
        return;
    start_destroy (start);
    buf_init (&why, LAUNCH_WHY_MAX_BYTES);
    buf_puts (&why, err.text);
    launch_report_exit (launch, rank, &why);
    buf_release (&why);
}

/* A report inside begins nothing itself: this loop goes on to it. */
void launch_begin_queued (struct launch *launch)
{
    struct start *start;
    if (launch->beginning)
        return;
    launch->beginning = true;
    while (launch->awaited_n < launch->awaited_max && (start = oldest_queued (launch)))
        begin_next (launch, start);
    launch->beginning = false;
}

int launch_start (struct launch *launch, uint32_t rank, const struct plan_host *host, const char *directory,
                  struct err *err)
{
    struct buf words;
    assert (rank < HOSTS_MAX);
    if (launch->by_rank[rank])
        return err_set (err, ERR_STATE, "the worker of rank %" PRIu32 " was already started, or waits to be", rank);
    buf_init (&words, LAUNCH_LINE_MAX_BYTES + COURIER_LINE_MAX_BYTES);
    if (launch_timer_create (launch, err) != 0 || words_for (launch, rank, host, directory, &words, err) != 0) {
        buf_release (&words);
        return -1;
    }
    struct start *start = start_create (launch, rank, START_QUEUED);
    start->words = words;
    if (launch->awaited_n >= launch->awaited_max) {
        start->directory = mem_text (directory);
        return 0;
    }
    if (begin (start, directory, err) == 0)
        return 0;
    start_destroy (start);
    return -1;
}
