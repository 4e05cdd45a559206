/* faults.c - for tests/campaign/faults, which says what it does:
 * faults FIRST N AGAIN_EVERY [until-broken] | faults replay TEXT | faults shrink TEXT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/model/msg.h"
#include "sweep.h"

static void print_broken (void *owner, const struct scenario *scenario, const char *how)
{
    LOCAL_BUF line = { .max = 1 << 16 };
    (void) owner;
    scenario_print (scenario, &line);
    printf ("broken\t%s\t%s\n", how, buf_c (&line));
    fflush (stdout);
    fprintf (stderr, "broken promise %s: tests/campaign/faults --replay '%s'\n", how, buf_c (&line));
}

static void print_counts (const char *what, const uint32_t *counts, uint32_t n, const char *(*name_of) (uint32_t))
{
    for (uint32_t i = 0; i < n; i++)
        if (name_of (i))
            printf ("%s\t%s\t%u\n", what, name_of (i), counts[i]);
}

static const char *fact_word (uint32_t kind)
{
    return kind && fact_record_of_kind ((enum fact_kind) kind) ? fact_name ((enum fact_kind) kind) : NULL;
}

static const char *message_word (uint32_t kind)
{
    return msg_is_known ((enum msg_kind) kind) ? msg_name ((enum msg_kind) kind) : NULL;
}

static const char *effect_word (uint32_t kind)
{
    static const char *const names[] = { "launch",        "send",       "admit",     "ask-host",    "cache-find",
                                         "token",         "lease-beat", "lease-end", "cache-audit", "cache-drop",
                                         "cache-publish", "end",        "facts-lost" };
    return kind < sizeof (names) / sizeof (names[0]) ? names[kind] : NULL;
}

static const char *input_word (uint32_t kind)
{
    static const char *const names[] = { "tick",        "message",           "worker-keyed", "worker-exited",
                                         "worker-step", "run-undeliverable", "cache-found",  "token",
                                         "lease-taken", "cache-audited",     "cancel",       "output",
                                         "look",        "host-asked",        "output-lost" };
    return kind < sizeof (names) / sizeof (names[0]) ? names[kind] : NULL;
}

static const char *order_word (uint32_t kind)
{
    static const char *const names[] = { "send", "start", "look", "go", "stop", "keep", "forget", "exit" };
    return kind < sizeof (names) / sizeof (names[0]) ? names[kind] : NULL;
}

static const char *fault_word (uint32_t kind)
{
    return kind ? fault_name ((enum fault_kind) kind) : NULL;
}

static void print_swept (const struct swept *swept)
{
    const struct tally *tally = &swept->tally;
    printf ("swept\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
            "\n",
            swept->seeds, swept->again, swept->messages, swept->lost, swept->facts, swept->lives, swept->programs,
            swept->passed);
    print_counts ("fact", tally->facts, 96, fact_word);
    print_counts ("message", tally->messages, 64, message_word);
    print_counts ("effect", tally->effects, 24, effect_word);
    print_counts ("input", tally->inputs, 24, input_word);
    print_counts ("order", tally->orders, 16, order_word);
    print_counts ("fault", tally->faults, FAULT_N, fault_word);
}

static void tell_fact (void *owner, const struct fact *fact)
{
    (void) owner;
    printf ("%8" PRIu64 " ms  %s", fact->at_ms, fact_name (fact->kind));
    if (fact->index)
        printf ("  %" PRIu64, fact->index);
    if (fact->kind == FACT_HOST_LOST)
        printf ("  host%u: %.*s", fact->of.host_lost.host, TEXT_ARG (fact->of.host_lost.why));
    if (fact->kind == FACT_ATTEMPT_ENDED)
        printf ("  host%u: rung %u, pass %u, attempt %u: %s %u", fact->of.attempt_ended.host,
                fact->of.attempt_ended.result.key.rung, fact->of.attempt_ended.result.key.pass,
                fact->of.attempt_ended.result.key.attempt,
                enum_name_of (&ending_names, fact->of.attempt_ended.result.ending), fact->of.attempt_ended.at_gate);
    if (fact->kind == FACT_PASS_BEGAN)
        printf ("  rung %u, pass %u, attempt %u", fact->of.pass_began.key.rung, fact->of.pass_began.key.pass,
                fact->of.pass_began.key.attempt);
    if (fact->kind == FACT_LOSS_TOLD)
        printf ("  host%u: %.*s", fact->of.loss_told.host, TEXT_ARG (fact->of.loss_told.why));
    if (fact->kind == FACT_RUN_ENDED)
        printf ("  %.*s", TEXT_ARG (fact->of.run_ended.sentence));
    if (fact->kind == FACT_HOST_JOINED || fact->kind == FACT_HOST_SUSPECTED || fact->kind == FACT_HOST_RETURNED)
        printf ("  host%u", fact->of.host_joined.host);
    putchar ('\n');
}

static int one (const char *what, const char *line)
{
    struct scenario scenario = scenario_calm (1, 1);
    char how[HOW_BYTES];
    if (!scenario_read (&scenario, line, NULL)) {
        fprintf (stderr, "faults: cannot read: %s\n", line);
        return 2;
    }
    if (strcmp (what, "tell") == 0) {
        scenario.hear = tell_fact;
        setvbuf (stdout, NULL, _IOLBF, 0);
    }
    if (sweep_holds (&scenario, NULL)) {
        printf ("holds\n");
        return 0;
    }
    if (strcmp (what, "shrink") == 0) {
        sweep_holds (&scenario, how);
        sweep_shrink (&scenario, how);
        print_broken (NULL, &scenario, how);
    }
    return 1;
}

int main (int argc, char **argv)
{
    if (argc == 3)
        return one (argv[1], argv[2]);
    if (argc < 4)
        return 2;
    struct sweep sweep = { .first = strtoull (argv[1], NULL, 10),
                           .n = strtoull (argv[2], NULL, 10),
                           .again_every = strtoull (argv[3], NULL, 10),
                           .until_broken = argc > 4,
                           .broken = print_broken };
    struct swept swept;
    sweep_run (&sweep, &swept);
    print_swept (&swept);
    return swept.broken > 0;
}
