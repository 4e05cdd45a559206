/* links: verdict conf */
/* Who failed, and who only fell with it: by what each host says of itself and what the others say of it. */
#include "signature_lists.h"
#include "test.h"

#include "coordinator/verdict/blame.h"

#include "common/logs/classify.h"
#include "coordinator/verdict/failure_reading.h"
#include "coordinator/verdict/judge.h"

enum { HOSTS = 8 };

struct part {
    enum ending ending;
    uint32_t code;
    uint32_t order;
    const char *log;
};
struct slice {
    struct arena arena;
    struct plan plan;
    struct signature_set *set;
    struct part parts[HOSTS];
    struct verdict verdicts[HOSTS];
};

#define DIED                                                                                                           \
    "F1121 15:16:28.7 1 client.h:80] Terminating process because the JAX distributed service detected fatal errors.\n"
#define HEARTBEAT(N)                                                                                                   \
    DIED "INTERNAL: Barrier failed because: task is set to ERROR: UNAVAILABLE: Task " #N " heartbeat timeout. "        \
         "This indicates that the remote task has failed, got preempted, or crashed unexpectedly.\n"
#define BARRIER(ID, FIRST, NAMES)                                                                                      \
    "DEADLINE_EXCEEDED: Barrier timed out. Id: " ID ". This usually happens.\n"                                        \
    "# of tasks that reached the barrier: 7/8.\nThe first task at the barrier: " FIRST                                 \
    ". Some timed out task names:\n" NAMES "\n"
#define DISK "OSError: [Errno 28] No space left on device\n"

/* All parts say `log` and came in the order of their rank. */
static void slice_open (struct slice *slice, const char *log)
{
    memset (slice, 0, sizeof *slice);
    signature_lists_load (&slice->arena, &slice->plan);
    for (uint32_t i = 0; i < HOSTS; i++) {
        slice->plan.hosts.items[i].address = text_format (&slice->arena, "10.0.0.%u", i + 1);
        slice->parts[i] = (struct part){ ENDING_SIGNALLED, SIGABRT, i, log };
    }
    slice->set = signature_set_build (slice->plan.signatures.items, slice->plan.signatures.n);
}

static void slice_close (struct slice *slice)
{
    signature_set_free (slice->set);
    arena_release (&slice->arena);
}

TEST_FIXTURE (struct slice, TEST_NOTHING, slice_close)

static void read_part (struct slice *slice, uint32_t i, struct blame_host *host)
{
    const struct part *part = &slice->parts[i];
    struct signature_scan_result seen;
    struct failure_reading reading;
    struct result *result = arena_alloc (&slice->arena, sizeof *result);
    classify_text (slice->set, text_of (part->log), &slice->arena, &seen);
    *result = (struct result){ .ending = part->ending,
                               .tail = text_of (part->log),
                               .code = part->code,
                               .done = true,
                               .phase = TEXT_LIT ("run"),
                               .sightings = { seen.sightings, seen.sightings_n },
                               .shown = { seen.shown, seen.shown_n } };
    struct judge_case of = { .plan = &slice->plan,
                             .rung = &slice->plan.rungs.items[0],
                             .host = i,
                             .world = HOSTS,
                             .result = result,
                             .signatures = slice->set };
    judge_result (&of, &slice->arena, &slice->verdicts[i]);
    failure_read_result (&slice->plan, slice->set, result, &slice->arena, &reading);
    *host = (struct blame_host){ .verdict = &slice->verdicts[i],
                                 .ending = part->ending,
                                 .code = part->code,
                                 .order = part->order,
                                 .peers = reading.peers };
}

static void blame (struct slice *slice)
{
    struct blame_host hosts[HOSTS];
    for (uint32_t i = 0; i < HOSTS; i++)
        read_part (slice, i, &hosts[i]);
    blame_slice (&slice->plan, hosts, HOSTS, &slice->arena);
}

