/* links: cli journal */

#include "common/io/atomic_file.h"
#include "common/wire/wire.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/logs.h"
#include "coordinator/journal/journal.h"
#include "coordinator/journal/run_begun.h"
#include "test.h"

/* One attempt's log, in a folder of its own: its end, and what the facts of the run say of it. */
struct lab {
    struct run_dir dir;
    struct board board;
    char path[RUN_PATH_BYTES];
};
static const struct log_source source = { 0, { 0, PASS_ONCE, 1 } };

static void lab_open (struct lab *lab)
{
    static struct plan_host host = { .name = { "h0", 2 } };
    static struct rung rung = { .id = { "low", 3 } };
    char folder[RUN_PATH_BYTES];
    *lab = (struct lab){ .dir = { .home = "/tmp/log-tail-test-XXXXXX", .id = "00112233445566778899aabbccddeeff" } };
    lab->board.plan.hosts.items = &host;
    lab->board.plan.rungs.items = &rung;
    lab->board.plan.hosts.n = lab->board.plan.rungs.n = 1;
    assert_true (mkdtemp (lab->dir.home));
    run_dir_log_path (&lab->dir, &lab->board.plan, 0, &source.key, lab->path);
    snprintf (folder, sizeof folder, "%s/runs", lab->dir.home);
    assert_int_equal (folder_make (folder, 0700, NULL), 0);
    assert_int_equal (folder_make (run_dir_path (&lab->dir, "", folder), 0700, NULL), 0);
    assert_int_equal (folder_make (run_dir_path (&lab->dir, "logs", folder), 0700, NULL), 0);
    assert_int_equal (folder_make (run_dir_path (&lab->dir, "logs/h0", folder), 0700, NULL), 0);
}

static void lab_close (struct lab *lab)
{
    assert_int_equal (folder_remove (lab->dir.home, NULL), 0);
}

TEST_FIXTURE (struct lab, lab_open, lab_close)

static int read_tail (struct lab *lab, char out[64], struct err *err)
{
    struct arena arena = { 0 };
    struct text tail;
    *err = (struct err){ 0 };
    int rc = log_tail_read (&lab->dir, &lab->board, &source, &arena, &tail, err);
    text_to_c (text_clip (tail, 63), out, 64);
    arena_release (&arena);
    return rc;
}

static void write_log (struct lab *lab, const char *bytes)
{
    assert_int_equal (atomic_file_write (lab->path, bytes, strlen (bytes), 0600, NULL), 0);
}

TEST_ON (lab, what_is_there_is_shown_safely)
{
    char out[64];
    write_log (lab, "one\ntwo \x1b[2J\n");
    assert_int_equal (read_tail (lab, out, &t->err), 0);
    assert_string_equal (out, "one\ntwo \\x1b[2J\n");
    write_log (lab, "");
    assert_int_equal (read_tail (lab, out, &t->err), 0);
    assert_string_equal (out, "");
}

TEST_ON (lab, what_is_not_there_is_not_taken_for_empty)
{
    char out[64];
    assert_int_equal (read_tail (lab, out, &t->err), -1);
    assert_int_equal (t->err.code, ERR_STATE);
    assert_has (t->err.text, "no log here");
    assert_int_equal (symlink ("/dev/null", lab->path), 0);
    assert_int_equal (read_tail (lab, out, &t->err), -1);
    assert_has (t->err.text, "its log cannot be read");
    assert_int_equal (unlink (lab->path), 0);
    assert_int_equal (folder_make (lab->path, 0700, NULL), 0);
    assert_int_equal (read_tail (lab, out, &t->err), -1);
    assert_has (t->err.text, "its log is no regular file");
}

/* A run whose plan has such a rung, in a journal that came from elsewhere; what `sliceup logs` leaves with. */
static int logs_of (const struct lab *lab, const char *rung)
{
    struct cli cli = { .home = lab->dir.home, .hint = "" };
    const char *no_operands[] = { NULL };
    struct cli_arguments arguments = { .operands = no_operands };
    struct plan_host host = { .name = TEXT_LIT ("h0"), .address = TEXT_LIT ("127.0.0.1") };
    struct rung rungs = { .id = text_of (rung), .builtin = TEXT_LIT ("facts"), .kind = PROGRAM_BUILTIN };
    struct fact opened = { .kind = FACT_RUN_OPENED, .index = 1, .wall_ms = 1700000000000 };
    struct run_dir dir;
    char path[RUN_PATH_BYTES];
    struct buf bytes;
    assert_int_equal (run_dir_create (&dir, lab->dir.home, NULL), 0);
    struct journal *journal = journal_create (run_dir_path (&dir, "journal.db", path), dir.id, NULL);
    assert_non_null (journal);
    opened.of.run_opened = (struct fact_run_opened){ .run = text_of (dir.id) };
    opened.of.run_opened.plan = (struct plan){ .slice = TEXT_LIT ("made"),
                                               .launcher = LAUNCHER_JOIN,
                                               .ladder = TEXT_LIT ("made"),
                                               .hosts = { &host, 1 },
                                               .rungs = { &rungs, 1 } };
    buf_init (&bytes, FACT_MAX_BYTES);
    wire_put_fact (&bytes, &opened);
    journal_append (journal, 1, opened.kind, 0, opened.wall_ms, buf_as_text (&bytes));
    buf_release (&bytes);
    journal_close (journal);
    assert_int_equal (run_begun_record (&dir, NULL), 0);
    return logs_command.run (&cli, &arguments);
}

