#include "common/io/fd.h"
#include "worker/attempt/attempt_state.h"

#include "common/base/duration.h"
#include "common/base/utf8.h"
#include "common/io/atomic_file.h"
#include "common/io/clock.h"
#include "worker/attempt/command.h"
#include "worker/attempt/protected_paths.h"
#include "worker/attempt/task.h"
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    DRAIN_MS = 2000, /* a stray may hold the pipe; after this all are dead */
    TOLD_MS = 300,   /* a signal for all processes of a job reaches this worker as well */
    FETCHES_MAX = 3, /* a fetched file may be damaged before its use, but not again and again */
    EDGE_PART = 10,  /* of its time are the last moments, at most so long: hosts reach their limits within them */
    EDGE_MOST_MS = 2000
};

/* ---- starting ---- */

static int make_folders (struct attempt *attempt, struct err *err)
{
    const struct attempt_context *context = attempt->context;
    attempt->scratch = attempt_file_path (&attempt->arena, context->directory, "scratch", &attempt->run.key, "");
    attempt->log = attempt_file_path (&attempt->arena, context->directory, "logs", &attempt->run.key, ".log");
    if (folder_remove (attempt->scratch.ptr, err) < 0 || folder_make (attempt->scratch.ptr, 0700, err) < 0)
        return -1;
    struct text output = text_format (&attempt->arena, "%.*s/" COMMAND_OUTPUT, TEXT_ARG (attempt->scratch));
    return attempt->run.rung.kind == PROGRAM_COMMAND ? folder_make (output.ptr, 0700, err) : 0;
}

struct copying {
    struct preload *preload;
    struct preload_copy copy;
};

static int copy_interpreter (void *owner, const struct spawn_request *request, const struct spawn_target *target,
                             pid_t *pid, struct err *err)
{
    const struct copying *copying = owner;
    return preload_copy (copying->preload, request, &copying->copy, target, pid, err);
}

/* It quotes the interpreter. */
static struct text said_of_copy (struct attempt *attempt, const char *why)
{
    struct text said = text_format (&attempt->arena, "executed: %s", why);
    return text_repair_utf8 (&attempt->arena, said, SENTENCE_MAX_BYTES);
}

/* NULL: it has to be executed; the result says why. `stage` is what would be executed, the sandbox's process or the program
 * itself. */
static struct exec *start_copy (struct attempt *attempt, const struct command *command, const struct command *stage,
                                struct spawn_request spawn)
{
    struct copying copying = { attempt->context->preload, { .words = command->argv + CANARY_FILE } };
    struct err err = { 0 };
    if (stage != command)
        for (copying.copy.confine = stage->argv; strcmp (*copying.copy.confine, "confine") != 0;)
            copying.copy.confine++;
    spawn.envp = command->envp;
    struct exec *exec = exec_start_copy (&spawn, copy_interpreter, &copying, &err);
    attempt_result (attempt)->interpreter = exec ? TEXT_LIT ("copied") : said_of_copy (attempt, err.text);
    return exec;
}

static struct exec *spawn_program (struct attempt *attempt, const struct command *command, const struct command *stage,
                                   int report, struct err *err)
{
    LOCAL_FD peer_fd = attempt->channel ? channel_take_program_fd (attempt->channel) : -1;
    struct spawn_request spawn = { .program = stage->program,
                                   .argv = stage->argv,
                                   .envp = stage->envp,
                                   .directory = stage->directory.ptr,
                                   .channel_fd = peer_fd,
                                   .report_fd = report,
                                   .output_fd = output_write_fd (attempt->output),
                                   .is_self = stage->is_self };
    bool looks = rung_is_builtin (&attempt->run.rung, "facts");
    struct exec *exec = attempt->copies ? start_copy (attempt, command, stage, spawn) : NULL;
    if (!exec)
        exec = looks ? exec_start_on_host (&spawn, err) : exec_start (&spawn, err);
    output_close_write (attempt->output);
    return exec;
}

/* `confine` runs first and becomes the program. */
static struct exec *spawn_confined (struct attempt *attempt, const struct command_context *context,
                                    const struct command *command, struct err *err)
{
    struct protected_paths paths;
    struct command stage;
    int report_fd;
    protected_find (&attempt->run, context, command->program, &attempt->arena, &paths);
    if (confine_args_write (&attempt->run, context, &paths, command, SPAWN_REPORT_FD, &attempt->arena, &stage, err) <
            0 ||
        attempt_open_confine_report (attempt, &report_fd, err) < 0)
        return NULL;
    struct exec *exec = spawn_program (attempt, command, &stage, report_fd, err);
    close (report_fd);
    return exec;
}

