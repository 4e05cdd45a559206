/* drift.c - bench_drift: merging and comparing many receipts against a bare hash-group of the same values;
 * tests/bench/drift drives it.
 *
 *     bench_drift HOSTS FACTS TRIALS
 *
 * Prints one JSON object. As measured for the figures that the bound comes from, 1 fact in 20 differs on every host and
 * the rest on 1 host in 500. The bare side is what anybody would write: each value hashed and looked for in one table
 * of all (place, value) pairs, counted, its group noted for each host; nothing is named, judged or sorted, no name is
 * read. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "common/base/rng.h"
#include "common/io/clock.h"
#include "coordinator/story/drift.h"
#include "coordinator/story/frontier.h"
#include "coordinator/view/drift_view.h"

enum { TRIALS_MAX = 99, HOSTS_MOST = 100000, FACTS_MOST = 1000, VARIED = 20, ODD = 500 };

struct slice {
    struct arena arena;
    struct slice_receipt receipt;
};

static double ms_since (uint64_t began_ns)
{
    return (double) (clock_boot_ns () - began_ns) / 1e6;
}

/* Each host's texts are its own, as they are when they come from a journal or a file. */
static void make_host (struct slice *slice, uint32_t i, uint32_t facts, struct rng *rng)
{
    struct host_receipt *host = &slice->receipt.hosts.items[i];
    *host = (struct host_receipt){ .run = text_copy (&slice->arena, TEXT_LIT ("0cf485849361065668d7a8c0536851b3")),
                                   .host = text_format (&slice->arena, "host-%u", i),
                                   .rank = i };
    host->facts.items = arena_array (&slice->arena, facts, sizeof (struct var));
    host->facts.n = facts;
    for (uint32_t f = 0; f < facts; f++) {
        bool varied = f % VARIED == VARIED - 1, odd = rng_below (rng, ODD) == 0;
        host->facts.items[f].name = text_format (&slice->arena, "some.fact.%u", f);
        host->facts.items[f].value = varied ? text_format (&slice->arena, "%016" PRIx64, rng_next (rng))
                                     : odd  ? text_format (&slice->arena, "another value %u", f)
                                            : text_format (&slice->arena, "the usual value %u", f);
    }
}

static void make (struct slice *slice, uint32_t hosts, uint32_t facts)
{
    struct rng rng = rng_seed (1);
    slice->receipt.hosts.items = arena_array (&slice->arena, hosts, sizeof (struct host_receipt));
    slice->receipt.hosts.n = hosts;
    for (uint32_t i = 0; i < hosts; i++)
        make_host (slice, i, facts, &rng);
}

/* ---- bare ---- */

struct group {
    struct text value;
    uint64_t hash;
    uint32_t place, hosts_n;
};

static uint64_t hash_of (struct text text, uint64_t seed)
{
    uint64_t hash = seed ^ text.len, piece;
    for (uint32_t at = 0; at < text.len; at += 8) {
        piece = 0;
        memcpy (&piece, text.ptr + at, text.len - at < 8 ? text.len - at : 8);
        hash = (hash ^ piece) * 0x9e3779b97f4a7c15ull;
        hash ^= hash >> 32;
    }
    return hash;
}

static double bare (const struct slice *slice, uint64_t *sum)
{
    uint64_t began_ns = clock_boot_ns ();
    const struct slice_receipt *receipt = &slice->receipt;
    uint32_t facts = receipt->hosts.items[0].facts.n, size = 1 << 10;
    while (size < 2 * facts * (2 + receipt->hosts.n / VARIED))
        size *= 2;
    struct group *groups = mem_array (size, sizeof (*groups));
    uint32_t *of = mem_array ((size_t) receipt->hosts.n * facts, sizeof (*of));
    for (uint32_t i = 0; i < receipt->hosts.n; i++)
        for (uint32_t f = 0; f < facts; f++) {
            struct text value = receipt->hosts.items[i].facts.items[f].value;
            uint64_t hash = hash_of (value, f);
            uint32_t at = (uint32_t) (hash ^ hash >> 29) & (size - 1);
            while (groups[at].hosts_n &&
                   !(groups[at].hash == hash && groups[at].place == f && text_equal (groups[at].value, value)))
                at = (at + 1) & (size - 1);
            if (groups[at].hosts_n++ == 0)
                groups[at] = (struct group){ value, hash, f, 1 };
            of[(size_t) i * facts + f] = at;
        }
    *sum += of[(size_t) receipt->hosts.n * facts - 1];
    mem_free (groups);
    mem_free (of);
    return ms_since (began_ns);
}

