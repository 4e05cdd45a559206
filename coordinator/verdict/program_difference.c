#include "coordinator/verdict/agree.h"

#include "coordinator/verdict/flag_set.h"

enum { SAID_BYTES = 2048, WORD_SHOWN_BYTES = 200, FINGERPRINT_SHOWN_BYTES = 12 };

struct comparison {
    struct arena *arena; /* of words, released after each comparison: thousands of hosts may differ */
    struct buf said;
    const char *others, *have, *lack; /* "the other hosts", "have it", "do not have it" */
    uint32_t n;
};

static bool next_thing (struct comparison *comparison)
{
    if (++comparison->n > DIFFERENCE_SHOWN)
        return false;
    if (comparison->n > 1)
        buf_puts (&comparison->said, "; ");
    return true;
}

static void tell_extra (struct comparison *comparison, struct text name, struct text has, struct text lacks,
                        bool is_mine)
{
    struct text word;
    while (flag_set_next (&has, &word))
        if (!flag_set_has (lacks, word) && next_thing (comparison))
            buf_printf (&comparison->said, "%.*s %s %.*s, %s %s", TEXT_ARG (name), is_mine ? "has" : "lacks",
                        TEXT_ARG (text_clip (word, WORD_SHOWN_BYTES)), comparison->others,
                        is_mine ? comparison->lack : comparison->have);
}

static void tell_words (struct comparison *comparison, struct text name, struct text mine, struct text theirs)
{
    if (text_equal (mine, theirs))
        return;
    mine = flag_set_normalise (mine, comparison->arena);
    theirs = flag_set_normalise (theirs, comparison->arena);
    tell_extra (comparison, name, mine, theirs, true);
    tell_extra (comparison, name, theirs, mine, false);
}

/* Variables whose values belong to one host, so that they always differ. */
static bool is_of_host (struct text name)
{
    static const char *const names[] = {
        "JAX_COMPILATION_CACHE_DIR",   "XLA_PERSISTENT_CACHE_PATH", "TPU_WORKER_ID",
        "CLOUD_TPU_TASK_ID",           "TPU_PROCESS_PORT",          "TPU_VISIBLE_CHIPS",
        "JAX_COORDINATOR_BIND_ADDRESS"
    };
    return text_is_word (name, names, sizeof names / sizeof names[0]);
}

static void tell_variable (void *comparison, struct text name, const struct text *mine, const struct text *theirs)
{
    if (!is_of_host (name))
        tell_words (comparison, name, mine ? *mine : (struct text){ 0 }, theirs ? *theirs : (struct text){ 0 });
}

static void tell_package (void *context, struct text name, const struct text *mine, const struct text *theirs)
{
    struct comparison *comparison = context;
    if (text_starts (name, RESULT_PACKAGES) || (mine && theirs && text_equal (*mine, *theirs)) ||
        !next_thing (comparison))
        return;
    if (!mine)
        buf_printf (&comparison->said, "%.*s is missing on this host", TEXT_ARG (name));
    else if (!theirs)
        buf_printf (&comparison->said, "%.*s %.*s is on this host only", TEXT_ARG (name), TEXT_ARG (*mine));
    else
        buf_printf (&comparison->said, "%.*s is %.*s, on %s %.*s", TEXT_ARG (name), TEXT_ARG (*mine),
                    comparison->others, TEXT_ARG (*theirs));
}

/* A host that ended before it reported its variables does not lack them. */
static void tell_list (struct comparison *comparison, const var_list *mine, const var_list *theirs, var_pair_fn *tell)
{
    if (mine->n && theirs->n)
        var_lists_walk (mine, theirs, tell, comparison);
}

static void tell_programs (struct comparison *comparison, const struct result *mine, const struct result *theirs)
{
    for (uint32_t i = 0; i < mine->programs.n; i++)
        for (uint32_t k = 0; k < theirs->programs.n; k++) {
            const struct program_fingerprint *here = &mine->programs.items[i], *there = &theirs->programs.items[k];
            struct text own = text_clip (here->fingerprint, FINGERPRINT_SHOWN_BYTES);
            struct text other = text_clip (there->fingerprint, FINGERPRINT_SHOWN_BYTES);
            if (text_equal (here->name, there->name) && !text_equal (here->fingerprint, there->fingerprint) &&
                next_thing (comparison))
                buf_printf (&comparison->said, "program %.*s has digest %.*s, on %s %.*s", TEXT_ARG (here->name),
                            TEXT_ARG (own), comparison->others, TEXT_ARG (other));
        }
}

struct text program_difference_text (const struct result *mine, const struct result *theirs, bool one_other,
                                     struct arena *arena)
{
    struct arena words = { 0 };
    struct comparison comparison = { .arena = &words,
                                     .others = one_other ? "the other host" : "the other hosts",
                                     .have = one_other ? "has it" : "have it",
                                     .lack = one_other ? "does not have it" : "do not have it" };
    buf_init (&comparison.said, SAID_BYTES);
    tell_list (&comparison, &mine->policy, &theirs->policy, tell_variable);
    tell_list (&comparison, &mine->bundle, &theirs->bundle, tell_package);
    tell_programs (&comparison, mine, theirs);
    if (comparison.n > DIFFERENCE_SHOWN)
        buf_printf (&comparison.said, "; and %u more", comparison.n - DIFFERENCE_SHOWN);
    struct text said = text_copy (arena, text_clip (buf_as_text (&comparison.said), SAID_BYTES));
    buf_release (&comparison.said);
    arena_release (&words);
    return said;
}

static bool has_program (const struct result *result, const struct program_fingerprint *program)
{
    for (uint32_t i = 0; i < result->programs.n; i++)
        if (text_equal (result->programs.items[i].name, program->name) &&
            text_equal (result->programs.items[i].fingerprint, program->fingerprint))
            return true;
    return false;
}

static bool same_programs (const struct result *mine, const struct result *theirs)
{
    bool same = mine->programs.n > 0 && mine->programs.n == theirs->programs.n;
    for (uint32_t i = 0; same && i < mine->programs.n; i++)
        same = has_program (theirs, &mine->programs.items[i]);
    return same;
}

static struct text flags_of (const struct result *result, const char *name, struct arena *arena)
{
    struct text flags;
    return var_find (&result->policy, text_of (name), &flags) ? flag_set_normalise (flags, arena) : (struct text){ 0 };
}

bool program_differs_by_flags (const struct result *mine, const struct result *theirs, struct arena *arena)
{
    static const char *const names[] = { "XLA_FLAGS", "LIBTPU_INIT_ARGS" };
    bool differ = false;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        differ |= !text_equal (flags_of (mine, names[i], arena), flags_of (theirs, names[i], arena));
    return differ && mine->policy.n && theirs->policy.n && same_programs (mine, theirs);
}
