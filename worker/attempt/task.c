/* task.c - see task.h: both ends of the conversation. */
#include "worker/attempt/task.h"

#include "common/wire/wire.h"
#include "worker/attempt/cache_task.h"
#include "worker/attempt/device_wait.h"
#include "worker/attempt/log_reader.h"
#include "worker/command/environ.h"
#include "worker/command/interpreter.h"
#include "worker/environment/environment.h"
#include "worker/files/kit.h"
#include "worker/files/wheels.h"
#include "worker/image/self.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* FINDINGS_MAX findings of a path and a sentence each, and what else it says. */
enum { ANSWER_MAX_BYTES = 128 * 1024 + INTERPRETER_BYTES_MAX };

static const struct field answer_fields[] = {
    F_BOOL (1, struct task_answer, done),
    F_TEXT (2, struct task_answer, problem, SENTENCE_MAX_BYTES),
    F_ENUM (3, struct task_answer, owner, &owner_names),
    F_TEXT (4, struct task_answer, python, PATH_MAX_BYTES),
    F_TEXT (5, struct task_answer, cache_state, SENTENCE_MAX_BYTES),
    F_RECORD (6, struct task_answer, seal, &seal_record),
    F_TEXT (7, struct task_answer, kit, PATH_MAX_BYTES),
    F_TEXTS (8, struct task_answer, missing, KIT_FILES_MAX + WHEELS_MAX, SHA256_HEX_BYTES),
    F_RECORD (9, struct task_answer, cache, &cache_view_record),
    F_LIST (10, struct task_answer, findings, FINDINGS_MAX, &finding_record),
    F_TEXT (11, struct task_answer, waited, SENTENCE_MAX_BYTES),
    F_LIST (12, struct task_answer, sightings, SIGHTINGS_MAX, &sighting_record),
    F_TEXTS (13, struct task_answer, shown, SHOWN_MAX, SHOWN_LINE_BYTES),
    F_TEXTS (14, struct task_answer, loaded, INTERPRETER_PATHS_MAX, PATH_MAX_BYTES),
};
static const struct record answer_record = RECORD ("answer", struct task_answer, answer_fields);

/* An order as it is handed over; `run` are the bytes of the RUN. */
struct payload {
    struct text run;
    uint64_t device_wait_ms, output_bytes;
    struct text tail;
};
static const struct field payload_fields[] = {
    F_BYTES (1, struct payload, run, MSG_MAX_BYTES),
    F_U64 (2, struct payload, device_wait_ms, INT64_MAX),
    F_U64 (3, struct payload, output_bytes, INT64_MAX),
    F_BYTES (4, struct payload, tail, RESULT_TAIL_MAX_BYTES),
};
static const struct record payload_record = RECORD ("order", struct payload, payload_fields);
enum { PAYLOAD_MAX_BYTES = MSG_MAX_BYTES + RESULT_TAIL_MAX_BYTES + 64 };

static const char *const kind_words[] = { "none", "prepare", "seal", "audit", "device", "read" };
static const struct names kind_names = { kind_words, sizeof kind_words / sizeof kind_words[0] };

static bool needs_environment (const struct msg_run *run)
{
    return run->rung.kind != PROGRAM_COMMAND && run->rung.needs_env; /* a probe's plugin may lie there */
}

static bool needs_cache (const struct msg_run *run)
{
    return run->rung.kind != PROGRAM_BUILTIN && run->cache.role != CACHE_ROLE_NONE;
}

bool task_is_needed (const struct msg_run *run)
{
    struct kit_list files;
    kit_list_of (run, &files);
    return files.n || needs_environment (run) || needs_cache (run) || interpreter_is_needed (run);
}

bool task_audit_is_needed (const struct msg_run *run)
{
    return needs_cache (run) && run->cache.role == CACHE_ROLE_READER && run->cache.token != 0;
}

/* ---- the worker's end ---- */

