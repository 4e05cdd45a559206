/* alone: monitor wire model base */
/* A coordinator on another machine, whatever it answers: it is asked at a bounded pace, and nonsense is called so. */

#include "common/io/clock.h"
#include "common/wire/wire.h"
#include "coordinator/journal/run_dir.h"
#include "coordinator/monitor/follow.h"
#include "coordinator/monitor/monitors.h"
#include "test.h"

enum { TURN_MS = 10, WATCHED_MS = 60 * 1000, ANSWER_AFTER_MS = 20 };

/* ---- in place of the socket and the clock ---- */

static uint64_t now_ms, asked_ms;
static uint32_t questions, told;
static struct buf answer; /* to each question; empty: none */
static uint32_t byte_n;   /* of the fact of which each answer tells one byte; 0: answers are as they stand */
static void answer_with_next_byte (void);

uint64_t clock_boot_ms (void)
{
    return now_ms;
}

uint64_t clock_boot_ns (void)
{
    return now_ms * 1000000;
}

uint64_t clock_wall_ms (void)
{
    return 1700000000000 + now_ms;
}

struct events_client *events_client_open (const char *address, uint16_t events_port, const char *hub_public_key,
                                          const struct link_keys *keys, struct err *err)
{
    (void) address, (void) events_port, (void) hub_public_key, (void) keys, (void) err;
    return (struct events_client *) &now_ms;
}

void events_client_close (struct events_client *listener)
{
    (void) listener;
}

void events_client_reconnect (struct events_client *listener)
{
    (void) listener;
}

bool events_client_ask (struct events_client *listener, const void *bytes, size_t len)
{
    (void) listener, (void) bytes, (void) len;
    questions++;
    asked_ms = now_ms;
    return true;
}

bool events_client_receive (struct events_client *listener, struct text *bytes)
{
    (void) listener;
    if (!asked_ms || answer.len == 0 || now_ms - asked_ms < ANSWER_AFTER_MS)
        return false;
    asked_ms = 0;
    if (byte_n)
        answer_with_next_byte ();
    *bytes = buf_as_text (&answer);
    return true;
}

void events_client_wait (struct events_client *listener, uint32_t most_ms)
{
    (void) listener, (void) most_ms;
}

/* ---- tests ---- */

static void on_fact (void *owner, const struct fact *fact)
{
    (void) owner, (void) fact;
    told++;
}

static const struct monitor_key key = { .run = "0123456789abcdef0123456789abcdef", .address = "192.0.2.7", .port = 9 };

/* For a minute, or until it gives up: -1. */
static int watch (struct err *err)
{
    int rc = 0;
    now_ms = 1000 * 1000;
    asked_ms = questions = told = 0;
    struct follow *follow = follow_open_remote (&key, on_fact, NULL, err);
    for (uint64_t end_ms = now_ms + WATCHED_MS; rc == 0 && now_ms < end_ms; now_ms += TURN_MS)
        rc = follow_poll_events (follow, err);
    follow_close (follow);
    return rc;
}

static void add_piece (uint64_t index, uint32_t size_bytes, struct text bytes)
{
    const struct snapshot_piece piece = { .index = index, .size_bytes = size_bytes, .bytes = bytes };
    assert_int_equal (snapshot_put_piece (&answer, &piece), bytes.len);
}

static void answer_with (uint8_t flags)
{
    buf_release (&answer);
    buf_init (&answer, ANSWER_MAX_BYTES);
    snapshot_begin_answer (&answer);
    answer.ptr[1] = flags;
}

static void assert_nonsense (void)
{
    struct err err = { 0 };
    assert_int_equal (watch (&err), -1);
    assert_has (err.text, "192.0.2.7, port 9, answers, and nothing of it can be read as run 01234567");
    assert_true (questions > 2 && questions <= 2 + (now_ms - 1000 * 1000) / 1000);
    assert_int_equal (told, 0);
}

