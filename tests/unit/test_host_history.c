/* links: story */
/* What a run says of its hosts, and who is suspect after many. */
#include <stdlib.h>

#include "coordinator/story/host_history.h"
#include "test.h"

enum { HOSTS = 4, RUNGS = 2 };

static struct arena arena;
static struct text names[HOSTS] = { TEXT_LIT ("h0"), TEXT_LIT ("h1"), TEXT_LIT ("h2"), TEXT_LIT ("h3") };
static struct text rungs[RUNGS] = { TEXT_LIT ("facts"), TEXT_LIT ("mesh") };

struct stand {
    enum outcome outcome;
    enum owner owner;
};

/* Each passed the first rung, and stands at the second as told; NONE: it was not reached. */
static struct run_hosts fared (const struct stand *stands, uint32_t hosts, bool blocked_at_first)
{
    static struct run_header header;
    struct slice_receipt receipt = { .headers = { &header, 1 } };
    struct run_hosts out;
    header = (struct run_header){ .run = TEXT_LIT ("r"), .slice = TEXT_LIT ("s"), .ended_wall_ms = 5000 };
    header.rungs.items = rungs;
    header.rungs.n = RUNGS;
    receipt.hosts.items = arena_array (&arena, hosts, sizeof *receipt.hosts.items);
    receipt.hosts.n = hosts;
    for (uint32_t i = 0; i < hosts; i++) {
        struct rung_receipt *items = arena_array (&arena, RUNGS, sizeof *items),
                            **held = arena_array (&arena, RUNGS, sizeof *held);
        items[0] =
            (struct rung_receipt){ .rung = rungs[0], .pass = PASS_ONCE, .attempt = 1, .outcome = OUTCOME_PASSED };
        items[1] = (struct rung_receipt){ .rung = rungs[1], .pass = PASS_ONCE, .attempt = 1 };
        items[1].outcome = stands[i].outcome;
        items[1].cause = (struct cause){ .owner = stands[i].owner,
                                         .text = TEXT_LIT ("exited with status 3"),
                                         .evidence = TEXT_LIT ("started\nRuntimeError: chip 2 is gone\n") };
        receipt.hosts.items[i].host = names[i];
        for (uint32_t k = 0; k < RUNGS; k++)
            held[k] = blocked_at_first ? &items[1] : &items[k];
        receipt.hosts.items[i].rungs.items = held;
        receipt.hosts.items[i].rungs.n = blocked_at_first ? 1 : stands[i].outcome ? 2 : 1;
    }
    host_history_of_run (&receipt, &arena, &out);
    return out;
}

static const char *failed_names (const struct run_hosts *hosts)
{
    struct buf out = { .max = 256 };
    for (uint32_t i = 0; i < hosts->failed.n; i++)
        buf_printf (&out, "%s%.*s", i ? "," : "", TEXT_ARG (hosts->failed.items[i].host));
    return buf_finish (&out, &arena).ptr;
}

#define FARED(...) fared ((const struct stand[HOSTS]){ __VA_ARGS__ }, HOSTS, false)

TEST (a_cascade_is_no_failure_of_its_host)
{
    struct run_hosts hosts = FARED ({ OUTCOME_PASSED, 0 }, { OUTCOME_FAILED, OWNER_PROGRAM },
                                    { OUTCOME_CASCADE, OWNER_PEER }, { OUTCOME_CANCELLED, OWNER_SLICEUP });
    assert_text (hosts.passed, "h0");
    assert_text (failed_names (&hosts), "h1");
    assert_text (hosts.failed.items[0].rung, "mesh");
    assert_text (hosts.failed.items[0].cause, "RuntimeError: chip 2 is gone; exited with status 3");
}

TEST (what_all_hosts_fail_for_is_no_hosts_fault_unless_it_is_of_the_machines)
{
    const struct stand program = { OUTCOME_FAILED, OWNER_PROGRAM }, device = { OUTCOME_TIMED_OUT, OWNER_DEVICE };
    struct run_hosts hosts = FARED (program, program, program, program);
    assert_text (failed_names (&hosts), "");
    hosts = FARED (program, program, device, program);
    assert_text (failed_names (&hosts), "h2");
    hosts = FARED (program, program, program, { OUTCOME_PASSED, 0 });
    assert_text (failed_names (&hosts), "h0,h1,h2");
}

