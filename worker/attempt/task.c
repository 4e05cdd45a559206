#include "worker/attempt/task.h"

#include "common/io/fd.h"
#include "common/wire/wire.h"
#include "worker/attempt/command.h"
#include "worker/environment/installed.h"
#include "worker/environment/kit.h"
#include "worker/process/self.h"
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- what a task and its worker say to each other ---- */

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
    F_TEXT (15, struct task_answer, helpers, PATH_MAX_BYTES),
    F_TEXTS (16, struct task_answer, stack, STACK_LINES_MAX, SHOWN_LINE_BYTES),
    F_TEXT (17, struct task_answer, found, SENTENCE_MAX_BYTES),
    F_LIST (18, struct task_answer, versions, VERSIONS_MAX, &var_record),
};
static const struct record answer_record = RECORD ("answer", struct task_answer, answer_fields);

static const struct field payload_fields[] = {
    F_BYTES (1, struct task_request, run_bytes, MSG_MAX_BYTES),
    F_U64 (2, struct task_request, device_wait_ms, INT64_MAX),
    F_U64 (3, struct task_request, output_bytes, INT64_MAX),
    F_BYTES (4, struct task_request, tail, RESULT_TAIL_MAX_BYTES),
    F_BOOL (5, struct task_request, succeeded),
    F_U64 (6, struct task_request, cut.cut_at, INT64_MAX),
    F_U64 (7, struct task_request, cut.tail_at, INT64_MAX),
    F_U64 (8, struct task_request, cut.tail_from, INT64_MAX),
};
static const struct record payload_record = RECORD ("order", struct task_request, payload_fields);
enum { PAYLOAD_MAX_BYTES = MSG_MAX_BYTES + RESULT_TAIL_MAX_BYTES + 128 };

static const char *const kind_words[] = { "none", "prepare", "seal", "audit", "device", "read" };
const struct enum_names task_kind_names = NAMES (kind_words);

/* ---- the order ---- */

static void put_payload (const struct task_request *request, struct buf *out)
{
    LOCAL_BUF run = { .max = MSG_MAX_BYTES };
    wire_put_record (&run, msg_record_of_kind (MSG_RUN), request->run);
    struct task_request sent = *request;
    sent.run_bytes = buf_as_text (&run);
    wire_put_record (out, &payload_record, &sent);
    out->overflow |= run.overflow;
}

/* A pair of descriptors; the second one already has the request to read. The caller owns both. */
static int task_channel_open (const struct task_request *request, int pair[2], struct err *err)
{
    LOCAL_BUF bytes = { .max = PAYLOAD_MAX_BYTES };
    put_payload (request, &bytes);
    int rc = -1;
    if (bytes.overflow) {
        err_set (err, ERR_LIMIT, "the description of this attempt is too large to send to a task");
    } else if (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
        err_errno (err, ERR_IO, "cannot make a socket for a task");
    } else if (send (pair[0], bytes.ptr, bytes.len, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t) bytes.len ||
               shutdown (pair[0], SHUT_WR) < 0) {
        /* Smaller than a socket's buffer: it fits at once, or this host is broken. */
        err_errno (err, ERR_IO, "cannot send the request to a task");
        close (pair[0]);
        close (pair[1]);
    } else {
        rc = 0;
    }
    return rc;
}

static int task_read_all (int fd, struct buf *out, struct err *err)
{
    if (fd_read_all (fd, out) < 0)
        return err_errno (err, ERR_IO, "cannot read the answer of a task");
    return out->overflow ? err_set (err, ERR_LIMIT, "a task answered with more than %zu bytes", out->max) : 0;
}

int task_channel_get_request (int fd, struct buf *bytes, struct arena *arena, struct msg_run *run,
                              struct task_request *request, struct err *err)
{
    buf_init (bytes, PAYLOAD_MAX_BYTES);
    if (task_read_all (fd, bytes, err) < 0 ||
        wire_get_record (buf_as_text (bytes), &payload_record, request, arena, err) < 0 ||
        wire_get_record (request->run_bytes, msg_record_of_kind (MSG_RUN), run, arena, err) < 0)
        return -1;
    request->run = run;
    return 0;
}

/* ---- the answer ---- */

