/* alone: attempt */
#include "attempt_fixture.h"
#include "common/logs/signature.h"
#include "common/wire/wire.h"
#include "test.h"
#include "worker/attempt/task.h"
#include "worker/facts/host_fact_list.h"
#include "worker/process/exec.h"
#include "worker/protocol/evidence.h"
#include "worker/sandbox/confine.h"
#include <sched.h>
#include <sys/mount.h>

static struct signature signatures[] = {
    { .id = TEXT_LIT ("hbm-full"), .text = TEXT_LIT ("Ran out of memory in memory space hbm"), .owner = OWNER_PROGRAM },
    { .id = TEXT_LIT ("peer-gone"), .text = TEXT_LIT ("heartbeat timeout"), .owner = OWNER_PEER, .peer = true },
    { .id = TEXT_LIT ("late"),
      .text = TEXT_LIT ("mode was asked for late"),
      .owner = OWNER_PROGRAM,
      .always = true,
      .backends = { &(struct text){ "tpu", 3 }, 1 } },
    { .id = TEXT_LIT ("form"),
      .rule = RULE_PRIOR,
      .types = { &(struct text){ "ValueError", 10 }, 1 },
      .owner = OWNER_PROGRAM,
      .likely = true },
    { .id = TEXT_LIT ("disk-full"), .text = TEXT_LIT ("No space left on device"), .owner = OWNER_HOST },
    { .id = TEXT_LIT ("vfio-busy"), .text = TEXT_LIT ("Device or resource busy"), .owner = OWNER_DEVICE },
};
#define LATE "a warning: this mode was asked for late"
#define HBM "RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm. Used 17G of 15G hbm."

static void make_table_of (struct bench *bench, struct signature *items, uint32_t n)
{
    struct signature_table table = { 0 };
    struct buf bytes;
    char hex[DIGEST_HEX_BYTES];
    table.signatures.items = items;
    table.signatures.n = n;
    buf_init (&bytes, 1 << 20);
    wire_put_record (&bytes, &signature_table_record, &table);
    struct digest digest = digest_of (bytes.ptr, bytes.len);
    bench->held[0] = text_copy (&bench->arena, buf_as_text (&bytes));
    bench->files[0].file.path = text_format (&bench->arena, "%s/table", bench->directory);
    bench->files[0].file.sha256 = text_copy (&bench->arena, text_of (digest_hex (&digest, hex)));
    bench->run.signatures = bench->files[0].file;
    buf_release (&bytes);
}

static void make_table (struct bench *bench)
{
    make_table_of (bench, signatures, sizeof signatures / sizeof signatures[0]);
}

static void put_table (struct bench *bench, struct text bytes)
{
    assert_int_equal (atomic_file_write (bench->files[0].file.path.ptr, bytes.ptr, bytes.len, 0600, NULL), 0);
}

/* The table lies where the plan has it. */
static void use_table (struct bench *bench)
{
    make_table (bench);
    put_table (bench, bench->held[0]);
}

static const struct result_note *note_from (const struct result *result, const char *source)
{
    for (uint32_t i = 0; i < result->notes.n; i++)
        if (text_is (result->notes.items[i].source, source))
            return &result->notes.items[i];
    return NULL;
}

static void saw_hbm (const struct result *r)
{
    if (r->sightings.n != 1)
        fail_msg ("%u sightings; %.*s", r->sightings.n, TEXT_ARG (r->problem));
    assert_text (r->sightings.items[0].signature, "hbm-full");
    has (r->sightings.items[0].text, "Used 17G");
}

/* ---- which attempts are read ---- */

TEST_ON (b, a_known_text_long_before_the_end_is_seen)
{
    use_table (b);
    b->context.log_bytes = 8 << 20;
    use_command (b, "echo one; echo '" HBM "'; i=0; head -c 1000000 /dev/zero | tr '\\0' x | fold -w 100; exit 3");
    const struct result *r = run (b);
    saw_hbm (r);
    assert_int_equal (r->sightings.items[0].line, 2);
    assert_int_equal (r->sightings.items[0].offset, 4);
    assert_int_equal (r->shown.n, 0);
    assert_has_not (r->tail, "memory space");
    assert_int_equal (r->code, 3);
    assert_int_equal (r->problem.len, 0);
    assert_int_equal (b->asks, 0);
    has (text_of (b->phases), "read ");
}