TEST (what_no_coordinator_answers_is_called_so_and_asked_for_once_a_second)
{
    static const uint8_t flags[] = { 0, SNAPSHOT_LAST, SNAPSHOT_END, SNAPSHOT_LAST | SNAPSHOT_END, 255 };
    for (size_t i = 0; i < sizeof flags; i++) {
        answer_with (flags[i]);
        assert_nonsense ();
        answer_with (flags[i]);
        add_piece (7, 3, TEXT_LIT ("abc")); /* another fact than the one that was asked for */
        assert_nonsense ();
        answer_with (flags[i]);
        buf_puts (&answer, "SSSSSSSSSSSSSSSSSSSSSSSSSSSSSS");
        assert_nonsense ();
    }
    buf_clear (&answer);
    buf_puts (&answer, "HTTP/1.1 400 Bad Request\r\n\r\n");
    assert_nonsense ();
}

static void answer_with_next_byte (void)
{
    const struct snapshot_piece piece = {
        .index = 1, .size_bytes = 1 << 20, .offset = byte_n++ - 1, .bytes = TEXT_LIT ("x")
    };
    answer_with (SNAPSHOT_LAST);
    assert_int_equal (snapshot_put_piece (&answer, &piece), 1);
}

/* A byte of a fact each time: it is no nonsense, and worth no haste. The same one again and again is. */
TEST (whoever_tells_little_is_asked_once_a_second)
{
    byte_n = 1;
    answer_with (SNAPSHOT_LAST);
    assert_int_equal (watch (&t->err), 0);
    assert_true (questions > 2 && questions <= 2 + WATCHED_MS / 1000);
    byte_n = 0;
    answer_with (SNAPSHOT_LAST);
    add_piece (1, 1 << 20, TEXT_LIT ("x"));
    assert_nonsense ();
}

TEST (silence_and_the_end_of_the_facts_are_no_nonsense)
{
    struct fact opened = { .kind = FACT_RUN_OPENED, .index = 1 };
    struct buf bytes;
    buf_clear (&answer);
    assert_int_equal (watch (&t->err), 0);
    opened.of.run_opened.run = text_of (key.run);
    opened.of.run_opened.plan = (struct plan){ .slice = TEXT_LIT ("made"), .launcher = LAUNCHER_JOIN };
    buf_init (&bytes, FACT_MAX_BYTES);
    wire_put_fact (&bytes, &opened);
    answer_with (SNAPSHOT_LAST | SNAPSHOT_END);
    add_piece (1, (uint32_t) bytes.len, buf_as_text (&bytes));
    if (watch (&t->err) < 0)
        fail_msg ("%s", t->err.text);
    assert_int_equal (told, 1);
    assert_true (questions > 30);
    buf_release (&bytes);
    buf_release (&answer);
}

/* What `fn` says on standard error. */
static void heard (void (*fn) (void), char *out, size_t size)
{
    FILE *file = tmpfile ();
    assert_non_null (file);
    int kept = dup (STDERR_FILENO);
    assert_true (kept >= 0 && dup2 (fileno (file), STDERR_FILENO) >= 0);
    fn ();
    fflush (stderr);
    assert_true (dup2 (kept, STDERR_FILENO) >= 0);
    close (kept);
    rewind (file);
    out[fread (out, 1, size - 1, file)] = '\0';
    fclose (file);
}

static void put_fact (uint64_t index, struct fact fact)
{
    struct buf bytes;
    buf_init (&bytes, FACT_MAX_BYTES);
    fact.index = index;
    wire_put_fact (&bytes, &fact);
    add_piece (index, (uint32_t) bytes.len, buf_as_text (&bytes));
    buf_release (&bytes);
}

static void watch_a_contradicted_run (void)
{
    struct fact opened = { .kind = FACT_RUN_OPENED }, claim = { .kind = FACT_LOSS_TOLD };
    struct err err = { 0 };
    opened.of.run_opened.run = text_of (key.run);
    opened.of.run_opened.plan = (struct plan){ .slice = TEXT_LIT ("made"), .launcher = LAUNCHER_JOIN };
    claim.of.loss_told.why = TEXT_LIT ("host h0 knows fact 9");
    answer_with (SNAPSHOT_LAST | SNAPSHOT_END);
    put_fact (1, opened);
    put_fact (2, claim);
    assert_int_equal (watch (&err), 0);
    run_facts_warn (key.run); /* as the commands do at their end */
}

TEST (who_watches_from_elsewhere_is_warned_of_a_contradicted_record)
{
    char said[2048];
    heard (watch_a_contradicted_run, said, sizeof said);
    assert_has (said, "1 host contradicts the record, and no other host confirms it: host h0 knows");
    buf_release (&answer);
}