TEST_ON (lab, names_of_a_plan_that_lead_elsewhere_are_damage)
{
    assert_int_equal (logs_of (lab, "facts"), EXIT_HOLDS);
    assert_int_equal (logs_of (lab, "../../../elsewhere"), EXIT_DAMAGED);
}

struct said {
    struct log_told told;
    struct buf out;
    bool lost, held; /* `held`: by a coordinator */
};

static void take_end (struct said *said, enum ending ending, uint64_t printed_bytes)
{
    struct fact fact = { .kind = FACT_ATTEMPT_ENDED };
    fact.of.attempt_ended.result = (struct result){
        .key = source.key, .ending = ending, .output_bytes = printed_bytes, .log_bytes = printed_bytes
    };
    log_told_take (&said->told, &fact);
}

static void take_lost (struct said *said, const char *why)
{
    struct fact fact = { .kind = FACT_OUTPUT_LOST, .of.output_lost = { .key = source.key, .why = text_of (why) } };
    log_told_take (&said->told, &fact);
}

/* Of an output of which this is here; begins anew. */
static const char *say (struct said *said, struct text here)
{
    static char words[512];
    buf_init (&said->out, sizeof words - 1);
    said->lost = log_told_put (&said->told, &source, here.len, log_output_hole_bytes (here), said->held, &said->out);
    text_to_c (buf_as_text (&said->out), words, sizeof words);
    buf_release (&said->out);
    arena_release (&said->told.arena);
    memset (&said->told, 0, sizeof said->told);
    return words;
}

TEST (of_a_lost_worker_nobody_says_that_it_printed_nothing)
{
    struct said said = { 0 };
    take_end (&said, ENDING_LOST, 0);
    assert_string_equal (say (&said, TEXT_LIT ("step 1\n")), "");
    take_end (&said, ENDING_LOST, 0);
    assert_string_equal (say (&said, TEXT_LIT ("")), "(nothing of its output is here)\n");
    take_end (&said, ENDING_EXITED, 0);
    assert_string_equal (say (&said, TEXT_LIT ("")), "(it printed nothing)\n");
    take_end (&said, ENDING_NOT_STARTED, 0);
    assert_string_equal (say (&said, TEXT_LIT ("")), "(its program was not started)\n");
    assert_false (said.lost);
}

TEST (a_loss_that_was_told_is_one_whatever_is_here)
{
    struct said said = { 0 };
    take_lost (&said, "no room");
    take_end (&said, ENDING_EXITED, 7);
    assert_string_equal (say (&said, TEXT_LIT ("step 1\n")), "[sliceup] output is lost: no room\n");
    assert_true (said.lost);
    take_end (&said, ENDING_EXITED, 9);
    assert_string_equal (say (&said, TEXT_LIT ("step 1\n")),
                         "[sliceup] 2 of the 9 bytes that its host sent are not here\n");
    assert_true (said.lost);
}

TEST (what_a_coordinator_may_still_write_is_not_here_yet)
{
    struct said said = { .held = true };
    take_end (&said, ENDING_EXITED, 9);
    assert_string_equal (say (&said, TEXT_LIT ("step 1\n")),
                         "[sliceup] 2 of the 9 bytes that its host sent are not here yet\n");
    assert_false (said.lost);
}

TEST (a_hole_is_counted_when_a_loss_was_told_and_shown)
{
    struct said said = { 0 };
    struct buf out;
    struct text here = TEXT_LIT ("a\n\0\0\0\0\0z\n");
    take_lost (&said, "a gap");
    take_end (&said, ENDING_EXITED, 9);
    assert_string_equal (say (&said, here), "[sliceup] output is lost: a gap\n"
                                            "[sliceup] 5 of the 9 bytes that its host sent are not here\n");
    assert_true (said.lost);
    take_end (&said, ENDING_EXITED, 9);
    assert_string_equal (say (&said, here), "");
    assert_false (said.lost);
    buf_init (&out, 256);
    log_output_put_body (here, false, true, &out);
    assert_string_equal (buf_c (&out), "a\n[5 bytes are missing here]z\n");
    buf_release (&out);
}