TEST_ON (b, what_nobody_knows_is_shown)
{
    use_table (b);
    use_command (b, "echo begun; echo 'ValueError: the frobnicator is of the wrong colour'; exit 1");
    const struct result *r = run (b);
    assert_int_equal (r->sightings.n, 1); /* by its form */
    assert_true (text_is (r->sightings.items[0].signature, "form") && r->sightings.items[0].decides);
    assert_int_equal (r->shown.n, 1);
    has (r->shown.items[0], "frobnicator");
}

TEST_ON (b, of_success_only_texts_are_read_that_always_count)
{
    use_table (b);
    b->run.profile.backend = TEXT_LIT ("tpu");
    use_command (b, "echo '" HBM "'; echo 'ValueError: retried'; echo '" LATE "'; exit 0");
    const struct result *r = run (b);
    assert_int_equal (r->sightings.n, 1);
    assert_text (r->sightings.items[0].signature, "late");
    assert_int_equal (r->shown.n, 0);
    has (text_of (b->phases), "run read ");
    b->run.profile.backend = TEXT_LIT ("cpu");
    assert_int_equal (run_again (b)->sightings.n, 0);
}

TEST_ON (b, a_silent_end_is_not_read)
{
    use_table (b);
    use_command (b, "exit 1");
    run (b);
    assert_string_equal (b->phases, "run ");
}

TEST_ON (b, a_crash_in_native_code_tells_the_frame_that_it_was_called_from)
{
    use_table (b);
    use_command (b, "exec python3 -c 'import ctypes; ctypes.string_at (0)'");
    const struct result *r = run (b);
    assert_int_equal (r->ending, ENDING_SIGNALLED);
    has (r->stack.items[0], "raised in: File ");
    has (r->stack.items[1], "called from: File \"<string>\", line 1 in <module>");
    static struct var without = { TEXT_LIT ("PYTHONFAULTHANDLER"), TEXT_LIT ("") };
    b->run.profile.env.items = &without;
    b->run.profile.env.n = 1;
    assert_int_equal (run_again (b)->stack.n, 0);
}

TEST_ON (b, of_a_long_path_the_end_is_told)
{
    use_table (b);
    use_command (b, "printf 'Traceback (most recent call last):\n  File \"/%0300d/train.py\", line 3, in f\nKeyError: "
                    "3\n' 0; exit 1");
    const struct result *r = run (b);
    assert_true (text_starts (r->stack.items[0], "raised in: File \"...0"));
    assert_true (text_ends (r->stack.items[0], "/train.py\", line 3, in f"));
}

/* ---- what its host is like then ---- */

TEST_ON (b, a_full_disk_is_named_by_the_path_of_the_program)
{
    use_table (b);
    use_command (b, "echo 'sort: write failed: /: No space left on device'; exit 1");
    const struct result_note *note = note_from (run (b), NOTE_AT_FAILURE);
    assert_non_null (note);
    assert_true (text_starts (note->text, "/")); /* of this host another one may be full */
    use_command (b, "echo 'sort: write failed: /: No space left on device'; exit 0");
    assert_null (note_from (run_again (b), NOTE_AT_FAILURE)); /* it went on */
}

TEST_ON (b, a_device_that_nobody_holds_has_no_holder)
{
    use_table (b);
    use_command (b, "echo 'open(/dev/vfio/0): Device or resource busy'; exit 1");
    assert_null (note_from (run (b), NOTE_AT_FAILURE));
}

TEST_ON (b, a_signal_is_read)
{
    use_table (b);
    use_command (b, "echo '" HBM "'; kill -ABRT $$");
    const struct result *r = run (b);
    assert_int_equal (r->ending, ENDING_SIGNALLED);
    saw_hbm (r);
}

TEST_ON (b, a_limit_that_passed_is_read)
{
    use_table (b);
    b->ripe_on = "memory space hbm";
    use_command (b, "echo '" HBM "'; while :; do sleep 0.05; done");
    const struct result *r = run (b);
    assert_int_equal (r->ending, ENDING_TIMEOUT);
    has (r->problem, "exceeded its time limit of 30 s");
    saw_hbm (r);
}