TEST (whoever_was_told_to_end_did_not_fail_and_who_did_not_finish_did_not_pass)
{
    const struct stand ended = { OUTCOME_LOST, OWNER_PLATFORM };
    struct run_hosts hosts = FARED (ended, ended, { OUTCOME_LOST, OWNER_HOST }, { OUTCOME_NONE, 0 });
    assert_text (failed_names (&hosts), "h2");
    assert_text (hosts.passed, "");
    assert_int_equal (hosts.rungs.n, RUNGS);
}

TEST (a_program_that_nobody_passed_marks_no_host)
{
    struct run_hosts hosts = FARED ({ OUTCOME_FAILED, OWNER_PROGRAM }, { OUTCOME_CASCADE, OWNER_PEER },
                                    { OUTCOME_CASCADE, OWNER_PEER }, { OUTCOME_CASCADE, OWNER_PEER });
    assert_text (failed_names (&hosts), "");
    assert_text (hosts.passed, "");
}

TEST (a_blocked_host_counts_where_it_passed_nothing)
{
    const struct stand stands[HOSTS] = {
        { OUTCOME_BLOCKED, OWNER_LAUNCH }, { OUTCOME_PASSED, 0 }, { OUTCOME_PASSED, 0 }, { OUTCOME_PASSED, 0 }
    };
    struct run_hosts late = fared (stands, HOSTS, false), first = fared (stands, HOSTS, true);
    assert_text (failed_names (&late), "");
    assert_text (failed_names (&first), "h0");
}

/* ---- over many ---- */

/* A letter a run, the newest first: p passed, q passed a ladder without the rung, f failed, '-' says nothing of it. */
static struct host_history of_those (const char *runs, bool failed_only)
{
    static struct host_failure failure = { .host = TEXT_LIT ("h7"),
                                           .rung = TEXT_LIT ("mesh"),
                                           .cause = TEXT_LIT ("why") };
    struct run_hosts *items = arena_array (&arena, 32, sizeof *items);
    struct run_hosts_list list = { items, 0 };
    struct host_history_list out;
    for (const char *at = runs; *at; at++, list.n++) {
        items[list.n].ended_wall_ms = 1000 * (100 - list.n);
        items[list.n].run = text_format (&arena, "run %u", list.n);
        items[list.n].passed = *at == 'p' || *at == 'q' ? TEXT_LIT ("h[6-8]") : TEXT_LIT ("h6");
        items[list.n].rungs = (text_list){ rungs, *at == 'q' ? 1 : RUNGS };
        items[list.n].failed.items = &failure;
        items[list.n].failed.n = *at == 'f';
    }
    host_history_fold (&list, failed_only, &arena, &out);
    for (uint32_t i = 0; i < out.n; i++)
        if (text_is (out.items[i].host, "h7"))
            return out.items[i];
    return (struct host_history){ 0 };
}

static struct host_history of (const char *runs)
{
    struct host_history all = of_those (runs, false), failed = of_those (runs, true);
    assert_int_equal (failed.suspect, all.suspect);
    return all;
}

TEST (a_host_is_suspect_by_its_last_run_or_by_two_of_five)
{
    static const struct {
        const char *runs;
        bool suspect;
    } cases[] = { { "p", false },      { "f", true },       { "pf", false },    { "-f", true }, { "pff", true },
                  { "ppppff", false }, { "pfpppf", false }, { "pfppf", true },  { "-", false }, { "p-f-f", true },
                  { "qf", true },      { "qpf", false },    { "qqpqf", false }, { "qq", false } };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (of (cases[i].runs).suspect != cases[i].suspect)
            fail_msg ("%s: expected %s", cases[i].runs, cases[i].suspect ? "suspect" : "not");
}

TEST (counts_and_moments_are_of_the_runs_that_speak_of_it)
{
    struct host_history history = of ("-ff-pf");
    assert_int_equal (history.runs, 4);
    assert_int_equal (history.failures, 3);
    assert_int_equal (history.last_ms, 99000);
    assert_int_equal (history.since_ms, 98000);
    assert_text (history.last_run, "run 1");
    assert_int_equal (of ("pf").since_ms, 0);
}

TEST (suspects_are_a_host_set)
{
    struct host_history items[] = { { .host = names[0], .suspect = true },
                                    { .host = names[1] },
                                    { .host = names[2], .suspect = true },
                                    { .host = names[3], .suspect = true } };
    LOCAL_BUF out = { .max = 64 };
    host_history_print_suspects (&(struct host_history_list){ items, 4 }, &out);
    assert_text (buf_as_text (&out), "h[0,2-3]");
}

static int release (void **state)
{
    (void) state;
    arena_release (&arena);
    return 0;
}

TEST_GROUP (NULL, release)