static void put_payload (const struct task_order *request, struct buf *out)
{
    struct buf run;
    buf_init (&run, MSG_MAX_BYTES);
    wire_put_record (&run, msg_body (MSG_RUN), request->run);
    struct payload payload = { buf_as_text (&run), request->device_wait_ms, request->output_bytes, request->tail };
    wire_put_record (out, &payload_record, &payload);
    out->overflow |= run.overflow;
    buf_release (&run);
}

static int open_channel (const struct task_order *request, int pair[2], struct err *err)
{
    struct buf bytes;
    buf_init (&bytes, PAYLOAD_MAX_BYTES);
    put_payload (request, &bytes);
    int rc = -1;
    if (bytes.overflow) {
        err_set (err, ERR_LIMIT, "the order of this attempt is larger than a message");
    } else if (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
        err_errno (err, ERR_IO, "making a channel for a task");
    } else if (send (pair[0], bytes.ptr, bytes.len, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t) bytes.len ||
               shutdown (pair[0], SHUT_WR) < 0) {
        /* Less than a socket's buffer: it either fits at once or something is wrong with this host. */
        err_errno (err, ERR_IO, "handing the request to a task");
        close (pair[0]);
        close (pair[1]);
    } else {
        rc = 0;
    }
    buf_release (&bytes);
    return rc;
}

static struct exec *start_process (enum task_kind kind, struct text host, const char *directory, int report_fd,
                                   int channel_fd, struct err *err)
{
    struct arena arena = { 0 };
    struct environ_list list;
    char *argv[] = { (char *) "sliceup-worker",
                     (char *) "task",
                     (char *) names_of (&kind_names, kind),
                     (char *) directory,
                     (char *) text_copy (&arena, host).ptr,
                     NULL };
    environ_begin (&list, &arena);
    struct self_start start = self_again (argv, &arena);
    struct spawn_request request = { .program = start.program,
                                     .argv = start.argv,
                                     .envp = environ_block (&list),
                                     .again = true,
                                     .directory = directory,
                                     .output_fd = report_fd,
                                     .channel_fd = channel_fd };
    /* Who has a device open is not seen from inside a pid namespace. */
    struct exec *exec = kind == TASK_DEVICE ? exec_start_outside (&request, err) : exec_start (&request, err);
    arena_release (&arena);
    return exec;
}

struct exec *task_start (enum task_kind kind, const struct task_order *request, struct text host, const char *directory,
                         int report_fd, int *channel_fd, struct err *err)
{
    int pair[2];
    if (open_channel (request, pair, err) < 0)
        return NULL;
    struct exec *exec = start_process (kind, host, directory, report_fd, pair[1], err);
    close (pair[1]);
    if (exec)
        *channel_fd = pair[0];
    else
        close (pair[0]);
    return exec;
}

/* To the end of the stream, or until `out` is full. */
static int read_all (int fd, struct buf *out, struct err *err)
{
    char bytes[4096];
    for (;;) {
        ssize_t got = read (fd, bytes, sizeof bytes);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_errno (err, ERR_IO, "reading the channel of a task");
        if (got == 0)
            return 0;
        buf_add (out, bytes, (size_t) got);
        if (out->overflow)
            return err_set (err, ERR_LIMIT, "more than %zu bytes on the channel of a task", out->max);
    }
}

static void no_answer (const struct exec_end *end, const char *why, struct arena *arena, struct task_answer *answer)
{
    bool signalled = WIFSIGNALED (end->status);
    int code = signalled ? WTERMSIG (end->status) : WEXITSTATUS (end->status);
    *answer = (struct task_answer){ .owner = OWNER_SLICEUP };
    answer->problem = text_format (arena, "the process that prepares or closes this attempt gave no answer (%s %d%s%s)",
                                   signalled ? "signal" : "exit status", code, *why ? "; " : "", why);
}