/* May a copy of a preloaded interpreter run it? `*waits`: not yet. Else the result says why not. */
static bool may_copy (struct attempt *attempt, const struct command *command, uint64_t now_ms, bool *waits)
{
    struct preload *preload = attempt->context->preload;
    struct text *said = &attempt_result (attempt)->interpreter;
    uint64_t left_ms = attempt->deadline_ms > now_ms ? attempt->deadline_ms - now_ms : 0;
    struct preload_need need = { command->program, command->modules, command->envp };
    *said = TEXT_LIT ("executed");
    *waits = false;
    if (!command->modules)
        return false;
    if (exec_containment () != CONTAINMENT_PID_NAMESPACE) {
        *said = TEXT_LIT ("executed: a copy needs a pid namespace for programs, which is not possible here");
        return false;
    }
    enum preload_state state = preload_want (preload, &need, now_ms);
    if (state == PRELOAD_STARTING && attempt->step != STEP_IMPORTING)
        attempt->import_until_ms = now_ms +
                                   left_ms / 4; /* then it is executed, and its own time limit says where it hangs */
    *waits = state == PRELOAD_STARTING && now_ms < attempt->import_until_ms;
    if (state == PRELOAD_STARTING)
        *said = TEXT_LIT ("executed: the interpreter to be copied was still importing");
    if (state == PRELOAD_REFUSED)
        *said = said_of_copy (attempt, preload_why (preload));
    return state == PRELOAD_READY;
}

static struct command_context context_of_command (const struct attempt *attempt)
{
    const struct attempt_context *context = attempt->context;
    struct command_context of_command = { .host = context->host,
                                          .run_hex = context->run_hex,
                                          .scratch = attempt->scratch,
                                          .directory = text_of (context->directory),
                                          .python = attempt->python,
                                          .kit = attempt->kit,
                                          .helpers = attempt->helpers,
                                          .loaded = attempt->loaded,
                                          .clock_offset = context->clock_offset };
    memcpy (of_command.trusted, context->trusted, sizeof context->trusted);
    return of_command;
}

static int begin_running (struct attempt *attempt, const struct command_context *context, const struct command *command,
                          uint64_t now_ms, struct err *err)
{
    bool confined = attempt_is_confined (attempt);
    for (uint32_t i = 0; i < command->warnings.n; i++)
        attempt_add_note (attempt, "launch policy", command->warnings.items[i]);
    attempt->exec = confined ? spawn_confined (attempt, context, command, err)
                             : spawn_program (attempt, command, command, 0, err);
    if (!attempt->exec)
        return -1;
    if (attempt->step != STEP_IMPORTING) /* which is part of its time, as an executed program's imports are */
        attempt->began_ms = now_ms;
    attempt->step = STEP_RUNNING;
    memory_watch_begin (exec_pid (attempt->exec), &attempt->memory);
    attempt_enter_own_phase (attempt, confined ? ATTEMPT_PHASE_CONFINE : attempt_first_phase (attempt));
    if (!channel_send (attempt->channel, command->line) && attempt->run.rung.kind != PROGRAM_COMMAND) {
        /* It is gone, or never reads; the exit status or the time limit handles that. */
        evidence_refuse (&attempt->evidence,
                         "the program closed the channel before it read the line that describes its attempt");
    }
    return 0;
}

static int start_program (struct attempt *attempt, uint64_t now_ms, struct err *err)
{
    struct command command;
    struct command_context context = context_of_command (attempt);
    bool waits = false;
    if (command_make (&attempt->run, &context, &attempt->arena, &command, err) < 0)
        return -1;
    if (attempt->run.rung.kind == PROGRAM_CANARY)
        attempt->copies = may_copy (attempt, &command, now_ms, &waits);
    if (!waits)
        return begin_running (attempt, &context, &command, now_ms, err);
    attempt->step = STEP_IMPORTING;
    attempt->began_ms = now_ms;
    attempt_enter_own_phase (attempt, ATTEMPT_PHASE_IMPORT);
    return 0;
}