static void expect_only (struct slice *slice, uint32_t initiator)
{
    blame (slice);
    for (uint32_t i = 0; i < HOSTS; i++)
        if ((slice->verdicts[i].outcome == OUTCOME_CASCADE) == (i == initiator))
            fail_msg ("rank %u: %s (%.*s), the initiator is %u", i,
                      enum_name_of (&outcome_names, slice->verdicts[i].outcome), TEXT_ARG (slice->verdicts[i].cause),
                      initiator);
    uint32_t other = initiator == 0;
    char sentence[64];
    snprintf (sentence, sizeof sentence, "aborted because h%u failed", initiator);
    assert_text (slice->verdicts[other].cause, sentence);
    assert_false (slice->verdicts[other].transient);
}

/* They fell together: each keeps what it says, and only who was stopped fell because of them. */
static void expect_nobody (struct slice *slice)
{
    blame (slice);
    for (uint32_t i = 0; i < HOSTS; i++)
        if ((slice->verdicts[i].outcome == OUTCOME_CASCADE) != (slice->parts[i].ending == ENDING_CANCELLED))
            fail_msg ("rank %u: %s (%.*s)", i, enum_name_of (&outcome_names, slice->verdicts[i].outcome),
                      TEXT_ARG (slice->verdicts[i].cause));
}

TEST (an_equal_failure_of_all_is_blamed_on_nobody)
{
    struct slice slice;
    static const struct part equal[] = { { ENDING_EXITED, 2, 0, "usage: train CONFIG\n" },
                                         { ENDING_EXITED, 1, 0, "" },
                                         { ENDING_SIGNALLED, SIGSEGV, 0, "" },
                                         { ENDING_EXITED, 1, 0, "step 3\n" DIED },
                                         { ENDING_EXITED, 2, 0, "error: cannot use coordinator 10.0.0.1:8476\n" } };
    for (size_t k = 0; k < sizeof equal / sizeof equal[0]; k++) {
        slice_open (&slice, "");
        for (uint32_t i = 0; i < HOSTS; i++) {
            slice.parts[i] = equal[k];
            slice.parts[i].order = HOSTS - i;
        }
        expect_nobody (&slice);
        assert_text (slice.verdicts[0].cause, slice.verdicts[7].cause);
        slice_close (&slice);
    }
}

TEST_ON (slice, numbers_of_a_rank_do_not_part_an_equal_failure)
{
    static const char *const logs[] = { "Fatal: rank 0 (pid 17) lost 10.0.0.1:84\n",
                                        "Fatal: rank 1 (pid 4711) lost 10.0.0.2:8476\n" };
    slice_open (slice, "");
    for (uint32_t i = 0; i < HOSTS; i++)
        slice->parts[i] = (struct part){ ENDING_EXITED, 1, i, logs[i % 2] };
    expect_nobody (slice);
}

TEST_ON (slice, who_was_stopped_follows_all_who_failed_alike)
{
    slice_open (slice, "");
    for (uint32_t i = 0; i < HOSTS; i++)
        slice->parts[i] = (struct part){ ENDING_EXITED, 2, i, "usage: train CONFIG\n" };
    slice->parts[7] = (struct part){ ENDING_CANCELLED, 0, 7, "step 1\n" };
    expect_nobody (slice);
    assert_text (slice->verdicts[7].cause, "aborted because h[0-6] failed");
}

/* Each complains in other words, and none of itself: which came first says nothing. */
TEST_ON (slice, complaints_that_differ_blame_nobody)
{
    slice_open (slice, DIED);
    slice->parts[0].log = "RuntimeError: Gloo connectFullMesh failed: Connection closed by peer\n";
    slice->parts[0].order = 9;
    expect_nobody (slice);
}

/* Another status, signal or text is not the same failure: the first is the cause, as before. */
TEST (another_end_is_no_equal_failure)
{
    struct slice slice;
    static const struct part other[] = { { ENDING_EXITED, 1, 0, "usage: train CONFIG\n" },
                                         { ENDING_SIGNALLED, SIGSEGV, 0, "usage: train CONFIG\n" },
                                         { ENDING_EXITED, 2, 0, "something else\n" } };
    for (size_t k = 0; k < sizeof other / sizeof other[0]; k++) {
        slice_open (&slice, "");
        for (uint32_t i = 0; i < HOSTS; i++)
            slice.parts[i] = (struct part){ ENDING_EXITED, 2, i + 1, "usage: train CONFIG\n" };
        slice.parts[5] = other[k];
        slice.parts[5].order = 0;
        expect_only (&slice, 5);
        slice_close (&slice);
    }
}

