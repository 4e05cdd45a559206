/* launch_begin.c - input and process of a worker or its courier. */
#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/digest.h"
#include "common/base/rng.h"
#include "common/io/atomic_file.h"
#include "common/io/clock.h"
#include "common/io/fd.h"
#include "common/model/launch_variables.h"
#include "coordinator/launch/launch_private.h"

static int launch_begin_start_process (struct start *start, const char *directory, struct err *err)
{
    struct launch *launch = start->launch;
    bool courier = launch_is_remote (launch);
    LOCAL_FD log_fd = worker_log_open (&start->log, directory, err);
    if (log_fd < 0)
        return -1;
    LOCAL_ARENA arena = { 0 };
    var_list set = { 0 };
    const struct plan *plan = launch->options.plan;
    struct launch_program program = { .path = launch->program, .word = courier ? "carry" : "join", .courier = courier };
    program.as_user = courier && plan && plan->hosts.items[start->rank].ssh.command.len > 0;
    if (!courier && launch->options.plan) {
        set = launch_variables_of_rehearsal (launch->options.plan, start->rank, &arena);
        /* A rehearsal inherits nothing of this machine. */
        program.inherit = set.n ? NULL : &launch->options.plan->profile.inherit;
        program.set = &set;
    }
    int rc = launch_process_start (&program, log_fd, &start->process, err);
    if (rc == 0 && start_watch (start, err) != 0) {
        launch_process_kill_group (&start->process);
        rc = -1;
    }
    return rc;
}

static int worker_words (const struct launch *launch, uint32_t rank, struct text host, const char *directory,
                         struct buf *words, struct err *err)
{
    struct launch_line_fields join = {
        .run_id_hex = launch->run_id_hex,
        .host = host,
        .slice = launch->options.plan ? launch->options.plan->slice : TEXT_LIT (""),
        .rank = rank,
        .address = launch->hub_address,
        .control_port = launch->options.control_port,
        .bulk_port = launch->options.bulk_port,
        .hub_public_key = launch->hub_public_key,
        .directory = directory,
        .tied = launch_is_remote (launch) &&
                (launch->options.start->tied || launch->options.launcher == LAUNCHER_SLURM),
        .try_ms = launch_is_remote (launch) ? LINK_TRY_MS : 0,
    };
    if (directory[0] != '/')
        return err_set (err, ERR_STATE, "the directory of a worker must be an absolute path, not %s", directory);
    return launch_protocol_put_join (words, &join, err);
}

static uint32_t again_pause_ms (uint32_t tries_n)
{
    return tries_n * AGAIN_PAUSE_MS < AGAIN_PAUSE_MAX_MS ? tries_n * AGAIN_PAUSE_MS : AGAIN_PAUSE_MAX_MS;
}

/* On its own host, a worker's folder is named after run and host. */
static int words_for (struct launch *launch, uint32_t rank, const struct plan_host *host, const char *directory,
                      const struct start *again, struct buf *words, struct err *err)
{
    char there[PATH_MAX_BYTES + 1];
    struct courier_request request = { .launcher = launch->options.launcher,
                                       .host = host,
                                       .start = launch->options.start,
                                       .hub_address = launch->hub_local,
                                       .again = again != NULL,
                                       .password = launch->options.password.len > 0,
                                       .pause_ms = again ? again_pause_ms (again->tries_n) : 0 };
    if (!launch_is_remote (launch))
        return worker_words (launch, rank, host->name, directory, words, err);
    int len = snprintf (there, sizeof there, "%.*s/runs/%s/%.*s", TEXT_ARG (launch->options.start->directory),
                        launch->run_id_hex, TEXT_ARG (host->name));
    if (len >= (int) sizeof there)
        return err_set (err, ERR_LIMIT, "start.directory %.*s is too long, expected at most %zu bytes",
                        TEXT_ARG (launch->options.start->directory), sizeof there - 128);
    if (launch_put_order (&request, &launch->bundle, words, err) != 0)
        return -1;
    return worker_words (launch, rank, host->name, there, words, err);
}

static int launch_begin_begin (struct start *start, const char *directory, struct err *err)
{
    struct launch *launch = start->launch;
    if (launch_begin_start_process (start, directory, err) != 0)
        return -1;
    start->parser = mem_alloc (sizeof *start->parser);
    start->parser->courier = launch_is_remote (launch);
    start->deadline_ms = clock_boot_ms () + launch->timeout_ms + (start->again ? again_pause_ms (start->tries_n) : 0);
    start_set_state (start, START_AWAITED);
    if (start->deadline_ms < launch->timer_ms)
        launch_timer_set (launch, start->deadline_ms);
    (void) start_send (start, buf_as_text (&start->words)); /* a failure shows as its end or the deadline */
    (void) start_send (start, launch->options.password);
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
    launch->options.exited (launch->options.owner, rank, buf_as_text (why));
    launch_begin_queued (launch);
}

