/* attempt_close.c - the steps after a program and all it started are gone: a writer seals, a reader audits, and the
 * output of a bad end, or of a command, is searched for known failures. */
#include "worker/attempt/attempt_state.h"

#include <inttypes.h>
#include <signal.h>
#include <sys/wait.h>

#include "common/base/utf8.h"
#include "common/model/secret.h"
#include "worker/attempt/command.h"
#include "worker/attempt/task.h"
#include "worker/facts/host_fact_list.h"

enum { CLOSE_MIN_MS = 60 * 1000, SEEN_COST_BYTES = 32, LINE_LEAST_BYTES = 100, LINE_STEP_BYTES = 50 };
enum { READ_MS = 20 * 1000 };       /* includes fetching the table; a log has at most limits.log */
enum { SEEN_MAX_BYTES = 6 * 1024 }; /* share of a message, see evidence.h */

/* ---- the log of a program that ended badly ---- */

/* A stopped program's output does not explain its end. */
static bool ended_badly (struct attempt *attempt)
{
    enum ending ending = attempt_result (attempt)->ending;
    return (ending == ENDING_EXITED && !attempt_succeeded (attempt)) || ending == ENDING_SIGNALLED ||
           ending == ENDING_TIMEOUT || ending == ENDING_LEASE_LOST;
}

/* A command reports only by its exit status and its output. */
static bool must_be_read (struct attempt *attempt)
{
    return ended_badly (attempt) || (attempt->run.rung.kind == PROGRAM_COMMAND && attempt_succeeded (attempt));
}

/* Of what the worker itself could not write. */
static void note_full_directory (struct attempt *attempt, struct text problem)
{
    struct disk_room room;
    if (text_find (problem, TEXT_LIT ("No space left on device"), NULL) &&
        disk_room_find (attempt->context->directory, &attempt->arena, &room) && room.level <= DISK_NEARLY_FULL)
        attempt_add_note (attempt, NOTE_AT_FAILURE, room.sentence);
}

/* A page of a file in memory that finds no room is a bus error. */
static void note_shared_memory (struct attempt *attempt)
{
    const struct result *result = attempt_result (attempt);
    struct disk_room room;
    if (result->ending == ENDING_SIGNALLED && result->code == SIGBUS &&
        disk_room_find ("/dev/shm", &attempt->arena, &room) && room.level <= DISK_NEARLY_FULL)
        attempt_add_note (attempt, NOTE_AT_FAILURE, room.sentence);
}

static void unread (struct attempt *attempt, struct text why, uint64_t now_ms)
{
    note_full_directory (attempt, why);
    attempt_add_note (
        attempt, LOG_NOTE_SOURCE,
        text_format (&attempt->arena, "this host did not search the log for signatures: %.*s", TEXT_ARG (why)));
    attempt_finish (attempt, now_ms);
}

static void begin_reading (struct attempt *attempt, uint64_t now_ms)
{
    struct err err = { 0 };
    bool printed = attempt->output && output_bytes (attempt->output);
    if (!printed || !attempt->run.signatures.sha256.len || !must_be_read (attempt)) {
        attempt_finish (attempt, now_ms);
        return;
    }
    if (attempt->closing != TASK_READ)
        attempt->read_until_ms = now_ms + READ_MS;
    attempt->closing = TASK_READ;
    attempt->deadline_ms = UINT64_MAX; /* of the program */
    attempt->step = STEP_CLOSING;
    attempt_enter_own_phase (attempt, "read");
    if (attempt_start_task (attempt, TASK_READ, &err) < 0)
        unread (attempt, text_of (err.text), now_ms);
}

void attempt_signatures_fetched (struct attempt *attempt, struct text problem, uint64_t now_ms)
{
    if (problem.len)
        unread (attempt, problem, now_ms);
    else
        begin_reading (attempt, now_ms);
}

static size_t seen_cost (const struct task_answer *answer, uint32_t line_bytes)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < answer->sightings.n; i++)
        bytes += answer->sightings.items[i].signature.len +
                 least_u64 (answer->sightings.items[i].text.len, line_bytes) + SEEN_COST_BYTES;
    for (uint32_t i = 0; i < answer->shown.n; i++)
        bytes += least_u64 (answer->shown.items[i].len, line_bytes) + SEEN_COST_BYTES;
    return bytes;
}

