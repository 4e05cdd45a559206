#include "coordinator/verdict/isolate.h"

#include <string.h>

/* FAILED_EVERYWHERE parts failed and none works: then the failure is not one of single hosts. */
enum { FAILED_EVERYWHERE = 6, VOIDS_MAX = 3, LEAST_HOSTS = 2 };
/* A part may take TIMES_LONGER times as long as one that worked, plus SLACK_MS for a busy machine. */
enum { TIMES_LONGER = 4, SLACK_MS = 30000 };
enum { QUEUE_MAX = 2 * ISOLATE_TRIALS_MAX + 1 }; /* a trial that fails adds one set */

/* ---- the walk: halves of what fails, until single hosts are left ---- */

enum answer { ANSWER_WORKS, ANSWER_FAILED, ANSWER_CANNOT, ANSWER_AWAITED };

struct walk {
    const struct isolate_case *of;
    struct arena *arena;
    struct isolate_step *out;
    bool *works;                 /* per host: it took part in a trial that works */
    bool *suspect, *linked;      /* per host */
    struct isolate_set together; /* fails, and each half of it works */
    bool any_works;              /* of all trials, as the next two */
    uint32_t failed_n, voids_n;
    struct isolate_set queue[QUEUE_MAX]; /* sets that fail */
    uint32_t head, tail;
};

static bool isolate_holds (const struct isolate_set *set, uint32_t host)
{
    uint32_t from = 0, to = set->n;
    while (from < to) {
        uint32_t middle = from + (to - from) / 2;
        if (set->items[middle] < host)
            from = middle + 1;
        else
            to = middle;
    }
    return from < set->n && set->items[from] == host;
}

static struct isolate_set slice_of (const struct isolate_set *set, uint32_t from, uint32_t n)
{
    return (struct isolate_set){ set->items + from, n };
}

static struct isolate_set isolate_join (const struct isolate_set *a, const struct isolate_set *b, struct arena *arena)
{
    struct isolate_set both = { arena_array (arena, a->n + b->n, sizeof (uint32_t)), 0 };
    uint32_t i = 0, k = 0;
    while (i < a->n || k < b->n)
        both.items[both.n++] = k == b->n || (i < a->n && a->items[i] < b->items[k]) ? a->items[i++] : b->items[k++];
    return both;
}

/* Fills `what` up to a valid group with hosts that worked elsewhere, but none of `within`, the suspects. */
static bool fill_up (const struct walk *walk, const struct isolate_set *what, const struct isolate_set *within,
                     struct isolate_set *run)
{
    uint32_t unit = walk->of->unit, wanted = ((what->n < LEAST_HOSTS ? LEAST_HOSTS : what->n) + unit - 1) / unit * unit;
    struct isolate_set more = { arena_array (walk->arena, wanted, sizeof (uint32_t)), 0 };
    for (uint32_t i = 0; i < walk->of->hosts && what->n + more.n < wanted; i++)
        if (walk->works[i] && !isolate_holds (within, i) && !isolate_holds (what, i))
            more.items[more.n++] = i;
    if (what->n + more.n < wanted && what->n % unit != 0)
        return false;
    if (what->n + more.n < wanted)
        more.n = 0; /* there is no other host: it runs alone */
    *run = isolate_join (what, &more, walk->arena);
    return true;
}

static const struct isolate_trial *trial_of (const struct walk *walk, const struct isolate_set *run)
{
    for (const struct isolate_trial *trial = walk->of->trials; trial < walk->of->trials + walk->of->trials_n; trial++)
        if (trial->answer != ISOLATE_VOID && trial->hosts.n == run->n &&
            memcmp (trial->hosts.items, run->items, run->n * sizeof (run->items[0])) == 0)
            return trial;
    return NULL;
}

/* Does `what` fail, filled up to a valid group? */
static enum answer isolate_ask (struct walk *walk, const struct isolate_set *what, const struct isolate_set *within)
{
    struct isolate_set run;
    if (what->n == walk->of->hosts)
        return ANSWER_FAILED; /* the whole slice has failed */
    if (!fill_up (walk, what, within, &run))
        return ANSWER_CANNOT;
    const struct isolate_trial *trial = trial_of (walk, &run);
    for (uint32_t i = 0; trial && trial->answer == ISOLATE_WORKS && i < run.n; i++)
        walk->works[run.items[i]] = true;
    if (trial)
        return trial->answer == ISOLATE_WORKS ? ANSWER_WORKS : ANSWER_FAILED;
    if (walk->of->trials_n >= isolate_trials_max (walk->of->hosts) || walk->voids_n >= VOIDS_MAX)
        return ANSWER_CANNOT;
    *walk->out = (struct isolate_step){ ISOLATE_RUN, run };
    return ANSWER_AWAITED;
}

