/* alone: conf logs model base */
/* Messages as logs print them (tests/unit/failures), and what logs do to them: is the owner right, is nothing called
 * transient that lasts, does what nobody has seen stay unknown? */
#include "rng_unit.h"
#include "signature_lists.h"
#include "test.h"

#include <dirent.h>

#include "common/logs/classify.h"

enum {
    CASES_MAX = 256,
    CASE_MAX_BYTES = 16 << 10,
    FILE_MAX_BYTES = 256 << 10,
    MUTATED_MAX_BYTES = 11 << 20,
    ROUNDS = 24,
    LARGE_ROUNDS = 12,
    RIGHT_OF_100 = 95,
    NOISE_OF_100 = 98,
    SEED = 20260117
};

struct failure {
    struct text name, text;
    enum owner owner; /* UNKNOWN: nobody is to be named */
    bool passes, memory;
    bool noise; /* of what is printed in runs that work, too: what is said of peers explains more */
};

static struct failure cases[CASES_MAX];
static uint32_t cases_n;
static struct arena arena;
static struct plan plan;
static struct signature_set *set;

/* ---- the corpus ---- */

/* "name | owner | lasts|passes [| memory|noise]" */
static void read_heading (char *line, struct failure *failure)
{
    char *rest = line, *parts[4] = { 0 };
    uint32_t owner;
    for (int i = 0; i < 4 && rest; i++) {
        parts[i] = rest;
        if ((rest = strstr (rest, " | ")))
            *rest = '\0', rest += 3;
    }
    assert_non_null (parts[2]);
    assert_true (enum_value_of (&owner_names, text_of (parts[1]), &owner));
    assert_true (strcmp (parts[2], "lasts") == 0 || strcmp (parts[2], "passes") == 0);
    *failure = (struct failure){ .name = text_copy (&arena, text_of (parts[0])),
                                 .owner = (enum owner) owner,
                                 .passes = parts[2][0] == 'p',
                                 .memory = parts[3] && strcmp (parts[3], "memory") == 0,
                                 .noise = parts[3] && strcmp (parts[3], "noise") == 0 };
    assert_true (!parts[3] || failure->memory || failure->noise);
}

static void read_cases (char *text)
{
    for (char *at = text; at && *at;) {
        assert_true (strncmp (at, "=== ", 4) == 0);
        char *body = strchr (at, '\n');
        assert_non_null (body);
        *body++ = '\0';
        char *next = strncmp (body, "=== ", 4) == 0 ? body : strstr (body, "\n=== ");
        size_t len = next ? (size_t) (next + 1 - body) : strlen (body);
        assert_true (cases_n < CASES_MAX && len > 0 && len <= CASE_MAX_BYTES);
        read_heading (at + 4, &cases[cases_n]);
        cases[cases_n++].text = text_copy (&arena, (struct text){ .ptr = body, .len = (uint32_t) len });
        at = next ? next + 1 : NULL;
    }
}

static void read_file (const char *path)
{
    static char bytes[FILE_MAX_BYTES];
    FILE *file = fopen (path, "re");
    assert_non_null (file);
    size_t len = fread (bytes, 1, sizeof bytes - 1, file);
    assert_true (len > 0 && len < sizeof bytes - 1);
    assert_int_equal (fclose (file), 0);
    bytes[len] = '\0';
    read_cases (bytes);
}