/* Hosts of one program are stopped at their limit one after the other, and what the others say then may be of that. */
TEST_ON (b, what_is_printed_in_the_last_moments_is_no_cause_where_hosts_work_together)
{
    use_table (b);
    char edge[128], command[512];
    snprintf (edge, sizeof edge, "%s/edge", b->directory);
    snprintf (command, sizeof command,
              "echo begun; until [ -e %s ]; do sleep 0.05; done; echo '" HBM "'; while :; do sleep 0.05; done", edge);
    for (int together = 0; together < 2; together++) {
        (void) unlink (edge);
        b->run.rung.scope = together ? SCOPE_SLICE : SCOPE_HOST;
        b->run.world = 2;
        b->ripe_on = "begun";
        b->ripe_next = "memory space hbm";
        b->edge_file = edge;
        use_command (b, command);
        const struct result *r = together ? run_again (b) : run (b);
        assert_int_equal (r->ending, ENDING_TIMEOUT);
        assert_int_equal (r->sightings.n, !together);
        has (r->tail, together ? "begun" : "memory space hbm");
        assert_false (r->at_limit);
    }
}

TEST_ON (b, who_ends_in_the_last_moments_says_so)
{
    char edge[128], command[512];
    snprintf (edge, sizeof edge, "%s/edge", b->directory);
    snprintf (command, sizeof command, "echo begun; until [ -e %s ]; do sleep 0.05; done; exit 3", edge);
    b->run.rung.scope = SCOPE_SLICE;
    b->run.world = 2;
    b->ripe_on = "begun";
    b->ripe_next = "never";
    b->edge_file = edge;
    use_command (b, command);
    const struct result *r = run (b);
    assert_int_equal (r->ending, ENDING_EXITED);
    assert_int_equal (r->code, 3);
    assert_true (r->at_limit);
}

/* It is stopped once it has printed. */
static void use_stopped (struct bench *b)
{
    struct file_ref table = b->files[0].file;
    use_canary (b, "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
                   "print('" HBM "', flush=True)\nsay(type='phase', name='wait')\nlines.readline()\nsys.exit(5)\n");
    b->run.signatures = table;
    b->stop_on_phase = "wait";
}

TEST_ON (b, a_lost_lease_is_read)
{
    use_table (b);
    use_stopped (b);
    b->stop_ending = ENDING_LEASE_LOST;
    const struct result *r = run (b);
    assert_int_equal (r->ending, ENDING_LEASE_LOST);
    saw_hbm (r);
}

TEST_ON (b, what_was_cancelled_is_not_read)
{
    use_table (b);
    use_stopped (b);
    const struct result *r = run (b);
    assert_int_equal (r->ending, ENDING_CANCELLED);
    assert_true (r->output_bytes > 0 && r->sightings.n == 0);
    assert_false (strstr (b->phases, "read ") != NULL);
}

TEST_ON (b, a_canary_that_ends_silently_with_status_0_is_read)
{
    use_table (b);
    struct file_ref table = b->files[0].file;
    use_canary (b, "print('" HBM "')\n");
    b->run.signatures = table;
    const struct result *r = run (b);
    assert_int_equal (r->code, 0);
    assert_false (r->done);
    saw_hbm (r);
}

/* ---- the table ---- */

TEST_ON (b, a_table_that_is_not_here_is_fetched_once)
{
    make_table (b);
    use_command (b, "echo '" HBM "'; exit 1");
    saw_hbm (run (b));
    uint32_t asks = b->asks;
    assert_true (asks > 0);
    saw_hbm (run_again (b));
    assert_int_equal (b->asks, asks);
}

TEST_ON (b, a_table_that_cannot_be_had_changes_nothing_else)
{
    make_table (b);
    b->refusal = TEXT_LIT ("it was changed since the plan was made");
    use_command (b, "echo '" HBM "'; exit 3");
    const struct result *r = run (b);
    assert_int_equal (r->ending, ENDING_EXITED);
    assert_int_equal (r->code, 3);
    assert_true (r->owner == OWNER_NONE && !r->problem.len && !r->sightings.n);
    has (r->tail, "memory space");
    assert_non_null (note_from (r, "log"));
    has (note_from (r, "log")->text, "it was changed since the plan was made");
}