/* ---- the project ---- */

struct times {
    double merge, compare, show;
};

/* The hosts' receipts as they come in: in no order. */
static struct slice_receipt shuffled (const struct slice *slice, struct arena *arena)
{
    struct rng rng = rng_seed (2);
    struct slice_receipt receipt = slice->receipt;
    receipt.hosts.items = arena_copy (arena, slice->receipt.hosts.items,
                                      receipt.hosts.n * sizeof (*receipt.hosts.items));
    for (uint32_t i = receipt.hosts.n; i > 1; i--) {
        uint32_t k = (uint32_t) rng_below (&rng, i);
        struct host_receipt kept = receipt.hosts.items[i - 1];
        receipt.hosts.items[i - 1] = receipt.hosts.items[k];
        receipt.hosts.items[k] = kept;
    }
    return receipt;
}

static struct times project (const struct slice *slice, uint64_t *sum)
{
    const struct drift_rule rules[] = {
        { .fact = TEXT_LIT ("fact some.fact.*9"), .kind = DRIFT_EXPECTED },
        { .fact = TEXT_LIT ("bundle *"), .kind = DRIFT_PINNED },
    };
    const struct drift_query query = { .rules = rules, .rules_n = 2 };
    const struct drift_subject subject = { .policy = "bench" };
    const struct style style = { .columns = 120 };
    struct arena arena = { 0 };
    struct drift drift;
    struct times times;
    struct buf out;
    struct slice_receipt receipt = shuffled (slice, &arena);
    uint64_t began_ns = clock_boot_ns ();
    merge_normalise (&receipt);
    times.merge = ms_since (began_ns);
    drift_compare_hosts (&receipt, &query, &arena, &drift);
    times.compare = ms_since (began_ns) - times.merge;
    buf_init (&out, 16 << 20);
    drift_print (&drift, &subject, false, &style, &out);
    times.show = ms_since (began_ns) - times.merge - times.compare;
    *sum += drift.findings;
    buf_release (&out);
    arena_release (&arena);
    return times;
}

static uint32_t number (const char *text, uint32_t most)
{
    uint64_t value;
    if (!text_to_u64 (text_of (text), &value) || value == 0 || value > most) {
        fprintf (stderr, "bench_drift: %s: expected a number from 1 to %u\n", text, most);
        exit (2);
    }
    return (uint32_t) value;
}

static void print (const char *name, const double *values, uint32_t n, const char *end)
{
    printf ("\"%s\": [", name);
    for (uint32_t i = 0; i < n; i++)
        printf ("%s%.3f", i ? ", " : "", values[i]);
    printf ("]%s", end);
}

int main (int argc, char **argv)
{
    double bares[TRIALS_MAX], merges[TRIALS_MAX], compares[TRIALS_MAX], shows[TRIALS_MAX];
    struct slice slice = { 0 };
    struct rusage usage;
    uint64_t sum = 0;
    if (argc != 4) {
        fprintf (stderr, "usage: bench_drift HOSTS FACTS TRIALS\n");
        return 2;
    }
    make (&slice, number (argv[1], HOSTS_MOST), number (argv[2], FACTS_MOST));
    uint32_t trials = number (argv[3], TRIALS_MAX);
    for (uint32_t i = 0; i < trials; i++) {
        if (i % 2)
            bares[i] = bare (&slice, &sum);
        struct times times = project (&slice, &sum);
        if (i % 2 == 0)
            bares[i] = bare (&slice, &sum);
        merges[i] = times.merge;
        compares[i] = times.compare;
        shows[i] = times.show;
    }
    getrusage (RUSAGE_SELF, &usage);
    printf ("{\"sum\": %" PRIu64 ", \"peak_kib\": %ld, ", sum, usage.ru_maxrss);
    print ("bare", bares, trials, ", ");
    print ("merge", merges, trials, ", ");
    print ("compare", compares, trials, ", ");
    print ("show", shows, trials, "}\n");
    arena_release (&slice.arena);
    return 0;
}
