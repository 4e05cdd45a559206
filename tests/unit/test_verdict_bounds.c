/* alone: simulated */
/* Whatever a worker says at its longest: what the coordinator makes of it fits its own records. A fact that does not is
 * the end of the run (coordinator/run/driver_out.c). */
#include "retry_fixture.h"
#include "stretched.h"
#include "test.h"

/* Names as long as a configuration may have them, and hosts that do not fold. */
static void name_at_length (struct plan *plan)
{
    static char names[HOSTS][HOST_NAME_MAX_BYTES + 1];
    plan->slice = plan->ladder = plan->rungs.items[0].id = stretched_text (0, ID_MAX_BYTES);
    plan->cache.root = stretched_text (1, PATH_MAX_BYTES);
    for (uint32_t i = 0; i < HOSTS; i++) {
        memset (names[i], (char) ('e' + i), HOST_NAME_MAX_BYTES);
        plan->hosts.items[i].name = text_of (names[i]);
    }
    for (uint32_t i = 0; i < plan->rungs.items[0].metrics.n; i++)
        plan->rungs.items[0].metrics.items[i] = stretched_text (0, WORD_MAX_BYTES);
    for (uint32_t i = 0; i < plan->signatures.n; i++)
        plan->signatures.items[i].id = stretched_text (0, ID_MAX_BYTES);
}

static void survey_of_tpus (struct plan *plan)
{
    plan->profile.backend = TEXT_LIT ("tpu");
    plan->profile.accelerator = TEXT_LIT ("v6e-16");
    plan->rungs.items[0] = (struct rung){ .id = TEXT_LIT ("facts"),
                                          .kind = PROGRAM_BUILTIN,
                                          .builtin = TEXT_LIT ("facts"),
                                          .scope = SCOPE_HOST,
                                          .timeout_ms = 60000 };
    name_at_length (plan);
}

static void restore (struct plan *plan)
{
    survey_of_tpus (plan);
    plan->rungs.items[0].builtin = TEXT_LIT ("restore");
}

static void survey_of_storage (struct plan *plan)
{
    survey_of_tpus (plan);
    plan->rungs.items[0].builtin = TEXT_LIT ("cache");
}

static void of_a_slice (struct plan *plan)
{
    plan->limits.retries = 0;
    name_at_length (plan);
}

enum { LONG_FACTS = 6 };

/* Facts of a slice that look like an answer for as long as they go on. */
static struct var *long_facts (uint32_t host, struct arena *arena)
{
    static const char *const names[] = { "tpu.accelerator_type", "tpu.topology",  "tpu.chips_per_host_bounds",
                                         "tpu.host_bounds",      "tpu.worker_id", "tpu.worker_hostnames" };
    struct var *facts = arena_array (arena, LONG_FACTS, sizeof *facts);
    char *grid = arena_alloc (arena, TEXT_MAX_BYTES);
    for (uint32_t i = 0; i < TEXT_MAX_BYTES; i++)
        grid[i] = i % 2 ? ',' : '1';
    grid[TEXT_MAX_BYTES - 1] = '7';
    for (uint32_t i = 0; i < LONG_FACTS; i++)
        facts[i] = (struct var){ text_of (names[i]),
                                 i == host % 4 || i > 3 ? (struct text){ grid, TEXT_MAX_BYTES } : (struct text){ 0 } };
    return facts;
}

/* What a worker says at its longest, once a host: it is large, and only a few fields of it change from run to run. */
struct voices {
    struct result said[HOSTS];
    struct arena arena;
};

static void voices_open (struct voices *voices)
{
    *voices = (struct voices){ 0 };
    for (uint32_t host = 0; host < HOSTS; host++) {
        struct result *result = &voices->said[host];
        stretch (&result_record, result, host, &voices->arena);
        result->done = result->spoke = true;
        memcpy (result->facts.items, long_facts (host, &voices->arena), LONG_FACTS * sizeof (struct var));
    }
}

/* What the judge is to find, so that it does not always stop at the same. */
enum flaw { FLAW_NONE = 0, FLAW_DIFFERS, FLAW_FINDINGS, FLAW_CHECKS, FLAW_LINES, FLAWS };

static struct result flawed (const struct voices *voices, uint32_t host, enum flaw flaw)
{
    struct result result = voices->said[host];
    if (flaw != FLAW_FINDINGS)
        result.findings.n = 0;
    if (flaw != FLAW_CHECKS)
        result.checks.n = 0;
    if (flaw != FLAW_LINES)
        result.bad_lines = 0;
    bool differs = flaw == FLAW_DIFFERS; /* in what all hosts of a slice must have alike */
    result.bundle.items[0].name = differs ? TEXT_LIT ("fingerprint") : TEXT_LIT ("name");
    result.policy.items[0].name = differs ? TEXT_LIT ("XLA_FLAGS") : TEXT_LIT ("name");
    return result;
}