void task_answer (int channel_fd, const struct exec_end *end, struct arena *arena, struct task_answer *answer)
{
    struct buf bytes;
    struct err err = { 0 };
    struct task_answer received = { 0 };
    buf_init (&bytes, ANSWER_MAX_BYTES);
    if (read_all (channel_fd, &bytes, &err) < 0 || !bytes.len || end->status != 0 ||
        wire_get_record (buf_as_text (&bytes), &answer_record, &received, arena, &err) < 0)
        no_answer (end, err.text, arena, answer);
    else
        record_copy (&answer_record, answer, &received, arena); /* the texts alias `bytes` */
    buf_release (&bytes);
    close (channel_fd);
}

/* ---- the process ---- */

int task_fail (struct task_answer *answer, struct arena *arena, enum owner owner, const struct err *err)
{
    struct text problem = text_of (err->text);
    struct buf escaped;
    answer->owner = owner;
    buf_init (&escaped, 8 * ERR_TEXT_BYTES);
    if (!text_is_utf8 (problem)) /* a path in it was cut, or is none that an answer may hold */
        buf_escaped (&escaped, problem, 0);
    answer->problem = text_copy (arena, escaped.len ? text_clip (buf_as_text (&escaped), SENTENCE_MAX_BYTES) : problem);
    buf_release (&escaped);
    return -1;
}

static int find_environment (const struct msg_run *run, struct arena *arena, struct task_answer *answer)
{
    char path[PATH_MAX];
    struct err err = { 0 };
    if (environment_path (&run->pins, path, sizeof path, &err) < 0)
        return task_fail (answer, arena, OWNER_BUNDLE, &err);
    answer->python = text_format (arena, "%s/bin/python", path);
    struct text complete = text_format (arena, "%s/" ENVIRONMENT_COMPLETE, path);
    if (access (answer->python.ptr, X_OK) == 0 && access (complete.ptr, R_OK) == 0)
        return 0;
    err_set (&err, ERR_STATE, "there is no complete environment at %s; the rung that restores it has to pass first",
             path);
    return task_fail (answer, arena, OWNER_BUNDLE, &err);
}

static int find_kit (const struct msg_run *run, const char *directory, struct arena *arena, struct task_answer *answer)
{
    struct kit_list files;
    struct kit kit;
    struct err err = { 0 };
    kit_list_of (run, &files);
    if (kit_find (&files, directory, arena, &kit, &err) < 0)
        return task_fail (answer, arena, OWNER_HOST, &err);
    answer->kit = kit.folder;
    answer->missing.items = arena_array (arena, kit.missing.n + WHEELS_MAX, sizeof *answer->missing.items);
    for (uint32_t i = 0; i < kit.missing.n; i++)
        answer->missing.items[answer->missing.n++] = kit.missing.items[i];
    return 0;
}

/* What is complete is not built again, so nothing is brought here for it. */
static bool is_complete (const struct msg_run *run, struct arena *arena)
{
    char path[PATH_MAX];
    return environment_path (&run->pins, path, sizeof path, NULL) == 0 &&
           access (text_format (arena, "%s/" ENVIRONMENT_COMPLETE, path).ptr, F_OK) == 0;
}

static int find_wheels (const struct msg_run *run, const char *directory, struct arena *arena,
                        struct task_answer *answer)
{
    struct err err = { 0 };
    uint32_t missing_n = 0;
    if (!wheels_are_needed (run) || is_complete (run, arena))
        return 0;
    if (wheels_find (run, directory, arena, answer->missing.items + answer->missing.n, &missing_n, &err) < 0)
        return task_fail (answer, arena, OWNER_HOST, &err);
    answer->missing.n += missing_n;
    return 0;
}

static int find_interpreters (const struct msg_run *run, struct arena *arena, struct task_answer *answer)
{
    struct err err = { 0 };
    if (interpreter_is_needed (run) && interpreter_paths (run, arena, &answer->loaded, &err) < 0)
        return task_fail (answer, arena, OWNER_HOST, &err);
    return 0;
}