/* It hangs, and all others say so each in its way: it is not aborted because of them. */
TEST_ON (slice, who_alone_does_not_end_while_all_others_complain_is_the_cause)
{
    slice_open (slice, DIED);
    slice->parts[3] = (struct part){ ENDING_CANCELLED, 0, 9, "step 11\n" };
    slice->parts[5].log = HEARTBEAT (6);
    expect_only (slice, 3);
    assert_int_equal (slice->verdicts[3].owner, OWNER_UNKNOWN);
    assert_int_equal (slice->verdicts[3].outcome, OUTCOME_FAILED);
    assert_has (slice->verdicts[3].cause, "this one did not end by itself");
    slice->plan.climb.fail_fast = true; /* then it had no time to */
    expect_nobody (slice);
}

/* Most were only slower to notice. */
TEST_ON (slice, who_is_stopped_with_most_others_is_not_the_cause)
{
    slice_open (slice, DIED);
    for (uint32_t i = 2; i < HOSTS; i++)
        slice->parts[i] = (struct part){ ENDING_CANCELLED, 0, i, "step 11\n" };
    expect_nobody (slice);
}

/* In the program's own words. */
TEST_ON (slice, a_hang_that_the_others_name_by_rank_is_the_cause)
{
    slice_open (slice, "BarrierError: waited 10 s for rank 3 at step 0\n");
    for (uint32_t i = 0; i < HOSTS; i++)
        slice->parts[i].ending = ENDING_EXITED, slice->parts[i].code = 1;
    slice->parts[3] = (struct part){ ENDING_CANCELLED, 0, 9, "step 0\n" };
    expect_only (slice, 3);
    assert_has (slice->verdicts[3].cause, "the other hosts name this one");
}

#define VFIO                                                                                                           \
    "E0429 10:11:12.345678    412 tpu_init.cc:88] TPU initialization failed: open(/dev/vfio/0): Device or resource "   \
    "busy: Device or resource busy; Couldn't open iommu group /dev/vfio/0\n"
/* From a post-mortem of a v5p-64: the chip's error on one host, which hung, and the others died of it. */
TEST_ON (slice, who_printed_the_cause_and_hung_is_the_cause)
{
    slice_open (slice, DIED);
    slice->parts[1] = (struct part){ ENDING_CANCELLED, 0, 9, VFIO };
    expect_only (slice, 1);
    assert_int_equal (slice->verdicts[1].outcome, OUTCOME_FAILED);
    assert_text (slice->verdicts[1].signature, "vfio-busy");
    assert_has (slice->verdicts[1].evidence, "iommu group");
}

/* It went on after that error, or only complains, or merely looks like an error of its program: it was stopped. */
TEST (who_was_stopped_without_an_error_of_its_host_follows)
{
    struct slice slice;
    static const char *const logs[] = { VFIO "step 1\nstep 2\nstep 3\n", HEARTBEAT (0),
                                        "ZeroDivisionError: division by zero\n" };
    for (size_t k = 0; k < sizeof logs / sizeof logs[0]; k++) {
        slice_open (&slice, DIED);
        slice.parts[4] = (struct part){ ENDING_EXITED, 1, 0, "exit\n" };
        slice.parts[1] = (struct part){ ENDING_CANCELLED, 0, 9, logs[k] };
        expect_only (&slice, 4);
        slice_close (&slice);
    }
}

/* A preemption, a shutdown, scancel: nobody here cancelled it. */
TEST_ON (slice, who_was_ended_from_outside_is_the_platforms)
{
    slice_open (slice, DIED);
    slice->parts[2] = (struct part){ ENDING_TERMINATED, 0, 9, "step 1\n" };
    expect_only (slice, 2);
    assert_int_equal (slice->verdicts[2].outcome, OUTCOME_LOST);
    assert_int_equal (slice->verdicts[2].owner, OWNER_PLATFORM);
    assert_true (slice->verdicts[2].next.len > 0);
}