/* Does anybody listen at the port of the profile, at which rank 0 is going to? Beside a canary's it goes unused. */
static int check_port (const struct msg_run *run, struct err *err)
{
    struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons ((uint16_t) run->profile.port) };
    int on = 1, fd = -1, rc = 0;
    if (run->profile.port && run->rank == 0 && run->rung.kind == PROGRAM_COMMAND)
        fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return 0;
    (void) setsockopt (fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on); /* past connections that linger */
    if (bind (fd, (const struct sockaddr *) &any, sizeof any) < 0 && errno == EADDRINUSE)
        rc = err_set (err, ERR_STATE,
                      NOTE_PORT
                      "%u, is taken on this host, where rank 0 would listen: ss -ltnp 'sport = :%u' names the "
                      "process; end it, or give the profile another port: (docs/spec/configuration.md)",
                      run->profile.port, run->profile.port);
    close (fd);
    return rc;
}

/* Begins the program, whose files are here, or waits for its device. */
static int begin_program (struct attempt *attempt, uint64_t now_ms, struct err *err)
{
    if (check_port (&attempt->run, err) < 0)
        return -1;
    if (!device_is_wanted (&attempt->run))
        return start_program (attempt, now_ms, err);
    attempt->step = STEP_AWAITING;
    attempt_result (attempt)->phase = TEXT_LIT (ATTEMPT_PHASE_DEVICE);
    attempt_enter_own_phase (attempt, ATTEMPT_PHASE_DEVICE);
    return attempt_start_task (attempt, TASK_DEVICE, err);
}

static const char *preparing_phase (const struct msg_run *run)
{
    if (run->rung.kind == PROGRAM_BUILTIN)
        return "files";
    return run->cache.role != CACHE_ROLE_NONE ? "cache" : run->rung.needs_env ? "environment" : "files";
}

static int begin_preparing (struct attempt *attempt, struct err *err)
{
    attempt->step = STEP_PREPARING;
    attempt_enter_own_phase (attempt, preparing_phase (&attempt->run));
    return attempt_start_task (attempt, TASK_PREPARE, err);
}

static int attempt_begin (struct attempt *attempt, uint64_t now_ms, struct err *err)
{
    if (make_folders (attempt, err) < 0 || attempt_open_fds (attempt, err) < 0)
        return -1;
    if (!task_prepare_is_needed (&attempt->run))
        return begin_program (attempt, now_ms, err);
    return begin_preparing (attempt, err);
}

/* Settings of the profile or ladder are LAUNCH's, since their author must act. */
static void refuse_start (struct attempt *attempt, const struct err *err, uint64_t now_ms)
{
    attempt_finish_unstarted (attempt, err->code == ERR_CONFIG ? OWNER_LAUNCH : OWNER_HOST, text_of (err->text),
                              now_ms);
}

struct attempt *attempt_start (struct loop *loop, const struct attempt_context *context, const struct msg_run *run,
                               uint64_t now_ms)
{
    struct attempt *attempt = mem_alloc (sizeof *attempt);
    struct err err = { 0 };
    attempt->loop = loop;
    attempt->context = context;
    attempt->task_fd = -1;
    attempt->read_until_ms = UINT64_MAX;
    record_copy (msg_record_of_kind (MSG_RUN), &attempt->run, run, &attempt->arena);
    evidence_init (&attempt->evidence, attempt->run.nonce);
    evidence_expect (&attempt->evidence, &attempt->run);
    attempt_result (attempt)->key = attempt->run.key;
    attempt->began_ms = now_ms;
    attempt->deadline_ms = run->rung.timeout_ms ? now_ms + run->rung.timeout_ms : UINT64_MAX;
    attempt->edge_ms = run->rung.scope == SCOPE_SLICE && run->world > 1
                           ? attempt->deadline_ms - least_u64 (run->rung.timeout_ms / EDGE_PART, EDGE_MOST_MS)
                           : UINT64_MAX;
    if (attempt_begin (attempt, now_ms, &err) < 0)
        refuse_start (attempt, &err, now_ms);
    return attempt;
}

/* ---- stopping ---- */

/* A signal that ends this worker often ends its program as well (Slurm signals every process of a step), maybe first:
 * whether the program failed is known once this worker got the signal, or did not. */
static bool awaits_its_worker (struct attempt *attempt)
{
    const struct result *result = attempt_result (attempt);
    bool of_a_request = result->code == SIGTERM || result->code == SIGINT || result->code == SIGHUP;
    return result->ending == ENDING_SIGNALLED && of_a_request && !attempt->stopping;
}