static void run_stretched (const struct voices *voices, void (*with) (struct plan *), enum ending ending, uint32_t code,
                           enum flaw flaw)
{
    struct bench bench;
    bench_open_with (&bench, with);
    for (uint32_t host = 0; host < HOSTS; host++) {
        struct msg msg = { .kind = MSG_RESULT, .of.result = flawed (voices, host, flaw) };
        msg.of.result.key = bench.runs[host].key;
        msg.of.result.ending = ending;
        msg.of.result.code = code;
        tell (&bench, host, &msg);
    }
    assert_true (count (&bench, FACT_PASS_ENDED) > 0);
    stretched_fits (bench.facts, bench.facts_n);
    bench_close (&bench);
}

/* What a program said counts only when it ended well; what was found in its cache, always. */
static void run_endings (const struct voices *voices, void (*with) (struct plan *))
{
    for (enum flaw flaw = FLAW_NONE; flaw < FLAWS; flaw++)
        run_stretched (voices, with, ENDING_EXITED, 0, flaw);
    for (uint32_t ending = ENDING_EXITED; ending < ending_names.n; ending++) {
        run_stretched (voices, with, (enum ending) ending, 1, FLAW_NONE);
        run_stretched (voices, with, (enum ending) ending, 1, FLAW_FINDINGS);
    }
}

TEST (every_fact_fits_whatever_a_worker_says)
{
    void (*const plans[]) (struct plan *) = { of_a_slice, survey_of_tpus, restore, survey_of_storage };
    struct voices voices;
    voices_open (&voices);
    for (size_t i = 0; i < sizeof plans / sizeof plans[0]; i++)
        run_endings (&voices, plans[i]);
    arena_release (&voices.arena);
}

/* ---- what comes in beside results ---- */

static void feed (struct bench *bench, const struct core_input *in)
{
    step (bench, in);
    stretched_fits (bench->facts, bench->facts_n);
}

/* `knows`: of facts that the journal lacks, when it says hello. */
static void say (struct bench *bench, uint32_t host, enum msg_kind kind, bool knows)
{
    struct arena arena = { 0 };
    struct msg msg = { .kind = kind };
    stretch (msg_record_of_kind (kind), &msg.of, host, &arena);
    if (kind == MSG_HELLO && !knows)
        msg.of.hello.told_epoch = msg.of.hello.told_index = 0;
    tell (bench, host, &msg);
    stretched_fits (bench->facts, bench->facts_n);
    arena_release (&arena);
}

TEST (every_fact_fits_whatever_else_comes_in)
{
    struct text longest = stretched_text (3, TEXT_MAX_BYTES);
    for (enum msg_kind kind = MSG_HELLO; msg_is_from_worker (kind); kind++) {
        struct bench bench;
        bench_open_with (&bench, of_a_slice);
        for (uint32_t host = 0; host < HOSTS; host++)
            say (&bench, host, kind, false);
        for (uint32_t host = 0; host < HOSTS; host++)
            feed (&bench, &(struct core_input){ .kind = IN_WORKER_EXITED, .host = host, .text = longest });
        assert_true (coord_ended (bench.coord, NULL));
        bench_close (&bench);
    }
}

TEST (what_a_worker_knows_and_the_journal_lacks_fits)
{
    struct bench bench;
    bench_open_with (&bench, of_a_slice);
    say (&bench, 3, MSG_HELLO, true);
    assert_int_equal (count (&bench, FACT_LOSS_TOLD), 1);
    bench_close (&bench);
}

/* ---- one absurd number at a time ---- */

static void no_retries (struct plan *plan)
{
    plan->limits.retries = 0;
}

/* One of each list, so that every number of the table is there. */
static void fill_lists (const struct record *record, void *value, struct arena *arena)
{
    for (uint32_t i = 0; i < record->fields_n; i++) {
        const struct field *field = &record->fields[i];
        void *at = (char *) value + field->offset;
        struct any_list *list = at;
        if (field->kind == FIELD_RECORD)
            fill_lists (field->of, at, arena);
        if (field->kind != FIELD_LIST || field->item != FIELD_RECORD)
            continue;
        if (!list->n)
            *list = (struct any_list){ arena_array (arena, 1, field->of->bytes), 1 };
        fill_lists (field->of, list->items, arena);
    }
}

static uint64_t one_of_three (uint64_t max, uint32_t which)
{
    return which == 0 ? 0 : which == 1 ? max - 1 : max;
}