static void halve (const struct walk *walk, const struct isolate_set *set, struct isolate_set *a, struct isolate_set *b)
{
    uint32_t unit = walk->of->unit, units = set->n / unit, n = units > 1 ? units / 2 * unit : set->n / 2;
    *a = slice_of (set, 0, n);
    *b = slice_of (set, n, set->n - n);
}

static void mark (bool *marks, const struct isolate_set *set)
{
    for (uint32_t i = 0; i < set->n; i++)
        marks[set->items[i]] = true;
}

/* Reduces `set`, which fails together with `fixed`, to the smallest part that does. False: a trial is awaited. */
static bool narrow (struct walk *walk, struct isolate_set *set, const struct isolate_set *fixed,
                    const struct isolate_set *within)
{
    while (set->n > 1) {
        struct isolate_set a, b;
        halve (walk, set, &a, &b);
        struct isolate_set beside = isolate_join (fixed, &a, walk->arena);
        enum answer answer = isolate_ask (walk, &beside, within);
        if (answer == ANSWER_AWAITED)
            return false;
        if (answer == ANSWER_CANNOT)
            break;
        *set = answer == ANSWER_FAILED ? a : b;
    }
    return true;
}

static bool worked_in_company (const struct walk *walk, uint32_t host)
{
    for (uint32_t i = 0; i < walk->of->trials_n; i++) {
        const struct isolate_trial *trial = &walk->of->trials[i];
        if (trial->answer == ISOLATE_WORKS && trial->hosts.n > 1 && isolate_holds (&trial->hosts, host))
            return true;
    }
    return false;
}

/* Does a host of a failing pair also fail beside a third that works? False: a trial is awaited. */
static bool pair_anew (struct walk *walk, uint32_t host, const struct isolate_set *pair)
{
    struct isolate_set alone = { &host, 1 };
    bool company = false;
    for (uint32_t i = 0; i < walk->of->hosts; i++)
        company = company || (walk->works[i] && !isolate_holds (pair, i));
    if (!company || worked_in_company (walk, host))
        return true;
    enum answer answer = isolate_ask (walk, &alone, pair);
    if (answer == ANSWER_FAILED)
        walk->suspect[host] = true;
    return answer != ANSWER_AWAITED;
}

static bool name_pair (struct walk *walk, const struct isolate_set *pair)
{
    for (uint32_t i = 0; i < pair->n; i++)
        if (!pair_anew (walk, pair->items[i], pair))
            return false;
    bool host = false;
    for (uint32_t i = 0; i < pair->n; i++)
        host = host || walk->suspect[pair->items[i]];
    if (!host)
        mark (walk->linked, pair);
    return true;
}

/* Both halves of a failing set work, so the failure needs hosts of both. */
static bool cross (struct walk *walk, const struct isolate_set *set, struct isolate_set a, struct isolate_set b)
{
    if (!narrow (walk, &b, &a, set) || !narrow (walk, &a, &b, set))
        return false;
    struct isolate_set pair = isolate_join (&a, &b, walk->arena);
    enum answer answer = set->n == pair.n ? ANSWER_FAILED : isolate_ask (walk, &pair, set);
    if (answer == ANSWER_AWAITED)
        return false;
    if (answer == ANSWER_FAILED && a.n == 1 && b.n == 1)
        return name_pair (walk, &pair);
    if (set->n != walk->of->hosts)
        walk->together = *set;
    return true;
}

/* `within`: the failed set. A half that could not be tried is no evidence. */
static void settle_half (struct walk *walk, enum answer answer, const struct isolate_set *half, bool other_failed,
                         const struct isolate_set *within)
{
    if (answer == ANSWER_FAILED && walk->tail < QUEUE_MAX)
        walk->queue[walk->tail++] = *half;
    else if (answer == ANSWER_CANNOT && !other_failed && within->n != walk->of->hosts)
        mark (walk->suspect, half); /* no smaller group tells more */
}

static bool isolate_split (struct walk *walk, const struct isolate_set *set)
{
    struct isolate_set a, b;
    if (set->n == 1) {
        mark (walk->suspect, set);
        return true;
    }
    halve (walk, set, &a, &b);
    enum answer first = isolate_ask (walk, &a, set),
                second = first == ANSWER_AWAITED ? ANSWER_AWAITED : isolate_ask (walk, &b, set);
    if (second == ANSWER_AWAITED)
        return false;
    if (first == ANSWER_WORKS && second == ANSWER_WORKS)
        return cross (walk, set, a, b);
    settle_half (walk, first, &a, second == ANSWER_FAILED, set);
    settle_half (walk, second, &b, first == ANSWER_FAILED, set);
    return true;
}

/* ---- the end of it ---- */