void attempt_go (struct attempt *attempt, struct text gate, struct text value)
{
    if (!attempt->channel || attempt->step != STEP_RUNNING || !attempt->gate_open)
        return;
    attempt->gate_open = false;
    attempt_note_gate_opened (attempt, clock_boot_ms ());
    if (!channel_send_go (attempt->channel, gate, value))
        evidence_refuse (&attempt->evidence,
                         "the program closed the channel before it read the message that opens its gate");
    attempt_watch_writable (attempt);
}

static void end_program (struct attempt *attempt, bool hard, uint64_t now_ms)
{
    /* A canary that waits on its channel can leave without a signal; a failure here does not matter. */
    if (attempt->channel && attempt->step == STEP_RUNNING && !hard)
        (void) channel_send_stop (attempt->channel, attempt->stop_why);
    attempt->look.until_ms = 0;
    assert (attempt->exec);
    exec_stop (attempt->exec, hard, attempt->context->stop_ms, now_ms);
}

void attempt_stop (struct attempt *attempt, bool hard, enum ending ending, struct text why, uint64_t now_ms)
{
    if (attempt->step == STEP_DRAINING && ending == ENDING_TERMINATED && awaits_its_worker (attempt)) {
        attempt->stopping = true;
        attempt_result (attempt)->ending = ending;
        attempt_set_problem (attempt, OWNER_NONE, text_format (&attempt->arena, "stopped: %.*s", TEXT_ARG (why)));
        return;
    }
    if (attempt->step >= STEP_SENDING || attempt->step == STEP_DRAINING || (attempt->stopping && !hard))
        return;
    if (attempt->closing == TASK_READ) { /* the program is over; how it ended stays */
        if (hard || attempt->step == STEP_FETCHING)
            attempt_stop_log_search (attempt, now_ms);
        return;
    }
    bool looks = false;
    if (!attempt->stopping) {
        attempt->stopping = true;
        attempt->stop_ending = ending;
        attempt->done_before_stop = attempt_result (attempt)->done;
        attempt->stop_why = text_copy (&attempt->arena, why);
        if (attempt->channel)
            channel_allow_partial_line (attempt->channel);
        attempt_set_problem (attempt, OWNER_NONE, text_format (&attempt->arena, "stopped: %.*s", TEXT_ARG (why)));
        looks = attempt->step == STEP_RUNNING && !hard && attempt_begin_look (attempt, why, now_ms);
    }
    if (attempt->step == STEP_FETCHING || attempt->step == STEP_IMPORTING) { /* nothing runs that would have to end */
        attempt_finish_unstarted (attempt, OWNER_NONE, why, now_ms);
        return;
    }
    if (!looks)
        end_program (attempt, hard, now_ms);
}

static void watch_the_edge (struct attempt *attempt, uint64_t now_ms)
{
    if (attempt->at_edge || now_ms < attempt->edge_ms || attempt->stopping)
        return;
    attempt->at_edge = attempt->step == STEP_RUNNING;
    if (attempt->at_edge)
        attempt->edge = attempt_printed (attempt, now_ms);
    else
        attempt->edge_ms = UINT64_MAX; /* what begins within them has printed nothing before */
}

static void watch_the_clock (struct attempt *attempt, uint64_t now_ms)
{
    if (now_ms < attempt->deadline_ms || attempt->stopping || attempt->step >= STEP_ENDED)
        return;
    char limit[DURATION_TEXT_BYTES];
    struct text phase = attempt_result (attempt)->phase;
    duration_print (attempt->run.rung.timeout_ms, limit);
    struct text came = attempt->fetch ? fetch_progress (attempt->fetch, &attempt->arena) : TEXT_LIT ("");
    struct text why = text_format (&attempt->arena, "the attempt exceeded its time limit of %s%s%.*s%.*s", limit,
                                   phase.len ? " in phase " : "", TEXT_ARG (phase), TEXT_ARG (came));
    attempt_stop (attempt, false, ENDING_TIMEOUT, why, now_ms);
}

/* ---- fetching ---- */