TEST_ON (b, a_damaged_table_is_fetched_instead)
{
    make_table (b);
    put_table (b, TEXT_LIT ("no table"));
    use_command (b, "echo '" HBM "'; exit 1");
    saw_hbm (run (b));
    assert_true (b->asks > 0);
}

TEST_ON (b, a_file_that_is_no_table_is_noted)
{
    char hex[DIGEST_HEX_BYTES];
    struct text junk = TEXT_LIT ("\x93not a table");
    struct digest digest = digest_of (junk.ptr, junk.len);
    make_table (b);
    put_table (b, junk);
    b->run.signatures.sha256 = text_copy (&b->arena, text_of (digest_hex (&digest, hex)));
    use_command (b, "echo '" HBM "'; exit 3");
    const struct result *r = run (b);
    assert_int_equal (r->code, 3);
    has (note_from (r, "log")->text, "the table of signatures");
}

/* ---- logs ---- */

TEST_ON (b, the_end_of_a_log_that_was_cut_is_read_too)
{
    use_table (b);
    b->context.log_bytes = 4096;
    use_command (b, "head -c 50000 /dev/zero | tr '\\0' x | fold -w 100; echo; echo '" HBM "'; exit 1");
    const struct result *r = run (b);
    saw_hbm (r);
    assert_int_equal (r->sightings.items[0].line, 0);
    assert_int_equal (r->sightings.items[0].offset, r->output_bytes - sizeof HBM);
    assert_true (log_of (b).len <= 4096);
}

TEST_ON (b, a_line_that_stayed_of_a_cut_is_read_with_the_place_of_the_cut)
{
    use_table (b);
    b->context.log_bytes = 64 << 10;
    use_command (b, "seq 1 100000; echo '" HBM "'; seq 1 100000; exit 1");
    const struct result *r = run (b);
    saw_hbm (r);
    assert_int_equal (r->sightings.items[0].line, 0);
    assert_int_equal (r->sightings.items[0].offset, 32 << 10);
}

TEST_ON (b, what_a_stopped_program_prints_behind_a_cut_is_not_read)
{
    use_table (b);
    b->context.log_bytes = 64 << 10;
    b->ripe_on = "begun";
    use_command (b, "trap 'seq 1 100000; echo \"" HBM "\"; exit 1' INT TERM; echo begun; seq 1 60000; echo 'the end'; "
                    "while :; do sleep 0.01; done");
    const struct result *r = run (b);
    assert_int_equal (r->ending, ENDING_TIMEOUT);
    has (log_of (b), HBM);
    assert_int_equal (r->sightings.n, 0);
    has (r->tail, "the end\n");
}

TEST_ON (b, of_a_log_that_is_not_kept_the_end_is_read)
{
    use_table (b);
    b->context.log_bytes = 0;
    use_command (b, "echo '" HBM "'; exit 1");
    const struct result *r = run (b);
    assert_true (text_starts (log_of (b), "[sliceup] "));
    assert_has_not (log_of (b), "HBM");
    saw_hbm (r);
    assert_int_equal (r->sightings.items[0].offset, 0);
}

TEST_ON (b, a_log_on_a_full_disk_is_read_from_its_end)
{
    mount_small_logs (b);
    use_table (b);
    use_command (b, "head -c 300000 /dev/zero | tr '\\0' x | fold -w 100; echo; echo '" HBM "'; exit 1");
    const struct result *r = run (b);
    assert_int_equal (umount2 (text_format (&b->arena, "%s/logs", b->directory).ptr, MNT_DETACH), 0);
    assert_in_range (r->dropped_bytes, 200000, r->output_bytes);
    saw_hbm (r);
    assert_int_equal (r->sightings.items[0].offset, r->output_bytes - sizeof HBM);
}

TEST_ON (b, a_log_that_the_program_removed_is_read_from_its_end)
{
    use_table (b);
    use_command (b, "echo '" HBM "'; rm ../../logs/*.log; exit 1");
    saw_hbm (run (b));
}