int task_answer_set_failure (struct task_answer *answer, struct arena *arena, enum owner owner, const struct err *err)
{
    struct text problem = text_of (err->text);
    answer->owner = owner;
    LOCAL_BUF escaped = { .max = 8 * ERR_TEXT_BYTES };
    if (!text_is_utf8 (problem)) /* a path in it was cut, or is none that an answer may hold */
        buf_escaped (&escaped, problem, 0);
    answer->problem = text_copy (arena, escaped.len ? text_clip (buf_as_text (&escaped), SENTENCE_MAX_BYTES) : problem);
    return -1;
}

int task_channel_put_answer (int fd, const struct task_answer *answer, struct err *err)
{
    LOCAL_BUF bytes = { .max = ANSWER_MAX_BYTES };
    wire_put_record (&bytes, &answer_record, answer);
    bool sent = !bytes.overflow && send (fd, bytes.ptr, bytes.len, MSG_NOSIGNAL) == (ssize_t) bytes.len;
    return sent ? 0 : err_errno (err, ERR_IO, "answering");
}

/* Texts live in `arena`. `sound`: the process exited with 0; answers of others are ignored. */
static int task_channel_get_answer (int fd, bool sound, struct arena *arena, struct task_answer *answer,
                                    struct err *err)
{
    struct task_answer received = { 0 };
    LOCAL_BUF bytes = { .max = ANSWER_MAX_BYTES };
    if (task_read_all (fd, &bytes, err) < 0 || !bytes.len || !sound || /* then only the exit status is known */
        wire_get_record (buf_as_text (&bytes), &answer_record, &received, arena, err) < 0)
        return -1;
    record_copy (&answer_record, answer, &received, arena); /* the texts alias `bytes` */
    return 0;
}

/* ---- the worker's end ---- */

static struct exec *task_start_process (enum task_kind kind, struct text host, const char *directory, int report_fd,
                                        int channel_fd, struct err *err)
{
    LOCAL_ARENA arena = { 0 };
    struct environ_list list;
    char *argv[] = { (char *) "sliceup-worker",
                     (char *) "task",
                     (char *) enum_name_of (&task_kind_names, kind),
                     (char *) directory,
                     (char *) text_copy (&arena, host).ptr,
                     NULL };
    environ_begin (&list, &arena);
    struct self_exec start = self_make_exec (argv, &arena);
    struct spawn_request request = { .program = start.program,
                                     .argv = start.argv,
                                     .envp = environ_block (&list),
                                     .is_self = true,
                                     .directory = directory,
                                     .output_fd = report_fd,
                                     .channel_fd = channel_fd };
    /* Holders of a device are not visible in a pid namespace. */
    bool looks = kind == TASK_DEVICE || kind == TASK_READ;
    return looks ? exec_start_on_host (&request, err) : exec_start (&request, err);
}

struct exec *task_start (enum task_kind kind, const struct task_request *request, struct text host,
                         const char *directory, int report_fd, int *channel_fd, struct err *err)
{
    int pair[2];
    if (task_channel_open (request, pair, err) < 0)
        return NULL;
    struct exec *exec = task_start_process (kind, host, directory, report_fd, pair[1], err);
    close (pair[1]);
    if (exec)
        *channel_fd = pair[0];
    else
        close (pair[0]);
    return exec;
}

static void no_answer (const struct exec_end *end, const char *why, struct arena *arena, struct task_answer *answer)
{
    bool signalled = WIFSIGNALED (end->status);
    int code = signalled ? WTERMSIG (end->status) : WEXITSTATUS (end->status);
    *answer = (struct task_answer){ .owner = OWNER_SLICEUP };
    answer->problem = text_format (arena,
                                   "the task that prepares or closes this attempt ended without an answer (%s %d%s%s)",
                                   signalled ? "signal" : "exit status", code, *why ? "; " : "", why);
}

void task_take_answer (int channel_fd, const struct exec_end *end, struct arena *arena, struct task_answer *answer)
{
    struct err err = { 0 };
    *answer = (struct task_answer){ 0 };
    if (task_channel_get_answer (channel_fd, end->status == 0, arena, answer, &err) < 0)
        no_answer (end, err.text, arena, answer);
    close (channel_fd);
}