/* Nobody stopped it before: it waited for what never came. */
TEST_ON (slice, who_ran_to_its_own_limit_was_not_aborted)
{
    slice_open (slice, DIED);
    slice->parts[5] = (struct part){ ENDING_EXITED, 1, 0, DISK };
    slice->parts[2] = (struct part){ ENDING_TIMEOUT, SIGKILL, 9, "step 3\n" };
    expect_only (slice, 5);
    assert_text (slice->verdicts[2].cause, BLAME_AT_LIMIT " because h5 failed");
}

TEST_ON (slice, one_aborts_and_seven_follow)
{
    slice_open (slice, HEARTBEAT (3));
    slice->parts[3] = (struct part){ ENDING_EXITED, 1, 0, DISK DIED };
    slice->parts[0].order = 3;
    expect_only (slice, 3);
    assert_text (slice->verdicts[3].signature, "disk-full");
    assert_has (slice->verdicts[3].evidence, "Errno 28");
    assert_int_equal (slice->verdicts[3].owner, OWNER_HOST);
}

TEST_ON (slice, the_last_to_report_is_the_cause_when_it_alone_confesses)
{
    slice_open (slice, DIED);
    slice->parts[5] = (struct part){ ENDING_EXITED, 1, 9, DIED DISK };
    expect_only (slice, 5);
}

TEST_ON (slice, an_unknown_failure_that_the_others_name_is_the_cause)
{
    slice_open (slice, HEARTBEAT (6));
    slice->parts[6] = (struct part){ ENDING_EXITED, 1, 9, "ZeroDivisionError: division by zero\n" DIED };
    expect_only (slice, 6);
    assert_true (slice->verdicts[6].owner == OWNER_PROGRAM && slice->verdicts[6].likely);
    assert_has (slice->verdicts[6].evidence, "ZeroDivisionError");
}

TEST_ON (slice, one_that_was_stopped_and_is_named_by_several_is_the_cause)
{
    slice_open (slice, BARRIER ("step_12::0", "0", "2"));
    slice->parts[2] = (struct part){ ENDING_CANCELLED, 0, 9, "step 11\n" };
    expect_only (slice, 2);
    assert_int_equal (slice->verdicts[2].owner, OWNER_UNKNOWN);
    assert_has (slice->verdicts[2].cause, "the other hosts name this one");
    assert_true (slice->verdicts[2].next.len > 0);
}

TEST_ON (slice, addresses_name_hosts_too)
{
    slice_open (
        slice,
        "ValueError: UNKNOWN: Gloo all-reduce failed: [gloo/transport/tcp/pair.cc:547] Connection closed by peer "
        "[10.0.0.5]:11178\n");
    slice->parts[4] = (struct part){ ENDING_SIGNALLED, SIGSEGV, 9, "" };
    expect_only (slice, 4);
}

TEST_ON (slice, who_confesses_is_not_outvoted)
{
    slice_open (slice, HEARTBEAT (6));
    slice->parts[1] = (struct part){ ENDING_EXITED, 1, 9, DISK };
    expect_only (slice, 1);
}

TEST_ON (slice, one_reporter_is_not_enough)
{
    slice_open (slice, DIED);
    slice->parts[0].log = HEARTBEAT (6);
    slice->parts[0].order = 5;
    slice->parts[4].order = 0;
    expect_nobody (slice); /* nobody has a cause of its own */
    assert_true (text_starts (slice->verdicts[4].next, "see what each host did before it complained"));
}

/* Two name the third, which says of itself why it fell, later and in words that nobody knows. */
TEST_ON (slice, who_is_named_by_others_in_other_words_than_its_own_is_the_cause)
{
    slice_open (slice, "");
    for (uint32_t i = 0; i < HOSTS; i++)
        slice->parts[i] = (struct part){ ENDING_EXITED, 1, i, "error: peer h2 vanished\n" };
    slice->parts[2] = (struct part){ ENDING_EXITED, 1, 9, "error: h2: the cooling pump stopped\n" };
    expect_only (slice, 2);
}

