/* calibrate.c - measures of launches against each other: what grew with another bundle, and what passed in place of a
 * launch that is known bad. docs/spec/calibration.md. */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "common/base/duration.h"
#include "coordinator/story/measure_fold.h"
#include "coordinator/verdict/flag_set.h"

/* ---- what grew ---- */

enum {
    GREW_PERCENT = 30,
    TIME_FLOOR_MS = 1000,
    MEMORY_FLOOR_BYTES = 16 << 20,
    TIMES_LEAST = 3,
    PACKAGES_NAMED = 3,
};

/* A compiler lays the same program out in the same way, and a device counts what it was asked for: one measure tells.
 * Times, and what a process keeps, vary from run to run: of three the median is not the one that was disturbed. */
enum { DURATION = 4 };
static const struct quantity {
    const char *name, *takes;
    size_t offset;
    uint32_t least;
    bool time;
} quantities[] = {
    { "predicted_bytes", "its program takes", offsetof (struct measure, predicted_bytes), 1, false },
    { "device_peak_bytes", "a device holds", offsetof (struct measure, device_peak_bytes), 1, false },
    { "host_peak_bytes", "its process holds", offsetof (struct measure, host_peak_bytes), TIMES_LEAST, false },
    { "start_ms", "it starts within", offsetof (struct measure, start_ms), TIMES_LEAST, true },
    [DURATION] = { "duration_ms", "it takes", offsetof (struct measure, duration_ms), TIMES_LEAST, true },
};

static uint64_t calibrate_number (const struct measure *measure, const struct quantity *of)
{
    return *(const uint64_t *) ((const char *) measure + of->offset);
}

static bool is_same_pass (const struct measure *a, const struct measure *b)
{
    return a->outcome == OUTCOME_PASSED && a->pass == b->pass && text_equal (a->shape, b->shape);
}

/* The median of those of `bundle` that passed before, and know it. */
static uint64_t median_of (const struct measure_list *all, const struct measure *bundle, const struct quantity *of,
                           uint64_t before_ms, struct arena *arena, uint32_t *n)
{
    uint64_t *numbers = arena_array (arena, all->n, sizeof *numbers);
    *n = 0;
    for (uint32_t i = 0; i < all->n; i++)
        if (is_same_pass (&all->items[i], bundle) && text_equal (all->items[i].signature, bundle->signature) &&
            all->items[i].ended_wall_ms < before_ms && calibrate_number (&all->items[i], of))
            numbers[(*n)++] = calibrate_number (&all->items[i], of);
    qsort (numbers, *n, sizeof *numbers, u64_order);
    return *n ? numbers[*n / 2] : 0;
}

/* "jax 0.10.2, jaxlib 0.10.2": the words of `set` that `other` lacks. */
static void put_packages (struct text set, struct text other, struct buf *out, struct arena *arena)
{
    struct text rest = flag_set_subtract (set, other, arena), word, name;
    for (uint32_t n = 0; flag_set_next (&rest, &word); n++) {
        if (n == PACKAGES_NAMED)
            buf_puts (out, " and others");
        if (n >= PACKAGES_NAMED)
            continue;
        (void) text_cut (&word, '=', &name);
        buf_printf (out, "%s%.*s %.*s", n ? ", " : "", TEXT_ARG (name), TEXT_ARG (word));
    }
}

void measure_put_bundle (const struct measure *of, const struct measure *other, struct arena *arena, struct buf *out)
{
    LOCAL_BUF own = { .max = SENTENCE_MAX_BYTES }, others = { .max = SENTENCE_MAX_BYTES };
    put_packages (of->packages, other->packages, &own, arena);
    put_packages (other->packages, of->packages, &others, arena);
    if (of->packages.len && other->packages.len && own.len + others.len)
        buf_printf (out, own.len ? "with %s" : "without %s", buf_c (own.len ? &own : &others));
    else if (of->pins.len && !text_equal (of->pins, other->pins))
        buf_printf (out, "with the pin set %.*s", TEXT_ARG (of->pins));
    else
        buf_printf (out, "as launch %.*s", TEXT_ARG (of->signature));
}

static void put_number (const struct quantity *of, uint64_t number, struct buf *out)
{
    buf_puts (out, of->time ? DURATION_TEXT (number) : SIZE_TEXT (number));
}

static struct text change_sentence (const struct quantity *of, const struct stack_change *change,
                                    const struct measure *now, const struct measure *before, struct arena *arena)
{
    LOCAL_BUF out = { .max = SENTENCE_MAX_BYTES };
    buf_printf (&out, "rung %.*s%s%s: %s ", TEXT_ARG (now->rung), now->pass == PASS_ONCE ? "" : ", pass ",
                now->pass == PASS_ONCE ? "" : enum_name_of (&pass_names, now->pass), of->takes);
    put_number (of, change->now, &out);
    buf_byte (&out, ' ');
    measure_put_bundle (now, before, arena, &out);
    buf_puts (&out, ", ");
    put_number (of, change->before, &out);
    buf_byte (&out, ' ');
    measure_put_bundle (before, now, arena, &out);
    buf_printf (&out, ": %.0f %% more", 100.0 * ((double) change->now / (double) change->before - 1));
    return text_copy (arena, buf_as_text (&out));
}