/* Shortens lines instead of dropping some, since the last may be the cause. */
static void take_seen (struct attempt *attempt, const struct task_answer *answer)
{
    struct result *result = attempt_result (attempt);
    uint32_t line_bytes = SHOWN_LINE_BYTES;
    while (line_bytes > LINE_LEAST_BYTES && seen_cost (answer, line_bytes) > SEEN_MAX_BYTES)
        line_bytes -= LINE_STEP_BYTES;
    for (uint32_t i = 0; i < answer->sightings.n; i++)
        answer->sightings.items[i].text = text_clip (answer->sightings.items[i].text, line_bytes);
    for (uint32_t i = 0; i < answer->shown.n; i++)
        answer->shown.items[i] = text_clip (answer->shown.items[i], line_bytes);
    result->sightings.items = answer->sightings.items;
    result->sightings.n = answer->sightings.n;
    result->shown.items = answer->shown.items;
    result->shown.n = answer->shown.n;
    result->stack.items = answer->stack.items;
    result->stack.n = result->ending == ENDING_EXITED || result->ending == ENDING_SIGNALLED ? answer->stack.n : 0;
}

/* In a successful log every line counts. */
static void note_gap (struct attempt *attempt)
{
    if (attempt_succeeded (attempt) && output_dropped_bytes (attempt->output))
        attempt_add_note (attempt, LOG_NOTE_SOURCE,
                          TEXT_LIT ("the part cut from the log was not searched for texts that a success "
                                    "must not print"));
}

static void after_reading (struct attempt *attempt, const struct task_answer *answer, uint64_t now_ms)
{
    bool over = attempt->read_until_ms == UINT64_MAX;
    if (answer->done) {
        take_seen (attempt, answer);
        if (answer->found.len)
            attempt_add_note (attempt, NOTE_AT_FAILURE, answer->found);
        note_shared_memory (attempt);
        note_gap (attempt);
        attempt_finish (attempt, now_ms);
    } else if (over) {
        unread (attempt, TEXT_LIT ("the search of the log took too long, or was stopped"), now_ms);
    } else if (answer->missing.n && !attempt->table_fetched) {
        attempt->table_fetched = true;
        attempt_fetch (attempt, answer, now_ms);
    } else {
        unread (attempt,
                answer->missing.n ? TEXT_LIT ("the table of signatures was fetched, but its file is missing")
                                  : answer->problem,
                now_ms);
    }
}

void attempt_stop_log_search (struct attempt *attempt, uint64_t now_ms)
{
    attempt->read_until_ms = UINT64_MAX;
    if (attempt->exec) {
        exec_stop (attempt->exec, true, attempt->context->stop_ms, now_ms);
        return;
    }
    fetch_destroy (attempt->fetch);
    attempt->fetch = NULL;
    unread (attempt, TEXT_LIT ("the table of signatures was not fetched in time, or the attempt was stopped"), now_ms);
}

/* ---- the cache ---- */

/* SEAL for a writer that ended well; AUDIT for a reader, to find changes while it ran. */
static enum task_kind closing_task (struct attempt *attempt)
{
    const struct result *result = attempt_result (attempt);
    bool writer = attempt->run.cache.role == CACHE_ROLE_WRITER && task_prepare_is_needed (&attempt->run);
    if (attempt->stopping || result->ending == ENDING_NOT_STARTED)
        return TASK_NONE;
    if (writer)
        return attempt_succeeded (attempt) ? TASK_SEAL : TASK_NONE;
    return task_audit_is_needed (&attempt->run) ? TASK_AUDIT : TASK_NONE;
}

/* A generation verified before the program may have changed. */
static void note_unclosed (struct attempt *attempt, enum owner owner, struct text why)
{
    attempt_set_problem (attempt, owner, why);
    if (attempt->closing == TASK_AUDIT)
        attempt_result (attempt)->cache_state = text_repair_utf8 (&attempt->arena, why, SENTENCE_MAX_BYTES);
}