static int open_all (void **state)
{
    char path[4096];
    struct dirent **entries; /* in one order everywhere: seeds are counted along it */
    (void) state;
    int n = scandir (SLICEUP_SOURCE_DIR "/tests/unit/failures", &entries, NULL, alphasort);
    assert_true (n > 0);
    for (int i = 0; i < n; i++) {
        snprintf (path, sizeof path, "%s/tests/unit/failures/%s", SLICEUP_SOURCE_DIR, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.')
            read_file (path);
        free (entries[i]);
    }
    free (entries);
    signature_lists_load (&arena, &plan);
    set = signature_set_build (plan.signatures.items, plan.signatures.n);
    assert_non_null (set);
    return 0;
}

static int close_all (void **state)
{
    (void) state;
    signature_set_free (set);
    arena_release (&arena);
    return 0;
}

/* ---- what logs do to a message ---- */

static const char *const others[] = {
    "step 118 loss 2.3051 tokens/s 48211",
    "I1121 15:16:20.000001   26001 loader.cc:31] shard 00017 opened",
    "Finished tracing sum for jit in 0.002056837 sec",
    "INFO:2026-01-01 10:00:00,000:trainer:77: checkpoint queued",
    "  warnings.warn(",
    "host tpu-3 memory 118.2G free",
    "[Gloo] Rank 2 is connected to 7 peer ranks.",
};
static const char *const aftermath[] = {
    "srun: error: tpu-host-3: task 3: Exited with exit code 1",
    "srun: Terminating StepId=4242.0",
    "slurmstepd: error: *** STEP 4242.0 ON tpu-host-0 CANCELLED AT 2026-02-02T02:02:02 ***",
    "/usr/lib/python3.11/multiprocessing/resource_tracker.py:254: UserWarning: resource_tracker: There appear to be 3 "
    "leaked "
    "semaphore objects to clean up at shutdown",
    "    @     0x7f1c7f840634  absl::lts_20260107::log_internal::LogMessage::SendToLog()",
    "cleaning up /scratch/run-17",
    "waiting for 4 children",
    "failed",
    "Aborted (core dumped)",
};
static const char *const cascade[] = {
    "E1121 15:16:28.779033   26426 coordination_service_agent.cc:289] Polled an error from coordination service (this "
    "can be an "
    "error from this or another task).",
    "UNAVAILABLE: Task 1 heartbeat timeout. This indicates that the remote task has failed, got preempted, or crashed "
    "unexpectedly.",
    "F1121 15:16:28.779697   26426 client.h:80] Terminating process because the JAX distributed service detected fatal "
    "errors.",
};
#define PICK(list, rng) ((list)[rng_below ((rng), sizeof (list) / sizeof *(list))])

static void add_others (struct buf *out, struct rng *rng, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        buf_printf (out, "%s\n", PICK (others, rng));
}

static void add_prefix (struct buf *out, uint64_t kind, struct rng *rng)
{
    unsigned number = (unsigned) rng_below (rng, 64);
    switch (kind) {
    case 1: buf_puts (out, "[rank 3] "); break;
    case 2: buf_printf (out, "%2u: ", number); break;
    case 3: buf_printf (out, "2026-11-21T15:16:%02u.123456Z ", number % 60); break;
    case 4: buf_puts (out, "tpu-host-3: "); break;
    case 5: buf_printf (out, "worker-3-abcde worker 2026-11-21T15:16:%02u.000Z stderr F ", number % 60); break;
    default: break;
    }
}

struct ways {
    bool colours, ends, between, wraps;
    uint64_t prefix;
};

static void add_word_end (struct buf *out, char blank, const struct ways *ways, struct rng *rng)
{
    if (ways->wraps && blank == ' ' && rng_below (rng, 14) == 0) {
        buf_puts (out, ways->ends ? "\r\n" : "\n"); /* no prefix: what wraps lines does not know of any */
        return;
    }
    buf_byte (out, (uint8_t) blank);
}

static void add_line (struct buf *out, struct text line, const struct ways *ways, struct rng *rng)
{
    bool colour = ways->colours && rng_below (rng, 2) == 0;
    add_prefix (out, ways->prefix, rng);
    buf_puts (out, colour ? "\x1b[1;31m" : "");
    for (uint32_t i = 0; i < line.len; i++) {
        if (ways->colours && rng_below (rng, 40) == 0)
            buf_puts (out, rng_below (rng, 2) ? "\x1b[0m\x1b[38;5;202m" : "\x1b[K");
        if (line.ptr[i] == ' ')
            add_word_end (out, ' ', ways, rng);
        else
            buf_byte (out, (uint8_t) line.ptr[i]);
    }
    buf_puts (out, colour ? "\x1b[0m" : "");
    buf_puts (out, ways->ends ? "\r\n" : "\n");
}

static void add_lines (struct buf *out, struct text text, const struct ways *ways, struct rng *rng)
{
    uint32_t at;
    while (text.len) {
        bool more = text_find (text, TEXT_LIT ("\n"), &at);
        add_line (out, (struct text){ .ptr = text.ptr, .len = more ? at : text.len }, ways, rng);
        if (ways->between && rng_below (rng, 2))
            add_others (out, rng, 1 + rng_below (rng, 3));
        uint32_t used = more ? at + 1 : text.len;
        text.ptr += used;
        text.len -= used;
    }
}

/* A tenth at most at either end, as logs are that were cut at a size. */
static struct text cut (struct text text, struct rng *rng)
{
    uint32_t front = rng_below (rng, 2) ? (uint32_t) rng_below (rng, text.len / 10 + 1) : 0;
    uint32_t back = rng_below (rng, 2) ? (uint32_t) rng_below (rng, text.len / 10 + 1) : 0;
    return (struct text){ .ptr = text.ptr + front, .len = text.len - front - back };
}

static void mutate (const struct failure *failure, uint64_t before_bytes, struct rng *rng, struct buf *out)
{
    struct ways ways = { .colours = rng_below (rng, 3) == 0,
                         .ends = rng_below (rng, 4) == 0,
                         .between = rng_below (rng, 3) == 0,
                         .wraps = rng_below (rng, 5) == 0,
                         .prefix = rng_below (rng, 8) };
    buf_clear (out);
    while (out->len < before_bytes)
        add_others (out, rng, 64);
    add_others (out, rng, rng_below (rng, 20));
    add_lines (out, rng_below (rng, 3) == 0 ? cut (failure->text, rng) : failure->text, &ways, rng);
    uint64_t after = rng_below (rng, 3) == 0 && !failure->noise ? 200 : 0; /* noise owns only what ends soon after it */
    bool peers = failure->owner != OWNER_UNKNOWN && !failure->noise && rng_below (rng, 2);
    for (uint64_t i = 0; i < after; i++)
        buf_printf (out, "%s\n", peers && i % 8 == 3 ? PICK (cascade, rng) : PICK (aftermath, rng));
    while (out->len < 2 * before_bytes)
        add_others (out, rng, 64);
    assert_false (out->overflow);
}

/* ---- judged ---- */

struct tally {
    uint32_t all, right, unknown_all, unknown_right, noise_all, noise_right, wrong_transient, passing_all, passing;
};

static void decide (struct text log, struct rng *rng, struct cause_decision *decision, struct arena *scratch)
{
    struct signature_scan_result seen;
    struct classify_run *scan = classify_begin (set);
    while (log.len) {
        uint32_t piece = 1 + (uint32_t) rng_below (rng, rng_below (rng, 2) ? 64 : 100000);
        piece = piece < log.len ? piece : log.len;
        classify_bytes (scan, (struct text){ .ptr = log.ptr, .len = piece });
        log.ptr += piece;
        log.len -= piece;
    }
    classify_end (scan, scratch, &seen);
    cause_decide (set, &seen, decision);
}

static enum owner owner_of (const struct cause_decision *decision)
{
    return decision->id.len ? decision->owner : OWNER_UNKNOWN;
}

/* An echo is peer's when it names somebody, else nobody's; what logs do to messages adds names and takes them away. */
static bool says (const struct cause_decision *decision, enum owner owner)
{
    bool echo = decision->weight == CAUSE_PEER && (owner == OWNER_PEER || owner == OWNER_UNKNOWN);
    return echo || owner_of (decision) == owner;
}

static void judge (const struct failure *failure, struct text log, struct rng *rng, struct tally *tally, bool loud)
{
    struct arena scratch = { 0 };
    struct cause_decision decision;
    decide (log, rng, &decision, &scratch);
    bool unknown = failure->owner == OWNER_UNKNOWN, right = says (&decision, failure->owner);
    *(failure->noise ? &tally->noise_all : unknown ? &tally->unknown_all : &tally->all) += 1;
    *(failure->noise ? &tally->noise_right : unknown ? &tally->unknown_right : &tally->right) += right;
    tally->wrong_transient += decision.transient && !failure->passes;
    tally->passing_all += failure->passes;
    tally->passing += failure->passes && decision.transient;
    if ((loud && (!right || (failure->passes && !decision.transient))) || (decision.transient && !failure->passes))
        print_message ("%.*s: %s [%.*s]%s, expected %s\n", TEXT_ARG (failure->name),
                       enum_name_of (&owner_names, owner_of (&decision)),
                       TEXT_ARG (decision.id.len ? decision.id : TEXT_LIT ("-")),
                       decision.transient ? " transient" : "", enum_name_of (&owner_names, failure->owner));
    arena_release (&scratch);
}

TEST (each_message_has_its_owner)
{
    struct tally tally = { 0 };
    struct rng rng = rng_seed (SEED);
    for (uint32_t i = 0; i < cases_n; i++)
        judge (&cases[i], cases[i].text, &rng, &tally, true);
    assert_int_equal (tally.right, tally.all);
    assert_int_equal (tally.unknown_right, tally.unknown_all);
    assert_int_equal (tally.noise_right, tally.noise_all);
    assert_int_equal (tally.wrong_transient, 0);
    assert_int_equal (tally.passing, tally.passing_all);
    assert_true (tally.all >= 100 && tally.unknown_all >= 15);
}

static bool is_memory (const struct cause_decision *decision)
{
    const struct signature *signature = plan_find_signature (&plan, decision->id);
    return signature && signature->memory;
}

TEST (memory_is_said_of_device_memory_alone)
{
    struct rng rng = rng_seed (SEED);
    for (uint32_t i = 0; i < cases_n; i++) {
        struct arena scratch = { 0 };
        struct cause_decision decision;
        decide (cases[i].text, &rng, &decision, &scratch);
        if (is_memory (&decision) != cases[i].memory)
            fail_msg ("%.*s", TEXT_ARG (cases[i].name));
        arena_release (&scratch);
    }
}

static void check (const struct tally *tally)
{
    print_message ("owner right in %u of %u; unknown kept in %u of %u, and of noise %u of %u; transient said of %u of "
                   "%u that are\n",
                   tally->right, tally->all, tally->unknown_right, tally->unknown_all, tally->noise_right,
                   tally->noise_all, tally->passing, tally->passing_all);
    assert_int_equal (tally->wrong_transient, 0);
    assert_int_equal (tally->unknown_right, tally->unknown_all);
    assert_true (tally->noise_right * 100 >= tally->noise_all * NOISE_OF_100); /* a cut takes its level away */
    assert_true (tally->right * 100 >= tally->all * RIGHT_OF_100);
    assert_true (tally->passing * 2 >= tally->passing_all);
}

TEST (what_logs_do_to_messages_hides_few_owners)
{
    struct tally tally = { 0 };
    struct buf log;
    buf_init (&log, MUTATED_MAX_BYTES);
    for (uint32_t i = 0; i < cases_n; i++)
        for (uint32_t round = 0; round < ROUNDS; round++) {
            struct rng rng = rng_seed (rng_derive_seed (SEED + i, round));
            mutate (&cases[i], 0, &rng, &log);
            judge (&cases[i], buf_as_text (&log), &rng, &tally, false);
        }
    buf_release (&log);
    check (&tally);
    assert_true (tally.all + tally.unknown_all >= 3000);
}

TEST (ten_megabytes_hide_nothing)
{
    struct tally tally = { 0 };
    struct buf log;
    buf_init (&log, MUTATED_MAX_BYTES);
    for (uint32_t round = 0; round < LARGE_ROUNDS; round++) {
        struct rng rng = rng_seed (rng_derive_seed (SEED, round));
        const struct failure *failure = &cases[rng_below (&rng, cases_n)];
        while (failure->noise)
            failure = &cases[rng_below (&rng, cases_n)];
        mutate (failure, 5 << 20, &rng, &log);
        judge (failure, buf_as_text (&log), &rng, &tally, true);
    }
    buf_release (&log);
    assert_int_equal (tally.wrong_transient, 0);
    assert_true (tally.right + tally.unknown_right + 1 >= LARGE_ROUNDS);
}

static uint32_t is_said_to_pass (const struct failure *first, const struct failure *second, struct buf *log)
{
    struct arena scratch = { 0 };
    struct rng rng = rng_seed (SEED);
    struct cause_decision decision;
    buf_clear (log);
    buf_add_text (log, first->text);
    add_others (log, &rng, 3);
    buf_add_text (log, second->text);
    decide (buf_as_text (log), &rng, &decision, &scratch);
    arena_release (&scratch);
    if (decision.transient)
        print_message ("%.*s, then %.*s: said to pass\n", TEXT_ARG (first->name), TEXT_ARG (second->name));
    return decision.transient;
}

static bool is_lasting_cause (const struct failure *failure)
{
    struct arena scratch = { 0 };
    struct rng rng = rng_seed (SEED);
    struct cause_decision decision;
    decide (failure->text, &rng, &decision, &scratch);
    arena_release (&scratch);
    return decision.weight == CAUSE_OWN && !failure->passes;
}

TEST (beside_a_cause_that_lasts_nothing_passes)
{
    struct buf log;
    uint32_t pairs = 0, wrong = 0;
    buf_init (&log, MUTATED_MAX_BYTES);
    for (uint32_t i = 0; i < cases_n; i++)
        for (uint32_t k = 0; k < cases_n && cases[i].passes; k++)
            if (is_lasting_cause (&cases[k])) {
                wrong += is_said_to_pass (&cases[i], &cases[k], &log) + is_said_to_pass (&cases[k], &cases[i], &log);
                pairs++;
            }
    buf_release (&log);
    assert_int_equal (wrong, 0);
    assert_true (pairs > 500);
}

/* The busy device was free at the second try, the metadata came late: it trained for a while, and ended of something
 * else. */
TEST (who_went_on_for_long_did_not_end_of_what_passes)
{
    struct buf log;
    buf_init (&log, MUTATED_MAX_BYTES);
    for (uint32_t i = 0; i < cases_n; i++) {
        struct arena scratch = { 0 };
        struct rng rng = rng_seed (SEED + i);
        struct cause_decision decision;
        buf_clear (&log);
        buf_add_text (&log, cases[i].text);
        add_others (&log, &rng, 100);
        buf_puts (&log, "loss is nan at step 300, giving up\n");
        decide (buf_as_text (&log), &rng, &decision, &scratch);
        if (decision.transient || (cases[i].noise && decision.id.len))
            fail_msg ("%.*s", TEXT_ARG (cases[i].name));
        arena_release (&scratch);
    }
    buf_release (&log);
}

/* ---- what collectors, launchers and terminals make of a whole log ---- */

struct wrapping {
    const char *before, *behind; /* of each line */
    bool json;                   /* the line stands in a string of JSON */
};

static const struct wrapping wrappings[] = {
    { "\x1b[31m", "\x1b[0m\n", false },
    { "  7%|7     | 7/99 [00:01<00:02]\r", "\n", false },
    { "", "\r\n", false },
    { "0: ", "\n1: other\n", false },
    { "[rank0]: ", "\n[rank1]: loading shard\n", false },
    { "2026-11-21T15:16:17.000000001Z stderr F ", "\n", false },
    { "[pod/trainer-0/main] ", "\n", false },
    { "Nov 21 15:16:17 node7 run.sh[991]: ", "\n", false },
    { "{\"insertId\":\"a1\",\"severity\":\"ERROR\",\"textPayload\":\"", "\",\"resource\":{\"type\":\"x\"}}\n", true },
    { "{\"textPayload\":\"", "\",\"severity\":\"INFO\"}\n", true },
    { "[pod/trainer-0/main] {\"jsonPayload\":{\"message\":\"", "\"},\"severity\":\"INFO\"}\n", true },
    { "{\"log\":\"", "\\n\",\"stream\":\"stdout\",\"time\":\"2026-11-21T15:16:17Z\"}\n", true },
};
/* The whole log in one string of JSON. */
static const struct wrapping wholes[] = {
    { "{\"event\": \"step failed\", \"level\": \"error\", \"exception\": \"", "\"}\n", true },
    { "{\"levelname\": \"ERROR\", \"message\": \"stopped\", \"exc_info\": \"", "\", \"name\": \"x\"}\n", true },
};

static void add_escaped (struct buf *out, struct text text, bool json)
{
    for (uint32_t i = 0; i < text.len; i++)
        if (json && text.ptr[i] == '\n')
            buf_puts (out, "\\n");
        else if (json && (unsigned char) text.ptr[i] == 0xC3 && i + 1 < text.len)
            buf_printf (out, "\\u00%02x", (unsigned char) text.ptr[++i] + 0x40U);
        else
            buf_printf (out, "%s%c", json && strchr ("\"\\", text.ptr[i]) ? "\\" : "", text.ptr[i]);
}

static void add_wrapped (struct buf *out, struct text text, const struct wrapping *as)
{
    while (text.len) {
        buf_puts (out, as->before);
        add_escaped (out, text_take_until (&text, '\n'), as->json);
        buf_puts (out, as->behind);
    }
}

static void add_steps (struct buf *out, uint32_t from, uint32_t to)
{
    for (; from < to; from++)
        buf_printf (out, "step %u loss 2.1\n", from);
}

enum { WRAPPINGS = sizeof wrappings / sizeof *wrappings, WHOLES = sizeof wholes / sizeof *wholes, FORMS = 3 };

static void transform (struct text text, uint32_t how, struct buf *out)
{
    buf_clear (out);
    add_steps (out, 90, 97);
    if (how < WRAPPINGS) {
        add_wrapped (out, text, &wrappings[how]);
    } else if (how < WRAPPINGS + WHOLES) {
        buf_puts (out, wholes[how - WRAPPINGS].before);
        add_escaped (out, text, true);
        buf_puts (out, wholes[how - WRAPPINGS].behind);
    } else if (how == WRAPPINGS + WHOLES) { /* the last steps came late */
        buf_add_text (out, text);
        add_steps (out, 97, 100);
    } else { /* a large log, with or without a farewell */
        add_steps (out, 97, 70000);
        buf_add_text (out, text);
        for (uint32_t i = 0; how > WRAPPINGS + WHOLES + 1 && i < 250; i++)
            buf_puts (out, "closing a file of the checkpoint\n");
    }
}

TEST (no_form_of_a_log_hides_twenty_owners)
{
    static const char *const twenty[] = {
        "plugin newer", "jaxlib too old",   "vfio busy", "in use, accel",   "no device",
        "disk",         "initialize twice", "hardware",  "megascale chips", "no libtpu",
        "flags",        "buffer, older",    "compile",   "memory",          "kernel",
        "open files",   "time limit",       "port",      "novel exception", "slurm memory",
    };
    struct buf log;
    uint32_t wrong = 0, n = 0;
    buf_init (&log, MUTATED_MAX_BYTES);
    for (uint32_t i = 0; i < cases_n; i++)
        for (uint32_t k = 0; k < 20; k++)
            for (uint32_t how = 0; text_is (cases[i].name, twenty[k]) && how < WRAPPINGS + WHOLES + FORMS; how++, n++) {
                struct tally tally = { 0 };
                struct rng rng = rng_seed (SEED);
                transform (cases[i].text, how, &log);
                judge (&cases[i], buf_as_text (&log), &rng, &tally, false);
                if (tally.right == 0)
                    print_message ("%s, form %u\n", twenty[k], how), wrong++;
            }
    buf_release (&log);
    assert_true (n >= 20 * (WRAPPINGS + WHOLES + FORMS));
    assert_int_equal (wrong, 0);
}

TEST_GROUP (open_all, close_all)