/* Nobody writes to it. */
TEST_ON (b, a_pipe_in_place_of_the_log_holds_nobody)
{
    use_table (b);
    use_command (b, "echo '" HBM "'; log=$(ls ../../logs/*.log); rm $log; mkfifo $log; exit 1");
    saw_hbm (run (b));
}

/* A terabyte of nothing would be read for hours. */
TEST_ON (b, no_more_is_read_than_was_printed)
{
    use_table (b);
    use_command (b, "echo '" HBM "'; truncate -s 1T ../../logs/*.log; exit 1");
    saw_hbm (run (b));
}

TEST_ON (b, binary_garbage_is_no_obstacle)
{
    use_table (b);
    use_command (b, "head -c 200000 /dev/urandom; printf '\\0\\377\\033[31m'; echo; echo '" HBM "'; exit 1");
    const struct result *r = run (b);
    assert_true (r->sightings.n >= 1);
    saw_hbm (r);
}

/* Sixteen known texts with long names, each in a long line. */
TEST_ON (b, whatever_is_seen_fits_the_result)
{
    struct signature many[SIGHTINGS_MAX];
    for (uint32_t i = 0; i < SIGHTINGS_MAX; i++)
        many[i] = (struct signature){ .id = text_format (&b->arena, "%060u", i),
                                      .owner = OWNER_HOST,
                                      .text = text_format (&b->arena, "failure of kind %02u", i) };
    make_table_of (b, many, SIGHTINGS_MAX);
    put_table (b, b->held[0]);
    use_command (b, "for i in 00 01 02 03 04 05 06 07 08 09 10 11 12 13 14 15; do "
                    "echo \"failure of kind $i\" $(head -c 500 /dev/zero | tr '\\0' x); done; exit 1");
    const struct result *r = run (b);
    size_t bytes = 0;
    for (uint32_t i = 0; i < r->sightings.n; i++)
        bytes += r->sightings.items[i].text.len + r->sightings.items[i].signature.len + 32;
    assert_int_equal (r->sightings.n, SIGHTINGS_MAX);
    assert_in_range (bytes, 4 * 1024, 6 * 1024);
    has (r->sightings.items[SIGHTINGS_MAX - 1].text, "failure of kind 15");
}

/* ---- stopping while it is read ---- */

TEST_ON (b, a_cancel_while_the_table_is_awaited_ends_it)
{
    make_table (b);
    b->silent = true;
    use_command (b, "echo '" HBM "'; exit 3");
    b->attempt = attempt_start (b->loop, &b->context, &b->run, clock_boot_ms ());
    b->stop_when_asked = true;
    assert_int_equal (loop_run (b->loop, NULL), 0); /* at the latest when reading took too long */
    assert_true (b->asks > 0 && !b->result);
    attempt_stop (b->attempt, false, ENDING_CANCELLED, TEXT_LIT ("enough"), clock_boot_ms ());
    struct attempt_event event;
    do
        assert_true (attempt_next (b->attempt, &event));
    while (event.kind != ATTEMPT_EVENT_ENDED);
    assert_int_equal (event.result->ending, ENDING_EXITED); /* it had ended before */
    assert_int_equal (event.result->code, 3);
    assert_int_equal (event.result->problem.len, 0);
}

/* The limit of the program is over by then, and means nothing any more. */
TEST_ON (b, a_table_that_nobody_sends_is_given_up)
{
    make_table (b);
    b->silent = true;
    b->run.rung.timeout_ms = 2000;
    use_command (b, "echo '" HBM "'; exit 3");
    uint64_t began_ms = clock_boot_ms ();
    const struct result *r = run (b);
    assert_in_range (clock_boot_ms () - began_ms, 20 * 1000, 50 * 1000);
    assert_int_equal (r->ending, ENDING_EXITED);
    assert_int_equal (r->code, 3);
    assert_int_equal (r->problem.len, 0);
    has (note_from (r, "log")->text, "was not fetched in time");
}

/* ---- the time of phases ---- */

static const struct named_number *phase_of (const struct result *result, const char *name)
{
    for (uint32_t i = 0; i < result->phases.n; i++)
        if (text_is (result->phases.items[i].name, name))
            return &result->phases.items[i];
    return NULL;
}