void attempt_begin_closing (struct attempt *attempt, uint64_t now_ms)
{
    struct err err = { 0 };
    attempt->closing = closing_task (attempt);
    if (attempt->closing == TASK_NONE) {
        begin_reading (attempt, now_ms);
        return;
    }
    uint64_t limit_ms = attempt->run.rung.timeout_ms > CLOSE_MIN_MS ? attempt->run.rung.timeout_ms : CLOSE_MIN_MS;
    attempt->deadline_ms = now_ms + limit_ms;
    attempt->step = STEP_CLOSING;
    attempt_enter_own_phase (attempt, attempt->closing == TASK_SEAL ? "seal" : "audit");
    if (attempt_start_task (attempt, attempt->closing, &err) == 0)
        return;
    note_unclosed (attempt, OWNER_CACHE, text_of (err.text));
    begin_reading (attempt, now_ms);
}

static void after_cache (struct attempt *attempt, const struct task_answer *answer, uint64_t now_ms)
{
    struct result *result = attempt_result (attempt);
    if (answer->cache.storage.len)
        result->cache.storage = answer->cache.storage;
    attempt_add_findings (attempt, answer->findings.items, answer->findings.n);
    if (!answer->done)
        note_unclosed (attempt, answer->owner, answer->problem);
    else if (attempt->closing == TASK_SEAL)
        result->seal = answer->seal;
    begin_reading (attempt, now_ms);
}

void attempt_handle_closing_end (struct attempt *attempt, const struct exec_end *end, uint64_t now_ms)
{
    struct task_answer answer;
    attempt_collect_task (attempt, end, &answer);
    if (attempt->closing == TASK_READ)
        after_reading (attempt, &answer, now_ms);
    else
        after_cache (attempt, &answer, now_ms);
}

/* ---- the result ---- */

/* how an attempt ended, as this worker saw it. */

enum { SEND_MS = 2000 };

/* False: the coordinator is busy, and may take the rest of the output a little later. */
static bool send_output (struct attempt *attempt, uint64_t now_ms)
{
    if (attempt->step != STEP_SENDING)
        attempt->send_until_ms = now_ms + SEND_MS;
    attempt->step = STEP_SENDING;
    output_write_end (attempt->output);
    return output_send_last (attempt->output, now_ms >= attempt->send_until_ms, now_ms);
}

static void count_output (struct attempt *attempt)
{
    if (!attempt->output)
        return;
    struct result *result = attempt_result (attempt);
    struct text cut = output_cut_text (attempt->output, &attempt->arena);
    if (cut.len)
        attempt_add_note (attempt, LOG_NOTE_SOURCE, cut);
    result->output_bytes = output_bytes (attempt->output);
    result->dropped_bytes = output_dropped_bytes (attempt->output);
    result->unsent_bytes = output_unsent_bytes (attempt->output);
    result->log_bytes = output_sent_bytes (attempt->output);
    bool late = attempt->look.begun && result->ending == attempt->stop_ending; /* later output is not the cause */
    result->tail = late ? attempt->look.until.tail : output_tail (attempt->output, &attempt->arena);
}

static void add_fact (struct attempt *attempt, struct text name, struct text value)
{
    struct result *result = attempt_result (attempt);
    if (result->facts.n < RESULT_FACTS_MAX)
        *(struct var *) list_append (&result->facts, sizeof (struct var), &attempt->arena) = (struct var){ name,
                                                                                                           value };
}

/* A digest over a secret would tell it, and part hosts that differ in nothing else. */
static void add_output_fact (struct attempt *attempt)
{
    struct text value = output_value (attempt->output, &attempt->arena),
                told = secret_redact_values (&attempt->arena, &attempt->run.profile, value);
    uint32_t at;
    if (!text_equal (told, value) && text_find (told, TEXT_LIT (", at its end: "), &at))
        told = (struct text){ told.ptr + at + 2, told.len - at - 2 };
    add_fact (attempt, text_format (&attempt->arena, "output.%.*s", TEXT_ARG (attempt->run.rung.id)), told);
}