static void begin_next (struct launch *launch, struct start *start)
{
    struct err err = { 0 };
    uint32_t rank = start->rank;
    if (launch_begin_begin (start, start->directory, &err) == 0)
        return;
    start_destroy (start);
    LOCAL_BUF why = { .max = LAUNCH_WHY_MAX_BYTES };
    buf_puts (&why, err.text);
    launch_report_exit (launch, rank, &why);
}

/* A report within begins nothing itself; this loop does. */
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
    assert (rank < HOSTS_MAX);
    if (launch->by_rank[rank])
        return err_set (err, ERR_STATE, "the worker of rank %" PRIu32 " was already started, or waits to be", rank);
    LOCAL_BUF words = { .max = LAUNCH_LINE_MAX_BYTES + COURIER_LINE_MAX_BYTES };
    if (launch_timer_create (launch, err) != 0 || words_for (launch, rank, host, directory, NULL, &words, err) != 0)
        return -1;
    struct start *start = start_create (launch, rank, START_QUEUED);
    start->words = words;
    words = (struct buf){ 0 }; /* they are its own now */
    start->directory = mem_text (directory);
    if (launch->awaited_n >= launch->awaited_max)
        return 0;
    if (launch_begin_begin (start, directory, err) == 0)
        return 0;
    start_destroy (start);
    return -1;
}

/* ---- links that couriers carry ---- */

#define CARRIED_FILE "%s/carried" /* empty: for a coordinator that resumes the run */

void start_note_carries (struct start *start)
{
    LOCAL_ARENA arena = { 0 };
    struct err err;
    int fd = plain_file_open (text_format (&arena, CARRIED_FILE, start->directory).ptr, O_WRONLY | O_CREAT, &err);
    fd_close (fd); /* without the file a resumed run waits for the worker in vain, and says so */
    start->carries = true;
    start->tries_n = 0;
}

bool launch_queue_again (struct launch *launch, uint32_t rank, const char *directory, uint32_t tries_n)
{
    struct err err;
    if (!launch->awaited_max || launch->options.start->tied || launch->by_rank[rank])
        return false;
    struct start *start = start_create (launch, rank, START_QUEUED);
    start->directory = mem_text (directory);
    start->again = true;
    start->tries_n = tries_n;
    buf_init (&start->words, LAUNCH_LINE_MAX_BYTES + COURIER_LINE_MAX_BYTES);
    if (launch_timer_create (launch, &err) == 0 && words_for (launch, rank, &launch->options.plan->hosts.items[rank],
                                                              directory, start, &start->words, &err) == 0) {
        launch_begin_queued (launch);
        return true;
    }
    start_destroy (start);
    return false;
}

void launch_carry_again (struct launch *launch, uint32_t rank, const char *directory)
{
    LOCAL_ARENA arena = { 0 };
    if (access (text_format (&arena, CARRIED_FILE, directory).ptr, F_OK) == 0)
        (void) launch_queue_again (launch, rank, directory, 0);
}

/* ---- the order that a courier gets, and the bundle that it is to bring ---- */

enum { NONCE_DIGITS = 32 };

#define BUILD_IT "(build it: cmake --build build --target bundle)"

/* <bundle>.head, which deploy/bundle writes: "<sha256> <bytes>" of what a host knows the bundle by. */
static int read_head (struct launch_bundle *bundle, struct err *err)
{
    LOCAL_ARENA arena = { 0 };
    struct digest digest;
    char hex[DIGEST_HEX_BYTES];
    const char *path = text_format (&arena, "%s.head", bundle->path).ptr;
    LOCAL_BUF line = { .max = 256 };
    int rc = file_read (path, &line, err);
    if (rc == 0 && (sscanf (buf_c (&line), "%64s %" SCNu64, hex, &bundle->head_bytes) != 2 ||
                    !digest_parse (text_of (hex), &digest) || bundle->head_bytes == 0))
        rc = err_set (err, ERR_DAMAGE, "%s does not hold the sha256 and length of the worker bundle " BUILD_IT, path);
    else if (rc == 0)
        digest_hex (&digest, bundle->sha256);
    return rc;
}

/* Once a launch: all hosts get the same one. */
static int read_bundle (struct launch_bundle *bundle, struct err *err)
{
    struct stat st;
    if (bundle->sha256[0] != '\0')
        return 0;
    if (stat (bundle->path, &st) != 0)
        return err_errno (err, ERR_IO, "cannot read the worker bundle %s " BUILD_IT, bundle->path);
    bundle->bytes = (uint64_t) st.st_size;
    return read_head (bundle, err);
}

int launch_put_order (struct courier_request *request, struct launch_bundle *bundle, struct buf *out, struct err *err)
{
    char nonce[NONCE_DIGITS + 1];
    if (read_bundle (bundle, err) != 0 || random_hex (nonce, NONCE_DIGITS, "a nonce", err) != 0)
        return -1;
    request->nonce = nonce;
    request->bundle = bundle->path;
    request->bundle_sha256 = bundle->sha256;
    request->bundle_bytes = bundle->bytes;
    request->bundle_head_bytes = bundle->head_bytes;
    return launch_protocol_put_courier (out, request, err);
}

/* ---- one start: made, told something, changed, and taken apart ---- */