/* A connection breaks where the other end was, and that one had ended before. */
TEST_ON (slice, a_connection_that_broke_is_an_echo_of_who_ended_before)
{
    slice_open (slice, "Traceback (most recent call last):\n  File \"/home/me/train.py\", line 9, in <module>\n"
                       "    meet ()\nConnectionError: the coordinator closed the barrier\n");
    slice->parts[3] = (struct part){ ENDING_EXITED, 1, 0, "error: rank three lost its hat\n" };
    for (uint32_t i = 0; i < HOSTS; i++)
        slice->parts[i].order = i == 3 ? 0 : i + 1;
    expect_only (slice, 3);
    slice->parts[0].order = 0; /* but not who broke first, even beside a host with a known cause of its own */
    slice->parts[3] = (struct part){ ENDING_EXITED, 1, 9, DISK };
    blame (slice);
    assert_int_equal (slice->verdicts[0].outcome, OUTCOME_FAILED);
}

/* Everywhere the metadata server was slow; one host fell, in words that nobody knows; the others are silent about it.
 */
TEST_ON (slice, what_working_programs_print_is_no_confession)
{
    slice_open (slice, "Failed to get TPU metadata (tpu-env): INTERNAL: Couldn't connect to server\n");
    slice->parts[0].order = 6;
    slice->parts[6] = (struct part){ ENDING_EXITED, 1, 0, "ZeroDivisionError: division by zero\n" };
    expect_only (slice, 6);
    assert_true (slice->verdicts[6].owner == OWNER_PROGRAM && slice->verdicts[6].likely);
}

TEST_ON (slice, a_line_for_itself_does_not_count)
{
    slice_open (slice, DIED);
    slice->parts[0] = (struct part){ ENDING_SIGNALLED, SIGABRT, 5, HEARTBEAT (6) };
    slice->parts[6] = (struct part){ ENDING_SIGNALLED, SIGABRT, 7, HEARTBEAT (6) };
    slice->parts[4].order = 0;
    expect_nobody (slice);
}

/* Who was killed may have been killed by whoever ended the job. */
TEST_ON (slice, a_kill_gives_way_to_a_known_cause)
{
    struct blame_host hosts[HOSTS];
    slice_open (slice, DIED);
    slice->parts[2] = (struct part){ ENDING_SIGNALLED, SIGKILL, 0, "step 1\n" };
    slice->parts[5] = (struct part){ ENDING_EXITED, 1, 9, DISK };
    for (uint32_t i = 0; i < HOSTS; i++)
        read_part (slice, i, &hosts[i]);
    hosts[2].killed = true;
    blame_slice (&slice->plan, hosts, HOSTS, &slice->arena);
    assert_text (slice->verdicts[0].cause, "aborted because h5 failed");
}

/* It was done when the others lost it. */
TEST_ON (slice, who_passed_is_not_accused_by_the_others)
{
    slice_open (slice, HEARTBEAT (6));
    slice->parts[6] = (struct part){ ENDING_EXITED, 0, 0, "" };
    blame (slice);
    assert_int_equal (slice->verdicts[6].outcome, OUTCOME_PASSED);
    assert_int_equal (slice->verdicts[6].cause.len, 0);
    assert_int_equal (slice->verdicts[1].outcome, OUTCOME_FAILED);
}

TEST_ON (slice, who_is_accused_does_not_pass_by_itself)
{
    slice_open (slice, "waited too long for some tasks to show up. " BARRIER ("register", "0", "3"));
    slice->parts[3].log = "waited too long for some tasks to show up. ";
    expect_only (slice, 3);
    assert_false (slice->verdicts[3].transient);
}

TEST_ON (slice, of_two_the_one_that_is_left_is_believed)
{
    struct blame_host hosts[2];
    slice_open (slice, HEARTBEAT (1));
    slice->parts[1] = (struct part){ ENDING_CANCELLED, 0, 9, "step 11\n" };
    read_part (slice, 0, &hosts[0]);
    read_part (slice, 1, &hosts[1]);
    blame_slice (&slice->plan, hosts, 2, &slice->arena);
    assert_int_equal (slice->verdicts[0].outcome, OUTCOME_CASCADE);
    assert_text (slice->verdicts[0].cause, "aborted because h1 failed");
    assert_int_not_equal (slice->verdicts[1].outcome, OUTCOME_CASCADE);
}