/* What only the worker knows. */
static void add_own_facts (struct attempt *attempt)
{
    const struct rung *rung = &attempt->run.rung;
    if (rung->kind == PROGRAM_BUILTIN && attempt_result (attempt)->facts.n)
        add_fact (attempt, TEXT_LIT ("containment"), text_of (containment_name (exec_containment ())));
    if (rung->same_output && attempt->output && attempt_succeeded (attempt))
        add_output_fact (attempt);
}

void attempt_finish (struct attempt *attempt, uint64_t now_ms)
{
    struct result *result = attempt_result (attempt);
    attempt_close_fds (attempt);
    if (attempt->output && !send_output (attempt, now_ms))
        return;
    attempt_end_phase_clock (attempt, now_ms);
    if (attempt->waited.len)
        attempt_add_note (attempt, DEVICE_NOTE_SOURCE, attempt->waited);
    count_output (attempt);
    attempt_add_stack (attempt);
    counters_read (&attempt->run, attempt->scratch, attempt->log,
                   attempt->output ? output_cut (attempt->output).tail_at : 0, &attempt->arena, result);
    attempt_fill_cache_view (attempt);
    add_own_facts (attempt);
    if (attempt->evidence.complaint.len)
        attempt_set_problem (attempt, OWNER_NONE, attempt->evidence.complaint);
    LOCAL_BUF why = { .max = ERR_TEXT_BYTES };
    if (!record_check (&result_record, result, &why)) {
        /* A bug of ours that evidence can trigger: a poor result is better than none. */
        struct result poor = { .key = result->key, .ending = result->ending, .code = result->code, .spoke = true };
        *result = poor;
        struct text problem = text_format (&attempt->arena, "what the program reported was not kept: %s", buf_c (&why));
        attempt_set_problem (attempt, OWNER_SLICEUP, problem);
    }
    attempt->step = STEP_ENDED;
}

void attempt_finish_unstarted (struct attempt *attempt, enum owner owner, struct text problem, uint64_t now_ms)
{
    attempt_result (attempt)->ending = attempt->stopping ? attempt->stop_ending : ENDING_NOT_STARTED;
    attempt_set_problem (attempt, owner, problem);
    note_full_directory (attempt, problem);
    attempt_finish (attempt, now_ms);
}

void attempt_note_end (struct attempt *attempt, const struct exec_end *end, uint64_t now_ms)
{
    struct result *result = attempt_result (attempt);
    bool exited = WIFEXITED (end->status);
    bool in_time = attempt->stop_ending != ENDING_TIMEOUT || attempt->done_before_stop; /* our signal may wake it */
    bool by_itself = exited && WEXITSTATUS (end->status) == 0 && result->done && in_time;
    result->ending = exited ? ENDING_EXITED : ENDING_SIGNALLED;
    result->code = (uint32_t) (exited ? WEXITSTATUS (end->status) : WTERMSIG (end->status));
    if (attempt->stopping && !by_itself)
        result->ending = attempt->stop_ending;
    result->duration_ms = now_ms - (result->ending == ENDING_TIMEOUT /* the limit counts from the RUN on */
                                        ? attempt->deadline_ms - attempt->run.rung.timeout_ms
                                        : attempt->began_ms);
    result->at_limit = attempt->at_edge && !attempt->stopping;
    result->strays = end->strays;
    if (!result->bundle.n) /* the program told none itself */
        result->bundle = attempt->versions;
    if (end->peak_bytes > result->peak_bytes)
        result->peak_bytes = end->peak_bytes;
    struct memory_kills kills = memory_watch_end (&attempt->memory);
    result->group_memory_kills = kills.of_group;
    result->machine_memory_kills = kills.of_machine;
    result->memory_limit_bytes = kills.limit_bytes;
    result->memory_group_shared = kills.of_group && kills.shared;
    if (end->unkillable)
        attempt_set_problem (attempt, OWNER_HOST,
                             text_format (&attempt->arena,
                                          "%" PRIu32 " processes of the program are still running after SIGKILL",
                                          end->unkillable));
}