void launch_drop_fd (struct loop *loop, int *fd)
{
    if (*fd < 0)
        return;
    loop_forget (loop, *fd); /* harmless if it is not watched */
    (void) close (*fd);      /* sockets, pipes and pidfds: an error loses nothing */
    *fd = -1;
}

struct start *start_create (struct launch *launch, uint32_t rank, enum start_state state)
{
    struct start *start = mem_alloc (sizeof *start);
    *start = (struct start){ .launch = launch, .next = launch->starts, .state = state, .rank = rank };
    start->process = (struct launch_process){ .pidfd = -1, .input_fd = -1, .output_fd = -1 };
    launch->starts = start;
    launch->by_rank[rank] = start;
    return start;
}

void start_drop_output (struct start *start)
{
    launch_drop_fd (start->launch->loop, &start->process.output_fd);
    mem_free (start->parser);
    start->parser = NULL;
}

void start_set_state (struct start *start, enum start_state state)
{
    start->launch->awaited_n -= start->state == START_AWAITED;
    start->launch->awaited_n += state == START_AWAITED;
    start->state = state;
}

void start_free_rank (struct start *start)
{
    if (start->launch->by_rank[start->rank] == start)
        start->launch->by_rank[start->rank] = NULL;
}

void start_destroy (struct start *start)
{
    struct launch *launch = start->launch;
    struct start **at = &launch->starts;
    start_set_state (start, START_GIVEN_UP);
    start_free_rank (start);
    while (*at != start)
        at = &(*at)->next;
    *at = start->next;
    launch_drop_fd (launch->loop, &start->process.input_fd);
    start_drop_output (start);
    launch_drop_fd (launch->loop, &start->process.pidfd);
    worker_log_release (&start->log);
    buf_release (&start->words);
    mem_free (start->directory);
    mem_free (start);
}

/* The socket's buffer is larger than any input, so a short send means that nobody reads. */
bool start_send (const struct start *start, struct text words)
{
    return send (start->process.input_fd, words.ptr, words.len, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t) words.len;
}

struct launch *launch_open (struct loop *loop, const struct launch_options *options)
{
    struct launch *launch = mem_alloc (sizeof *launch);
    bool local = options->launcher == LAUNCHER_LOCAL;
    launch->loop = loop;
    launch->options = *options;
    launch->program = mem_text (local ? options->worker_path : options->courier_path);
    launch->bundle.path = mem_text (local ? "" : options->bundle_path);
    launch->run_id_hex = mem_text (options->run_id_hex);
    launch->hub_address = mem_text (options->hub_address);
    launch->hub_local = mem_text (options->hub_local ? options->hub_local : "");
    launch->hub_public_key = mem_text (options->hub_public_key);
    launch->awaited_max = local ? HOSTS_MAX : options->start->at_once;
    launch->timeout_ms = local ? LAUNCH_TIMEOUT_MS : options->start->deadline_ms + COURIER_GRACE_MS;
    launch->timer_fd = -1;
    launch->timer_ms = UINT64_MAX;
    return launch;
}

void launch_close (struct launch *launch)
{
    if (!launch)
        return;
    while (launch->starts)
        start_destroy (launch->starts);
    launch_drop_fd (launch->loop, &launch->timer_fd);
    mem_free (launch->hub_public_key);
    mem_free (launch->hub_address);
    mem_free (launch->hub_local);
    mem_free (launch->run_id_hex);
    mem_free (launch->bundle.path);
    mem_free (launch->program);
    mem_free (launch);
}

void launch_note_admitted (struct launch *launch, uint32_t rank)
{
    assert (rank < HOSTS_MAX);
    struct start *start = launch->by_rank[rank];
    if (!start || start->state != START_KEYED)
        return;
    start_set_state (start, START_ADMITTED);
    (void) start_send (start, TEXT_LIT ("GO\n")); /* not heard: its end, on the pidfd, says so */
    if (!launch_is_remote (launch))
        launch_drop_fd (launch->loop, &start->process.input_fd); /* a courier would take this as our end */
}

int launch_adopt (struct launch *launch, uint32_t rank, int64_t pid, uint64_t pid_start, struct err *err)
{
    assert (rank < HOSTS_MAX);
    if (launch_is_remote (launch))
        return 0;
    if (launch->by_rank[rank])
        return err_set (err, ERR_STATE, "the worker of rank %" PRIu32 " is already running", rank);
    int pidfd = launch_process_open_pidfd (pid, pid_start, err);
    if (pidfd < 0)
        return -1;
    struct start *start = start_create (launch, rank, START_ADOPTED);
    start->process.pid = (pid_t) pid;
    start->process.pidfd = pidfd;
    if (start_watch (start, err) == 0)
        return 0;
    start_destroy (start);
    return -1;
}

void launch_begin_no_more (struct launch *launch)
{
    launch->awaited_max = 0;
}

void launch_kill (struct launch *launch, uint32_t rank)
{
    assert (rank < HOSTS_MAX);
    if (launch->by_rank[rank] && launch->by_rank[rank]->state != START_QUEUED)
        launch_process_kill (launch->by_rank[rank]->process.pidfd);
}