TEST_ON (slice, who_is_late_for_a_shutdown_is_not_to_blame)
{
    slice_open (slice, DIED BARRIER ("Shutdown::113::0", "1", "2"));
    slice->parts[1] = (struct part){
        ENDING_EXITED, 1, 9, "ZeroDivisionError: division by zero\n" DIED BARRIER ("Shutdown::113::0", "1", "2")
    };
    expect_only (slice, 1);
}

TEST_ON (slice, many_named_alike_name_nobody)
{
    slice_open (slice, BARRIER ("step_12::0", "0", "4\n5\n6\n7"));
    expect_nobody (slice);
}

/* ---- what a text names ---- */

static void expect_named (struct slice *slice, const char *text, const char *expected)
{
    bool named[HOSTS] = { false };
    char got[2 * HOSTS + 1] = "";
    uint32_t hosts[HOSTS];
    for (uint32_t i = 0; i < HOSTS; i++)
        hosts[i] = i;
    host_mentions_find (host_mentions_make_index (&slice->plan, hosts, HOSTS, &slice->arena), text_of (text), named);
    for (uint32_t i = 0; i < HOSTS; i++)
        if (named[i])
            snprintf (got + strlen (got), sizeof got - strlen (got), "%u", i);
    if (strcmp (got, expected) != 0)
        fail_msg ("'%s' names '%s', expected '%s'", text, got, expected);
}

TEST_ON (slice, texts_name_tasks_addresses_and_hosts)
{
    slice_open (slice, "");
    expect_named (slice, "/job:jax_worker/replica:0/task:3 heartbeat timeout.", "3");
    expect_named (slice, "Timed out task names: /job:jax_worker/replica:0/task:1 /job:jax_worker/replica:0/task:7",
                  "17");
    expect_named (slice,
                  "The first task at the barrier: /job:jax_worker/replica:0/task:0. Some timed out task names: "
                  "/job:jax_worker/replica:0/task:6",
                  "6");
    expect_named (slice, "unhealthy (stopped sending heartbeats): 1 2\n3 is not in the list", "12");
    expect_named (
        slice, "Barrier timed out. Id: Shutdown::1::0. Some timed out task names: /job:jax_worker/replica:0/task:2 3",
        "");
    expect_named (slice, "Task 5 heartbeat timeout; Task 6 is fine; 7", "5");
    expect_named (slice, "/task:8 /task:99999999999999999999 /task: /task:x", "");
    expect_named (slice, "closed by peer [10.0.0.2]:8476, and 10.0.0.3:99, and 10.0.0.4.", "123");
    expect_named (slice, "110.0.0.2 10.0.0.22 10.0.0", "");
    expect_named (slice, "h1: lost h7, h70 and xh2", "17");
    expect_named (slice, "", "");
    slice->plan.hosts.items[1].address = slice->plan.hosts.items[2].address;
    expect_named (slice, "closed by peer [10.0.0.3]:8476", ""); /* whose is it? */
}

/* ---- what a result says of itself ---- */

static void expect_reading (struct slice *slice, enum owner said, const char *failure, const char *tail, const char *id,
                            enum owner owner, bool transient)
{
    struct result result = { .ending = ENDING_EXITED,
                             .code = 1,
                             .owner = said,
                             .failure = text_of (failure),
                             .tail = text_of (tail),
                             .phase = TEXT_LIT ("run") };
    struct judge_case of = {
        .plan = &slice->plan, .rung = &slice->plan.rungs.items[0], .result = &result, .world = HOSTS
    };
    struct verdict verdict;
    of.rung = &(struct rung){ .id = TEXT_LIT ("x"), .kind = PROGRAM_CANARY, .timeout_ms = 1000 };
    judge_result (&of, &slice->arena, &verdict);
    if (!text_is (verdict.signature, id) || verdict.owner != owner || verdict.transient != transient)
        fail_msg ("'%s', '%s': %.*s, %s%s", failure, tail, TEXT_ARG (verdict.signature),
                  enum_name_of (&owner_names, verdict.owner), verdict.transient ? ", passes" : "");
}