static struct isolate_set marked (const struct walk *walk, const bool *marks, const bool *more)
{
    struct isolate_set set = { arena_array (walk->arena, walk->of->hosts, sizeof (uint32_t)), 0 };
    for (uint32_t i = 0; i < walk->of->hosts; i++)
        if (marks[i] || more[i])
            set.items[set.n++] = i;
    return set;
}

static void conclude (const struct walk *walk, struct isolate_step *out)
{
    struct isolate_set none = { NULL, 0 }, hosts = marked (walk, walk->suspect, walk->suspect);
    const struct isolate_trial *trials = walk->of->trials;
    bool apart = walk->of->trials_n > 1 && trials[0].answer == ISOLATE_FAILED && trials[1].answer == ISOLATE_FAILED;
    for (uint32_t i = 0; i < walk->of->trials_n; i++) /* who works alone has nobody to work with */
        apart = apart && (trials[i].answer == ISOLATE_WORKS) == (trials[i].hosts.n == walk->of->unit);
    if (!walk->any_works || apart)
        *out = (struct isolate_step){ walk->failed_n ? ISOLATE_EVERYWHERE : ISOLATE_NO_EVIDENCE, none };
    else if (hosts.n)
        *out = (struct isolate_step){ ISOLATE_HOSTS, marked (walk, walk->suspect, walk->linked) };
    else if ((hosts = marked (walk, walk->linked, walk->linked)).n)
        *out = (struct isolate_step){ ISOLATE_LINK, hosts };
    else
        *out = (struct isolate_step){ ISOLATE_TOGETHER, walk->together };
}

void isolate_next (const struct isolate_case *of, struct arena *arena, struct isolate_step *out)
{
    struct walk walk = { .of = of,
                         .arena = arena,
                         .out = out,
                         .works = arena_array (arena, of->hosts, sizeof (bool)),
                         .suspect = arena_array (arena, of->hosts, sizeof (bool)),
                         .linked = arena_array (arena, of->hosts, sizeof (bool)) };
    struct isolate_set all = { arena_array (arena, of->hosts, sizeof (uint32_t)), of->hosts };
    for (uint32_t i = 0; i < of->hosts; i++)
        all.items[i] = i;
    for (uint32_t i = 0; i < of->trials_n; i++) {
        walk.failed_n += of->trials[i].answer == ISOLATE_FAILED;
        walk.any_works = walk.any_works || of->trials[i].answer == ISOLATE_WORKS;
        walk.voids_n += of->trials[i].answer == ISOLATE_VOID;
    }
    walk.queue[walk.tail++] = all;
    while (walk.head != walk.tail && (walk.any_works || walk.failed_n < FAILED_EVERYWHERE))
        if (!isolate_split (&walk, &walk.queue[walk.head++]))
            return;
    conclude (&walk, out);
}

uint32_t isolate_trials_max (uint32_t hosts)
{
    uint32_t levels = 0;
    while (1u << levels < hosts)
        levels++;
    return 2 * levels + 4;
}

uint64_t isolate_timeout_ms (uint64_t rung_timeout_ms, const struct isolate_trial *trials, uint32_t n)
{
    uint64_t longest_ms = 0;
    bool works = false;
    for (uint32_t i = 0; i < n; i++) {
        if (trials[i].answer != ISOLATE_WORKS)
            continue;
        works = true;
        longest_ms = trials[i].duration_ms > longest_ms ? trials[i].duration_ms : longest_ms;
    }
    uint64_t enough_ms = TIMES_LONGER * longest_ms + SLACK_MS;
    return works && enough_ms < rung_timeout_ms ? enough_ms : rung_timeout_ms;
}

/* ---- groups ---- */

static uint32_t common_divisor (uint32_t a, uint32_t b)
{
    while (b) {
        uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static uint32_t without_first (const struct mesh *whole)
{
    uint32_t devices = mesh_devices (whole);
    return whole->n && devices ? devices / whole->items[0].size : 0;
}

uint32_t isolate_unit (const struct mesh *whole, uint32_t devices_per_host)
{
    uint32_t rest = without_first (whole);
    return rest && devices_per_host ? rest / common_divisor (rest, devices_per_host) : 0;
}

bool isolate_mesh (const struct mesh *whole, uint32_t devices_per_host, uint32_t hosts, struct arena *arena,
                   struct mesh *out)
{
    uint32_t unit = isolate_unit (whole, devices_per_host);
    if (unit == 0 || hosts == 0 || hosts % unit != 0)
        return false;
    out->items = arena_copy (arena, whole->items, whole->n * sizeof (whole->items[0]));
    out->n = whole->n;
    out->items[0].size = (uint32_t) ((uint64_t) hosts * devices_per_host / without_first (whole));
    return true;
}