uint32_t measure_stack_changes (const struct measure_list *all, const struct measure *now, struct arena *arena,
                                struct stack_change out[STACK_CHANGES_MAX])
{
    const struct measure *before = NULL;
    uint32_t n = 0;
    for (uint32_t i = 0; i < all->n && !before; i++)
        if (is_same_pass (&all->items[i], now) && !text_equal (all->items[i].signature, now->signature) &&
            all->items[i].ended_wall_ms < now->ended_wall_ms)
            before = &all->items[i];
    for (size_t i = 0; before && i < sizeof quantities / sizeof quantities[0]; i++) {
        const struct quantity *of = &quantities[i];
        struct stack_change change = { .what = of->name };
        change.now = median_of (all, now, of, UINT64_MAX, arena, &change.now_n);
        change.before = median_of (all, before, of, UINT64_MAX, arena, &change.before_n);
        if (change.now_n < of->least || change.before_n < of->least ||
            change.now < change.before + (of->time ? TIME_FLOOR_MS : MEMORY_FLOOR_BYTES) ||
            (double) change.now < (double) change.before * (100 + GREW_PERCENT) / 100)
            continue;
        change.sentence = change_sentence (of, &change, now, before, arena);
        out[n++] = change;
    }
    return n;
}

/* ---- what was predicted ---- */

struct usual_time measure_usual_before (const struct measure_list *all, const struct measure *of, struct arena *arena)
{
    struct usual_time usual = { .pass = of->pass };
    uint64_t median_ms = median_of (all, of, &quantities[DURATION], of->ended_wall_ms, arena, &usual.runs);
    usual.ms = median_ms < INT64_MAX ? median_ms : INT64_MAX;
    return usual;
}

usual_time_list measure_usual_times (const struct measure_list *of_launch, struct arena *arena)
{
    usual_time_list usual = { .items = arena_array (arena, USUAL_TIMES_MAX, sizeof (struct usual_time)) };
    for (enum pass pass = PASS_ONCE; pass <= PASS_RESTORED && of_launch->n; pass++) {
        struct measure next = of_launch->items[0];
        next.pass = pass;
        next.ended_wall_ms = UINT64_MAX;
        usual.items[usual.n] = measure_usual_before (of_launch, &next, arena);
        usual.n += usual.items[usual.n].runs > 0;
    }
    return usual;
}

double measure_deviation (uint64_t predicted, uint64_t seen)
{
    return predicted && seen ? (double) seen / (double) predicted - 1 : NAN;
}

void measure_put_memory (uint64_t predicted, uint64_t seen, struct buf *out)
{
    double more = measure_deviation (predicted, seen);
    if (!isnan (more))
        buf_printf (out, "predicted %s, %s seen (%+.0f %%)", SIZE_TEXT (predicted), SIZE_TEXT (seen), 100 * more);
}

/* ---- what passed in place of what is known bad ---- */

bool measure_arg (struct text args, struct text name, struct text *value)
{
    for (struct text key; args.len;) {
        *value = text_take_until (&args, '\n');
        if (text_cut (value, '=', &key) && text_equal (key, name))
            return true;
    }
    return false;
}

/* An argument that differs counts 1, and at most 1 more by how far apart two numbers are. INFINITY: one is not set, and
 * a default cannot be asked for. */
static double args_apart (struct text wanted, struct text passed)
{
    double apart = 0;
    const struct text all = wanted;
    for (struct text line, name, other; wanted.len;) {
        uint64_t a, b;
        line = text_take_until (&wanted, '\n');
        if (!text_cut (&line, '=', &name) || !measure_arg (passed, name, &other))
            return INFINITY;
        bool sizes = text_to_u64 (line, &a) && text_to_u64 (other, &b) && a && b;
        apart += text_equal (line, other) ? 0 : sizes ? 1 + fabs (log2 ((double) a / (double) b)) / 64 : 2;
    }
    for (struct text name, other; passed.len;) {
        other = text_take_until (&passed, '\n');
        apart += text_cut (&other, '=', &name) && !measure_arg (all, name, &other) ? 2 : 0;
    }
    return apart;
}

/* Another bundle is a smaller change only where the bundle is at fault. */
static double calibrate_distance (const struct measure *bad, const struct measure *passed)
{
    bool bundle_at_fault = bad->owner == OWNER_BUNDLE || bad->owner == OWNER_COMPILER;
    bool other_bundle = !text_equal (passed->pins, bad->pins);
    return args_apart (bad->args, passed->args) + (!other_bundle ? 0 : bundle_at_fault ? 0.5 : 1.5);
}

const struct measure *measure_next_best (const struct measure_list *all, const struct measure *bad)
{
    const struct measure *best = NULL;
    double least = INFINITY;
    for (uint32_t i = 0, j; i < all->n; i++) {
        const struct measure *one = &all->items[i];
        bool same_file = text_equal (one->pin_file, bad->pin_file) || !one->pin_file.len; /* which has other pins now */
        if (one->outcome != OUTCOME_PASSED || !one->family.len || !text_equal (one->family, bad->family) ||
            (same_file && !text_equal (one->pins, bad->pins)))
            continue;
        double apart = calibrate_distance (bad, one);
        for (j = 0; j < i && !text_equal (all->items[j].signature, one->signature);)
            j++;
        if (j == i && apart > 0 && apart < least) { /* 0: another setup script, which no option gives */
            least = apart;
            best = one;
        }
    }
    return best;
}