TEST_ON (b, phases_are_timed_and_summed)
{
    b->answer_gates = true;
    use_canary (b, "say(type='phase', name='compile')\ntime.sleep(0.3)\n"
                   "say(type='gate', name='program', mode='agree', value='x')\n"
                   "json.loads(lines.readline())\ntime.sleep(0.2)\n"
                   "say(type='phase', name='run')\ntime.sleep(0.05)\n"
                   "say(type='phase', name='compile')\ntime.sleep(0.3)\n"
                   "say(type='phase', name='run')\ndone()\n");
    const struct result *r = run (b);
    static const char *const order[] = { "files", "start", "compile", "gate:program", "run" };
    uint64_t all_ms = 0;
    assert_int_equal (r->phases.n, 5);
    for (uint32_t i = 0; i < 5; i++) {
        assert_text (r->phases.items[i].name, order[i]);
        all_ms += r->phases.items[i].value;
    }
    assert_in_range (phase_of (r, "compile")->value, 750, TIMEOUT_MS);
    assert_true (all_ms >= r->duration_ms);
}

TEST_ON (b, time_at_a_gate_is_no_time_of_the_phase)
{
    b->ripe_on = "gate";
    use_canary (b, "say(type='phase', name='wait')\n"
                   "say(type='gate', name='g', mode='share', value='')\nlines.readline()\n");
    const struct result *r = run (b);
    assert_int_equal (r->ending, ENDING_TIMEOUT);
    assert_true (phase_of (r, "gate:g")->value > phase_of (r, "wait")->value);
}

TEST_ON (b, more_phases_than_fit_are_counted_together)
{
    use_canary (b, "for i in range(100): say(type='phase', name='p%d' % i)\n"
                   "time.sleep(0.2)\ndone()\n");
    const struct result *r = run (b);
    assert_int_equal (r->phases.n, PHASES_MAX);
    assert_text (r->phases.items[PHASES_MAX - 1].name, "others");
    assert_true (phase_of (r, "others")->value >= 150);
    assert_text (r->phase, "p99");
}

TEST_ON (b, a_program_cannot_buy_more_phases_than_its_words_may_cost)
{
    use_canary (b, "for i in range(19): say(type='fact', name='f%d' % i, value='n' * 2000)\n"
                   "for i in range(20): say(type='phase', name='p' * 120 + str(i))\n"
                   "done()\n");
    const struct result *r = run (b);
    assert_int_equal (r->facts.n, 19);
    assert_in_range (r->phases.n, 4, 20); /* files, start, some, others */
    assert_true (phase_of (r, "others") != NULL);
}

/* ---- the worst that one message may have to carry ---- */

static struct text filled (struct bench *bench, uint32_t bytes)
{
    char *text = arena_alloc (&bench->arena, bytes + 1);
    memset (text, 'x', bytes);
    return (struct text){ text, bytes };
}

static const struct result *worst (struct bench *bench, struct evidence *evidence)
{
    struct statement statement;
    evidence_init (evidence, TEXT_LIT (NONCE));
    size_t left_bytes;
    do { /* until nothing more is taken */
        left_bytes = evidence->left_bytes;
        uint32_t size = left_bytes > 2300 ? 2000 : 8;
        evidence_take (evidence,
                       text_format (&bench->arena, "{\"type\":\"fact\",\"name\":\"f%zu\",\"value\":\"%.*s\"}",
                                    left_bytes, (int) size, filled (bench, size).ptr),
                       &statement);
    } while (evidence->left_bytes < left_bytes);
    return &evidence->result;
}

static void add_own_words (struct bench *b, struct result *r)
{
    r->problem = r->failure = r->cache_state = filled (b, SENTENCE_MAX_BYTES);
    r->tail = filled (b, RESULT_TAIL_MAX_BYTES);
    r->phase = filled (b, WORD_MAX_BYTES);
    r->duration_ms = r->peak_bytes = r->output_bytes = r->dropped_bytes = INT64_MAX;
    r->predicted_bytes = r->device_peak_bytes = INT64_MAX;
    r->code = 65535;
    r->strays = r->bad_lines = UINT32_MAX;
    r->bad_line = filled (b, BAD_LINE_MAX_BYTES);
    r->seal = (struct seal){ INT64_MAX, filled (b, SHA256_HEX_BYTES), UINT32_MAX, INT64_MAX };
    r->cache.storage = filled (b, ID_MAX_BYTES);
    r->cache.mount = filled (b, NAME_MAX_BYTES);
    r->cache.open_ways.items = arena_array (&b->arena, OPEN_WAYS_MAX, sizeof (struct text));
    for (r->cache.open_ways.n = 0; r->cache.open_ways.n < OPEN_WAYS_MAX; r->cache.open_ways.n++)
        r->cache.open_ways.items[r->cache.open_ways.n] = filled (b, ID_MAX_BYTES);
}