static void prepare (const struct task_place *place, const struct msg_run *run, struct arena *arena,
                     struct task_answer *answer)
{
    if (find_kit (run, place->directory, arena, answer) < 0 || find_wheels (run, place->directory, arena, answer) < 0 ||
        answer->missing.n)
        return;
    if (needs_environment (run) && find_environment (run, arena, answer) < 0)
        return;
    if (find_interpreters (run, arena, answer) < 0)
        return;
    if (needs_cache (run) && cache_task_prepare (place, &run->cache, arena, answer) < 0)
        return;
    answer->done = true;
}

static int tell (const struct task_answer *answer, struct err *err)
{
    struct buf bytes;
    buf_init (&bytes, ANSWER_MAX_BYTES);
    wire_put_record (&bytes, &answer_record, answer);
    int rc = 0;
    if (bytes.overflow || send (SPAWN_CHANNEL_FD, bytes.ptr, bytes.len, MSG_NOSIGNAL) != (ssize_t) bytes.len)
        rc = err_errno (err, ERR_IO, "answering");
    buf_release (&bytes);
    return rc;
}

static void wait_for_device (const struct task_order *request, struct arena *arena, struct task_answer *answer)
{
    answer->done = device_wait (&fact_roots_real, request->device_wait_ms, arena, &answer->waited, &answer->problem) ==
                   0;
    if (!answer->done)
        answer->owner = OWNER_DEVICE;
}

static void work (enum task_kind kind, const struct task_place *place, const struct task_order *request,
                  struct arena *arena, struct task_answer *answer)
{
    const struct msg_run *run = request->run;
    if (kind == TASK_PREPARE)
        prepare (place, run, arena, answer);
    else if (kind == TASK_DEVICE)
        wait_for_device (request, arena, answer);
    else if (kind == TASK_READ)
        log_reader_task (run, request, place->directory, arena, answer);
    else if (kind == TASK_SEAL)
        cache_task_seal (&run->cache, arena, answer);
    else
        cache_task_audit (&run->cache, arena, answer);
}

static int carry_out (enum task_kind kind, const struct task_place *place, struct arena *arena, struct err *err)
{
    struct buf bytes;
    struct msg_run run = { 0 };
    struct payload payload = { 0 };
    struct task_answer answer = { 0 };
    buf_init (&bytes, PAYLOAD_MAX_BYTES);
    int rc = read_all (SPAWN_CHANNEL_FD, &bytes, err);
    if (rc == 0)
        rc = wire_get_record (buf_as_text (&bytes), &payload_record, &payload, arena, err);
    if (rc == 0)
        rc = wire_get_record (payload.run, msg_body (MSG_RUN), &run, arena, err);
    if (rc == 0) {
        struct task_order request = { &run, payload.device_wait_ms, payload.output_bytes, payload.tail };
        work (kind, place, &request, arena, &answer);
        rc = tell (&answer, err);
    }
    buf_release (&bytes);
    return rc;
}

int task_main (int argc, char **argv)
{
    uint32_t kind = TASK_NONE;
    struct err err = { 0 };
    struct arena arena = { 0 };
    if (argc != 4 || !names_find (&kind_names, text_of (argv[1]), &kind) || kind == TASK_NONE) {
        fprintf (stderr, "sliceup-worker: task is started by the worker itself: "
                         "task prepare|device|seal|audit|read DIRECTORY HOST\n");
        return 2;
    }
    struct task_place place = { .directory = argv[2], .host = text_of (argv[3]) };
    int rc = carry_out ((enum task_kind) kind, &place, &arena, &err);
    if (rc < 0)
        fprintf (stderr, "sliceup-worker: task %s: %s\n", argv[1], err.text);
    arena_release (&arena);
    return rc < 0 ? 3 : 0;
}