static int begin_fetching (struct attempt *attempt, const struct task_answer *answer, uint64_t now_ms, struct err *err)
{
    if (attempt->fetches++ == FETCHES_MAX)
        return err_set (err, ERR_DAMAGE,
                        "the files of this rung were fetched %d times and were damaged in %s/files each time: check "
                        "this host's disk",
                        FETCHES_MAX, attempt->context->directory);
    attempt_enter_own_phase (attempt, "files");
    attempt_fetch (attempt, answer, now_ms);
    return 0;
}

static void turn_fetch (struct attempt *attempt, uint64_t now_ms)
{
    struct text problem;
    struct err err = { 0 };
    fetch_poll (attempt->fetch, now_ms);
    enum fetch_state state = fetch_state (attempt->fetch, &problem);
    if (state == FETCH_GOING)
        return;
    if (attempt->closing == TASK_READ)
        attempt_signatures_fetched (attempt, state == FETCH_FAILED ? problem : (struct text){ 0 }, now_ms);
    else if (state == FETCH_FAILED)
        attempt_finish_unstarted (attempt, fetch_owner (attempt->fetch), problem, now_ms);
    else if (begin_preparing (attempt, &err) < 0)
        refuse_start (attempt, &err, now_ms);
    fetch_destroy (attempt->fetch);
    attempt->fetch = NULL;
}

void attempt_receive_chunk (struct attempt *attempt, const struct msg_chunk *chunk, bool of_host, uint64_t now_ms)
{
    if (attempt->step != STEP_FETCHING)
        return;
    fetch_take (attempt->fetch, chunk, of_host, now_ms);
    turn_fetch (attempt, now_ms);
}

/* ---- steps ---- */

static void after_preparing (struct attempt *attempt, const struct exec_end *end, uint64_t now_ms)
{
    struct task_answer answer;
    struct err err = { 0 };
    attempt_collect_task (attempt, end, &answer);
    attempt_result (attempt)->cache_state = answer.cache_state;
    attempt_result (attempt)->cache.storage = answer.cache.storage;
    attempt_add_findings (attempt, answer.findings.items, answer.findings.n);
    if (answer.missing.n && !attempt->stopping) {
        if (begin_fetching (attempt, &answer, now_ms, &err) < 0)
            refuse_start (attempt, &err, now_ms);
        return;
    }
    if (attempt->stopping || !answer.done) {
        attempt_finish_unstarted (attempt, answer.owner, answer.problem, now_ms);
        return;
    }
    attempt->versions = answer.versions;
    attempt->python = answer.python;
    attempt->kit = answer.kit;
    attempt->helpers = answer.helpers;
    attempt->loaded = answer.loaded;
    if (begin_program (attempt, now_ms, &err) < 0)
        refuse_start (attempt, &err, now_ms);
}

static void after_awaiting (struct attempt *attempt, const struct exec_end *end, uint64_t now_ms)
{
    struct task_answer answer;
    struct err err = { 0 };
    attempt_collect_task (attempt, end, &answer);
    attempt->waited = answer.waited;
    if (attempt->stopping || !answer.done) {
        attempt_finish_unstarted (attempt, answer.owner, answer.problem, now_ms);
        return;
    }
    attempt_result (attempt)->phase = (struct text){ 0 };
    if (start_program (attempt, now_ms, &err) < 0)
        refuse_start (attempt, &err, now_ms);
}

static void turn_import (struct attempt *attempt, uint64_t now_ms)
{
    struct err err = { 0 };
    bool waits = preload_poll (attempt->context->preload, now_ms) == PRELOAD_STARTING;
    if ((!waits || now_ms >= attempt->import_until_ms) && start_program (attempt, now_ms, &err) < 0)
        refuse_start (attempt, &err, now_ms);
}

static void after_running (struct attempt *attempt, const struct exec_end *end, uint64_t now_ms)
{
    attempt->step = STEP_DRAINING;
    attempt->drain_until_ms = now_ms + DRAIN_MS;
    /* Its last lines are still in the sockets, and decide how its end is judged. */
    attempt_drain_channel (attempt);
    attempt_note_end (attempt, end, now_ms);
    attempt_take_confine_report (attempt);
}

static bool may_say_more (const struct attempt *attempt)
{
    return attempt->output_watched || attempt->channel_watched;
}

static uint64_t drain_deadline_ms (const struct attempt *attempt)
{
    return attempt->drain_until_ms - (may_say_more (attempt) ? 0 : DRAIN_MS - TOLD_MS);
}