/* Sets the number at place *left, counted down; true: done. */
static bool set_number (const struct record *record, void *value, uint32_t *left, uint32_t which)
{
    for (uint32_t i = 0; i < record->fields_n; i++) {
        const struct field *field = &record->fields[i];
        char *at = (char *) value + field->offset;
        const struct any_list *list = (const struct any_list *) at;
        bool number = field->kind == FIELD_U64 || field->kind == FIELD_U32;
        if (field->kind == FIELD_RECORD && set_number (field->of, at, left, which))
            return true;
        if (field->kind == FIELD_LIST && field->item == FIELD_RECORD && list->n &&
            set_number (field->of, list->items, left, which))
            return true;
        if (!number || (*left)-- > 0)
            continue;
        if (field->kind == FIELD_U32)
            *(uint32_t *) at = (uint32_t) one_of_three (field->max, which);
        else
            *(uint64_t *) at = one_of_three (field->max, which);
        return true;
    }
    return false;
}

/* What stands around a message. False: no such number. */
static bool set_envelope (struct msg *msg, uint32_t place, uint32_t which)
{
    uint64_t *wide[] = { &msg->epoch, &msg->session, &msg->seq, &msg->ack };
    if (place < 4)
        *wide[place] = one_of_three (UINT64_MAX, which);
    else if (place < 6)
        *(place == 4 ? &msg->major : &msg->minor) = (uint32_t) one_of_three (UINT32_MAX, which);
    return place < 6;
}

/* As a worker that does everything right says it; without lists in a heartbeat, so that only the number is odd. */
static void say_well (struct bench *bench, uint32_t host, enum msg_kind kind)
{
    struct arena arena = { 0 };
    uint64_t secrets[HOSTS] = { 0 };
    struct msg msg = { .kind = kind, .epoch = bench->coord->state->epoch };
    bench_deal (bench, secrets);
    if (kind == MSG_RESULT)
        sample_result (&bench->runs[host], secrets, &msg.of.result, &arena);
    tell (bench, host, &msg);
    arena_release (&arena);
}

static struct msg odd_message (struct bench *bench, enum msg_kind kind, struct arena *arena)
{
    uint64_t secrets[HOSTS] = { 0 };
    struct msg msg = { .kind = kind, .epoch = 1, .session = bench->coord->state->hosts.items[0].session };
    msg.seq = ++bench->seq;
    if (kind == MSG_HELLO)
        msg.of.hello = (struct msg_hello){ .version = TEXT_LIT ("t"), .pid = 100, .pid_start = 1 };
    if (kind == MSG_RESULT) {
        bench_deal (bench, secrets);
        sample_result (&bench->runs[0], secrets, &msg.of.result, arena);
    }
    if (msg_record_of_kind (kind))
        fill_lists (msg_record_of_kind (kind), &msg.of, arena);
    return msg;
}

/* False: the kind has no number at this place. */
static bool survives (enum msg_kind kind, uint32_t place, uint32_t which)
{
    struct bench bench;
    struct arena arena = { 0 };
    bench_open_with (&bench, no_retries);
    struct msg msg = odd_message (&bench, kind, &arena);
    uint32_t left = place - 6;
    bool set = place < 6 ? set_envelope (&msg, place, which)
                         : set_number (msg_record_of_kind (kind), &msg.of, &left, which);
    struct core_input in = { .kind = IN_MSG, .msg = &msg, .text = text_of ("sha") };
    if (set)
        step (&bench, &in);
    for (uint32_t host = 1; host < HOSTS; host++) {
        say_well (&bench, host, MSG_HEARTBEAT);
        say_well (&bench, host, MSG_RESULT);
    }
    say_well (&bench, 0, MSG_RESULT);
    for (int i = 0; i < 600 && !coord_ended (bench.coord, NULL); i++) { /* it may have silenced itself */
        bench.now_ms += 900;
        for (uint32_t host = 1; host < HOSTS; host++)
            say_well (&bench, host, MSG_HEARTBEAT);
        step (&bench, &(struct core_input){ .kind = IN_TICK });
    }
    stretched_fits (bench.facts, bench.facts_n);
    if (bench.coord->state->lost_facts.len || !coord_ended (bench.coord, NULL))
        fail_msg ("%s, number %u, value %u: %s", msg_name (kind), place, which,
                  bench.coord->state->lost_facts.len ? bench.coord->state->lost_facts.ptr : "did not end");
    for (uint32_t i = 0; i < bench.facts_n; i++)
        if (bench.facts[i].kind == FACT_HOST_LOST && bench.facts[i].of.host_lost.host != 0)
            fail_msg ("%s, number %u, value %u: host %u was lost", msg_name (kind), place, which,
                      bench.facts[i].of.host_lost.host);
    bench_close (&bench);
    arena_release (&arena);
    return set;
}

TEST (no_number_of_one_worker_ends_more_than_its_own_part)
{
    static const enum msg_kind kinds[] = { MSG_HELLO, MSG_HEARTBEAT, MSG_RESULT, MSG_BYE };
    uint32_t tried = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (uint32_t place = 0; survives (kinds[i], place, 0); place++, tried++)
            assert_true (survives (kinds[i], place, 1) && survives (kinds[i], place, 2));
    print_message ("  %u numbers\n", tried);
    assert_true (tried > 60);
}