/* As attempt_cache.c and attempt_close.c bound them: 5.5 KiB of findings, six notes of 512 bytes, 6 KiB of what was
 * seen, and phases of the worker's own. */
static void add_own_lists (struct bench *b, struct result *r)
{
    static struct finding findings[FINDINGS_MAX];
    static struct sighting sightings[SIGHTINGS_MAX];
    static struct result_note notes[6];
    static struct named_number phases[9];
    static struct text shown[SHOWN_MAX];
    static struct named_number left_out[LEFT_OUT_MAX];
    for (uint32_t i = 0; i < LEFT_OUT_MAX; i++)
        left_out[i] = (struct named_number){ filled (b, 8), INT64_MAX };
    for (uint32_t i = 0; i < FINDINGS_MAX; i++)
        findings[i] = (struct finding){ FINDING_CHANGED, INT64_MAX, filled (b, 72), filled (b, 72) };
    for (uint32_t i = 0; i < 6; i++)
        notes[i] = (struct result_note){ filled (b, 512), filled (b, 8), DURABILITY_RECHECK };
    for (uint32_t i = 0; i < 9; i++)
        phases[i] = (struct named_number){ filled (b, 12), INT64_MAX };
    for (uint32_t i = 0; i < SIGHTINGS_MAX; i++)
        sightings[i] = (struct sighting){ filled (b, ID_MAX_BYTES), UINT32_MAX, INT64_MAX, filled (b, 150), true };
    for (uint32_t i = 0; i < SHOWN_MAX; i++)
        shown[i] = filled (b, 150);
    r->findings.items = findings, r->findings.n = FINDINGS_MAX;
    r->notes.items = notes, r->notes.n = 6;
    r->phases.items = phases, r->phases.n = 9;
    r->sightings.items = sightings, r->sightings.n = SIGHTINGS_MAX;
    r->shown.items = shown, r->shown.n = SHOWN_MAX;
    r->left_out.items = left_out, r->left_out.n = LEFT_OUT_MAX;
}

TEST_ON (b, the_worst_result_fits_one_message)
{
    struct evidence evidence;
    struct msg msg = { .kind = MSG_RESULT,
                       .major = PROTOCOL_MAJOR,
                       .run_id = filled (b, RUN_ID_BYTES),
                       .epoch = UINT64_MAX,
                       .session = UINT64_MAX,
                       .seq = UINT64_MAX,
                       .ack = UINT64_MAX };
    struct buf bytes;
    msg.of.result = *worst (b, &evidence);
    assert_true (evidence.left_bytes < 64);
    add_own_words (b, &msg.of.result);
    add_own_lists (b, &msg.of.result);
    msg.of.result.ending = ENDING_TIMEOUT;
    msg.of.result.owner = OWNER_SLICEUP;
    msg.of.result.cache.level = ENFORCEMENT_STORAGE;
    buf_init (&bytes, MSG_MAX_BYTES);
    wire_put_msg (&bytes, &msg);
    assert_false (bytes.overflow);
    assert_in_range (bytes.len, MSG_MAX_BYTES - 4096, MSG_MAX_BYTES); /* it is the worst, not just any */
    buf_release (&bytes);
    evidence_release (&evidence);
}

int main (int argc, char **argv)
{
    if (argc > 1 && strcmp (argv[1], "task") == 0)
        return task_main (argc - 1, argv + 1);
    if (argc > 1 && strcmp (argv[1], "confine") == 0)
        return confine_main (argc - 1, argv + 1);
    if (exec_adopt_orphans (NULL) < 0)
        return 1;
    return test_run (argc, argv);
}