static void drain (struct attempt *attempt, uint64_t now_ms)
{
    if (now_ms < drain_deadline_ms (attempt) && (may_say_more (attempt) || awaits_its_worker (attempt)))
        return;
    attempt_check_channel_held (attempt);
    attempt_close_fds (attempt);
    output_write_end (attempt->output);
    attempt_begin_closing (attempt, now_ms);
}

static void turn_exec (struct attempt *attempt, uint64_t now_ms)
{
    struct exec_end end;
    exec_poll (attempt->exec, now_ms);
    if (!exec_all_gone (attempt->exec, &end))
        return;
    struct exec *gone = attempt->exec;
    attempt->exec = NULL;
    exec_destroy (gone);
    if (attempt->step == STEP_PREPARING)
        after_preparing (attempt, &end, now_ms);
    else if (attempt->step == STEP_AWAITING)
        after_awaiting (attempt, &end, now_ms);
    else if (attempt->step == STEP_RUNNING)
        after_running (attempt, &end, now_ms);
    else
        attempt_handle_closing_end (attempt, &end, now_ms);
}

void attempt_poll (struct attempt *attempt, uint64_t now_ms)
{
    if (attempt->step >= STEP_ENDED)
        return;
    if (attempt->step == STEP_SENDING && now_ms >= output_deadline_ms (attempt->output))
        attempt_finish (attempt, now_ms);
    watch_the_edge (attempt, now_ms);
    if (attempt->exec)
        turn_exec (attempt, now_ms);
    if (attempt->step == STEP_DRAINING)
        drain (attempt, now_ms);
    if (attempt->step == STEP_FETCHING)
        turn_fetch (attempt, now_ms);
    if (attempt->step == STEP_IMPORTING)
        turn_import (attempt, now_ms);
    if (attempt->exec || attempt->step == STEP_FETCHING || attempt->step == STEP_IMPORTING)
        watch_the_clock (attempt, now_ms);
    if (attempt_look_is_over (attempt, now_ms))
        end_program (attempt, false, now_ms);
    if (now_ms >= attempt->read_until_ms && attempt->step < STEP_SENDING)
        attempt_stop_log_search (attempt, now_ms);
    if (attempt->step < STEP_SENDING)
        output_send_due (attempt->output, now_ms);
    attempt_watch_writable (attempt);
}

uint64_t attempt_deadline_ms (const struct attempt *attempt)
{
    if (attempt->step >= STEP_ENDED)
        return UINT64_MAX;
    uint64_t at_ms = output_deadline_ms (attempt->output);
    if (attempt->step == STEP_DRAINING)
        return least_u64 (at_ms, drain_deadline_ms (attempt));
    if (attempt->step == STEP_FETCHING)
        at_ms = least_u64 (at_ms, fetch_deadline_ms (attempt->fetch));
    if (attempt->step == STEP_IMPORTING)
        at_ms = least_u64 (at_ms,
                           least_u64 (attempt->import_until_ms, preload_deadline_ms (attempt->context->preload)));
    if (attempt->exec)
        at_ms = least_u64 (at_ms, exec_deadline_ms (attempt->exec));
    if (attempt->look.until_ms && attempt->step == STEP_RUNNING)
        at_ms = least_u64 (at_ms, attempt->look.next_ms);
    if (!attempt->at_edge && !attempt->stopping && attempt->step == STEP_RUNNING)
        at_ms = least_u64 (at_ms, attempt->edge_ms);
    at_ms = attempt->step == STEP_SENDING ? at_ms : least_u64 (at_ms, attempt->read_until_ms);
    return attempt->stopping || attempt->step == STEP_SENDING ? at_ms : least_u64 (at_ms, attempt->deadline_ms);
}

struct attempt_key attempt_which (const struct attempt *attempt)
{
    return attempt->run.key;
}

struct text attempt_address (const struct attempt *attempt)
{
    return attempt->run.address;
}

void attempt_destroy (struct attempt *attempt)
{
    if (!attempt)
        return;
    attempt_close_fds (attempt);
    exec_destroy (attempt->exec);
    fd_close (attempt->task_fd);
    fetch_destroy (attempt->fetch);
    channel_close (attempt->channel);
    output_close (attempt->output);
    evidence_release (&attempt->evidence);
    for (uint32_t i = 0; i < STATEMENTS_MAX; i++)
        arena_release (&attempt->statements[i].arena);
    arena_release (&attempt->look.arena);
    arena_release (&attempt->arena);
    mem_free (attempt);
}