TEST_ON (slice, known_text_goes_before_what_the_program_says_of_its_owner)
{
    const char *busy = "open(/dev/vfio/0): Device or resource busy";
    slice_open (slice, "");
    expect_reading (slice, OWNER_PROGRAM, busy, "", "vfio-busy", OWNER_DEVICE, true);
    expect_reading (slice, OWNER_NONE, "", "OSError: [Errno 27] File too large", "file-size", OWNER_HOST, false);
    expect_reading (slice, OWNER_NONE, "", "write failed: File too large", "file-size", OWNER_HOST, false);
    expect_reading (slice, OWNER_PROGRAM, "it failed", busy, "vfio-busy", OWNER_DEVICE, true);
    expect_reading (slice, OWNER_PROGRAM, "no go", busy, "vfio-busy", OWNER_DEVICE, true);
    expect_reading (slice, OWNER_PROGRAM, "ValueError: no go", busy, "vfio-busy", OWNER_DEVICE, false);
    expect_reading (slice, OWNER_PROGRAM, busy, DISK, "vfio-busy", OWNER_DEVICE, false);
    expect_reading (slice, OWNER_PROGRAM, busy, "ValueError: of a new kind", "vfio-busy", OWNER_DEVICE, false);
    expect_reading (slice, OWNER_PROGRAM, DISK, busy, "disk-full", OWNER_HOST, false);
    expect_reading (slice, OWNER_DEVICE, "it failed", DIED, "", OWNER_DEVICE, false);
    expect_reading (slice, OWNER_NONE, "it failed", DIED, "peer-died", OWNER_PEER, false);
    expect_reading (slice, OWNER_DEVICE, DIED, "", "peer-died", OWNER_PEER, false);
    expect_reading (slice, OWNER_NONE, "it failed", "of a new kind", "", OWNER_UNKNOWN, false);
}

static bool passes (struct slice *slice, const struct result *result)
{
    struct verdict verdict;
    struct rung rung = { .id = TEXT_LIT ("x"), .kind = PROGRAM_CANARY, .timeout_ms = 1000 };
    struct judge_case of = {
        .plan = &slice->plan, .rung = &rung, .result = result, .world = 1, .signatures = slice->set
    };
    judge_result (&of, &slice->arena, &verdict);
    return verdict.transient;
}

TEST_ON (slice, nothing_is_transient_once_a_program_computed)
{
    struct result result = { .ending = ENDING_EXITED,
                             .code = 1,
                             .failure = TEXT_LIT ("open(/dev/vfio/0): Device or resource busy") };
    struct named_number executions = { .name = TEXT_LIT ("executions"), .value = 0 };
    struct value_check check = { .name = TEXT_LIT ("sum") };
    struct metric metric = { .name = TEXT_LIT ("devices") };
    slice_open (slice, "");
    result.counters.items = &executions;
    result.counters.n = 1;
    assert_true (passes (slice, &result));
    executions.value = 1;
    assert_false (passes (slice, &result));
    executions.value = 0;
    result.checks.items = &check;
    result.checks.n = 1;
    assert_false (passes (slice, &result));
    result.checks.n = 0;
    result.metrics.items = &metric;
    result.metrics.n = 1;
    assert_false (passes (slice, &result));
    result.metrics.n = 0;
    result.ending = ENDING_SIGNALLED;
    result.code = SIGABRT;
    assert_true (passes (slice, &result));
    result.code = SIGKILL;
    assert_false (passes (slice, &result));
    result.code = SIGSEGV;
    assert_false (passes (slice, &result));
}

/* The bound is that of a verdict: hosts say as much as they like. */
TEST_ON (slice, evidence_is_bounded_and_names_are_not_cut_off)
{
    struct failure_reading reading;
    struct result result = { .ending = ENDING_EXITED, .code = 1 };
    struct sighting sightings[SIGHTINGS_MAX];
    char line[SHOWN_LINE_BYTES + 1];
    slice_open (slice, "");
    memset (line, 'x', SHOWN_LINE_BYTES);
    line[SHOWN_LINE_BYTES] = '\0';
    for (uint32_t i = 0; i < SIGHTINGS_MAX; i++)
        sightings[i] =
            (struct sighting){ .signature = TEXT_LIT ("peer-died"), .line = i, .offset = i, .text = text_of (line) };
    sightings[SIGHTINGS_MAX - 1].text = TEXT_LIT ("Task 3 heartbeat timeout.");
    result.sightings.items = sightings;
    result.sightings.n = SIGHTINGS_MAX;
    failure_read_result (&slice->plan, slice->set, &result, &slice->arena, &reading);
    assert_has (reading.peers, "Task 3");
    struct text shown[SHOWN_MAX];
    for (uint32_t i = 0; i < SHOWN_MAX; i++)
        shown[i] = text_of (line);
    result.sightings.n = 0;
    result.shown.items = shown;
    result.shown.n = SHOWN_MAX;
    failure_read_result (&slice->plan, slice->set, &result, &slice->arena, &reading);
    assert_true (reading.evidence.len > SHOWN_LINE_BYTES && reading.evidence.len <= 1024);
}

TEST (a_hang_keeps_what_it_printed)
{
    struct slice slice;
    slice_open (&slice, DIED);
    slice.parts[4] = (struct part){ ENDING_TIMEOUT, 0, 9, "open(/dev/vfio/0): Device or resource busy\n" };
    expect_only (&slice, 4);
    assert_int_equal (slice.verdicts[4].outcome, OUTCOME_TIMED_OUT);
    assert_text (slice.verdicts[4].signature, "vfio-busy");
    assert_false (slice.verdicts[4].transient);
    slice_close (&slice);
    slice_open (&slice, DIED);
    slice.parts[4] = (struct part){ ENDING_TIMEOUT, 0, 9, "Failed to get TPU metadata\n" };
    expect_only (&slice, 4);
    assert_int_equal (slice.verdicts[4].signature.len, 0);
    assert_int_equal (slice.verdicts[4].owner, OWNER_UNKNOWN);
    slice_close (&slice);
}

/* But for the probe, which repeats what somebody else's library said. */
TEST_ON (slice, our_own_programs_are_believed)
{
    struct verdict verdict;
    struct result result = { .ending = ENDING_EXITED, .code = 1, .owner = OWNER_CACHE, .failure = TEXT_LIT (DISK) };
    struct rung rung = {
        .id = TEXT_LIT ("x"), .kind = PROGRAM_BUILTIN, .builtin = TEXT_LIT ("cache"), .timeout_ms = 1000
    };
    slice_open (slice, "");
    struct judge_case of = {
        .plan = &slice->plan, .rung = &rung, .result = &result, .world = 1, .signatures = slice->set
    };
    judge_result (&of, &slice->arena, &verdict);
    assert_true (verdict.owner == OWNER_CACHE && verdict.signature.len == 0);
    rung.builtin = TEXT_LIT ("probe");
    judge_result (&of, &slice->arena, &verdict);
    assert_true (verdict.owner == OWNER_HOST && text_is (verdict.signature, "disk-full"));
}

TEST_ON (slice, noise_is_quoted_with_what_else_there_was)
{
    struct failure_reading reading;
    struct result result = { .ending = ENDING_EXITED, .code = 1 };
    slice_open (slice, "");
    result.tail = TEXT_LIT ("Failed to get TPU metadata\nthe shard failed\n");
    failure_read_result (&slice->plan, slice->set, &result, &slice->arena, &reading);
    assert_int_equal (reading.of.weight, CAUSE_NOISE);
    assert_text (reading.evidence, "Failed to get TPU metadata\nthe shard failed");
}

TEST_ON (slice, the_evidence_is_the_line_of_the_exception)
{
    slice_open (slice, HEARTBEAT (1));
    slice->parts[1] = (struct part){ ENDING_EXITED, 1, 0, "step 1\nValueError: of a new kind\n" };
    expect_only (slice, 1);
    assert_text (slice->verdicts[1].evidence, "ValueError: of a new kind");
    assert_true (text_is (slice->verdicts[1].signature, "program-type") && slice->verdicts[1].likely);
}
