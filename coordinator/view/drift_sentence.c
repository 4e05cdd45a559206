#include "coordinator/view/drift_view.h"

#include <string.h>

#include "coordinator/verdict/flag_set.h"

enum { HOSTS_TEXT_MAX_BYTES = 1 << 20, WORDS_MAX = 64, LEAD_BYTES = 12 };

const char drift_sentence_pins_missing[] =
    "pins: the run's pin file is missing or changed, so versions were compared between hosts only";

uint32_t drift_minorities (const struct drift_item *item)
{
    return item->groups_n - (item->beside != NULL);
}

const struct drift_group *drift_minority_next (const struct drift_item *item, uint32_t *at)
{
    while (*at < item->groups_n) {
        /* Outliers stand farthest first; everything else largest first. */
        uint32_t index = item->verdict == DRIFT_OUTLIER ? *at : item->groups_n - 1 - *at;
        (*at)++;
        if (&item->groups[index] != item->beside)
            return &item->groups[index];
    }
    return NULL;
}

/* ---- pieces ---- */

static void drift_sentence_add_hosts (const struct text *names, uint32_t n, const struct drift_sentence_limits *limits,
                                      struct buf *out)
{
    LOCAL_BUF folded = { .max = HOSTS_TEXT_MAX_BYTES };
    hostset_fold (names, n, &folded);
    if (limits->hosts_bytes && (folded.overflow || folded.len > limits->hosts_bytes))
        buf_printf (out, "%u hosts (%.*s ...)", n, TEXT_ARG (names[0]));
    else
        buf_add_text (out, buf_as_text (&folded));
}

void drift_sentence_hosts (const struct drift *drift, const uint32_t *hosts, uint32_t n,
                           const struct drift_sentence_limits *limits, struct buf *out)
{
    LOCAL_MEM struct text *names = mem_array (n, sizeof (*names));
    for (uint32_t i = 0; i < n; i++)
        names[i] = drift->names[hosts[i]];
    if (n)
        drift_sentence_add_hosts (names, n, limits, out);
}

/* "7 others have", "h0 has" */
static void add_others (const struct drift *drift, const struct drift_group *group, const char *many, const char *one,
                        struct buf *out)
{
    static const struct drift_sentence_limits whole = { 0 };
    if (group->hosts_n == 1) {
        drift_sentence_hosts (drift, group->hosts, group->hosts_n, &whole, out);
        buf_printf (out, " %s", one);
    } else
        buf_printf (out, "%u others %s", group->hosts_n, many);
}

static uint32_t common_bytes (struct text a, struct text b)
{
    uint32_t n = 0;
    while (n < a.len && n < b.len && a.ptr[n] == b.ptr[n])
        n++;
    return n;
}

static void drift_sentence_add_value (struct text value, struct text beside, const struct drift_sentence_limits *limits,
                                      struct buf *out)
{
    if (value.len == 0) {
        buf_puts (out, "empty");
        return;
    }
    if (limits->value_bytes == 0 || value.len <= limits->value_bytes) {
        buf_add_text (out, value);
        return;
    }
    uint32_t from = common_bytes (value, beside);
    from = from + LEAD_BYTES < limits->value_bytes ? 0 : from - LEAD_BYTES;
    while (from > 0 && ((unsigned char) value.ptr[from] & 0xC0) == 0x80) /* not into the middle of a character */
        from--;
    struct text shown = text_clip ((struct text){ value.ptr + from, value.len - from }, limits->value_bytes);
    buf_printf (out, "%s%.*s%s", from ? "..." : "", TEXT_ARG (shown), from + shown.len < value.len ? "..." : "");
}

/* A number of the item as people write it: "41 s", "3.2 MiB", "17". */
static void drift_sentence_add_number (const struct drift_item *item, double number, struct buf *out)
{
    if (item->rung.len && number >= 0 && number < 9e18)
        buf_puts (out, text_starts (item->fact, "memory ") ? SIZE_TEXT ((uint64_t) number)
                                                           : DURATION_TEXT ((uint64_t) number));
    else
        buf_printf (out, "%.15g", number);
}

/* "phase compile of rung dense (cold)" */
static void drift_sentence_add_place (const struct drift_item *item, struct buf *out)
{
    if (item->phase.len)
        buf_printf (out, "phase %.*s of ", TEXT_ARG (item->phase));
    if (text_starts (item->fact, "step "))
        buf_puts (out, text_starts (item->fact, "step own ") ? "own part of a step of " : "step of ");
    buf_printf (out, "rung %.*s", TEXT_ARG (item->rung));
    if (item->pass == PASS_COLD || item->pass == PASS_RESTORED)
        buf_printf (out, " (%s)", enum_name_of (&pass_names, item->pass));
}

/* "fact kernel.release"; of what programs of rungs gave, what it is. */
static void drift_sentence_add_fact (const struct drift_item *item, struct buf *out)
{
    static const char *const words[][2] = { { "fact output.", "output of rung " },
                                            { "fact number.link.between_", "link between them, " },
                                            { "fact number.link.fastest_", "its fastest link, " },
                                            { "fact number.", "number " } };
    struct text fact = item->fact;
    for (size_t i = 0; i < sizeof words / sizeof *words && fact.ptr == item->fact.ptr; i++)
        if (text_starts (fact, words[i][0])) {
            text_skip (&fact, (uint32_t) strlen (words[i][0]));
            buf_puts (out, words[i][1]);
        }
    buf_printf (out, "%.*s", TEXT_ARG (fact));
}

/* ---- words of flags ---- */

static uint32_t add_words_without (struct text text, struct text without, const char *lead,
                                   const struct drift_sentence_limits *limits, struct buf *out)
{
    struct text word;
    uint32_t n = 0;
    for (uint32_t i = 0; i < WORDS_MAX && flag_set_next (&text, &word); i++)
        if (!flag_set_has (without, word)) {
            buf_puts (out, n++ ? " " : lead);
            drift_sentence_add_value (word, (struct text){ 0 }, limits, out);
        }
    return n;
}

/* "lacks --a and has --b"; false: it cannot be told so. */
static bool add_words (struct text value, struct text reference, const struct drift_sentence_limits *limits,
                       struct buf *out)
{
    size_t before = out->len;
    uint32_t lacks = add_words_without (reference, value, " lacks ", limits, out);
    return lacks + add_words_without (value, reference, lacks ? " and has " : " has ", limits, out) > 0 ||
           out->len > before;
}

/* ---- sentences ---- */

static void say_difference (const struct drift *drift, const struct drift_item *item, const struct drift_group *group,
                            const struct drift_sentence_limits *limits, struct buf *out)
{
    const struct drift_group *reference = item->beside;
    struct text beside = reference ? reference->value : (struct text){ 0 };
    buf_puts (out, group->absent ? ": no " : ": ");
    drift_sentence_add_fact (item, out);
    if (!group->absent) {
        if (item->kind == DRIFT_TOKENS && reference && !reference->absent && group->value.len && beside.len &&
            add_words (group->value, beside, limits, out)) {
            buf_puts (out, ", unlike ");
            add_others (drift, reference, "", "", out);
            out->len -= out->len && out->ptr[out->len - 1] == ' ';
            return;
        }
        buf_puts (out, " is ");
        drift_sentence_add_value (group->value, beside, limits, out);
    }
    if (!reference)
        return;
    buf_puts (out, ", ");
    add_others (drift, reference, reference->absent ? "have none" : "have ", reference->absent ? "has none" : "has ",
                out);
    if (!reference->absent)
        drift_sentence_add_value (reference->value, group->value, limits, out);
}

static void say_not_pinned (const struct drift *drift, const struct drift_item *item, const struct drift_group *group,
                            const struct drift_sentence_limits *limits, struct buf *out)
{
    const struct drift_group *reference = item->beside;
    buf_printf (out, group->absent ? ": no %.*s" : ": %.*s is ", TEXT_ARG (item->fact));
    if (!group->absent)
        drift_sentence_add_value (group->value, item->pinned, limits, out);
    buf_puts (out, ", pinned is ");
    drift_sentence_add_value (item->pinned, group->value, limits, out);
    if (reference) {
        buf_puts (out, ", as ");
        add_others (drift, reference, "have", "has", out);
    }
}

static void say_outlier (const struct drift_item *item, const struct drift_group *group, struct buf *out)
{
    const struct drift_group *others = item->beside;
    double times = item->median > 0 ? group->number / item->median : 0;
    buf_puts (out, ": ");
    if (item->rung.len)
        drift_sentence_add_place (item, out);
    else
        drift_sentence_add_fact (item, out);
    if (times <= 0 || (times > 0.95 && times < 1.05)) /* no factor would tell it */
        buf_puts (out, " differs from the median");
    else
        buf_printf (out,
                    times < 1    ? " %.2g × the median"
                    : times < 10 ? " %.1f × the median"
                                 : " %.0f × the median",
                    times);
    if (text_starts (item->fact, "memory "))
        buf_puts (out, text_starts (item->fact, "memory device ") ? " of device memory" : " of memory");
    buf_puts (out, " (");
    drift_sentence_add_number (item, group->number, out);
    buf_puts (out, ", ");
    drift_sentence_add_number (item, item->median, out);
    buf_printf (out, " of %u)", others ? item->measured - (item->groups_n - 1) : 0); /* hosts, or links */
}

static void say_changed (const struct drift_item *item, const struct drift_group *group,
                         const struct drift_sentence_limits *limits, struct buf *out)
{
    if (item->rung.len) {
        bool time = !text_starts (item->fact, "memory ");
        buf_puts (out, ": ");
        drift_sentence_add_place (item, out);
        buf_puts (out, time ? " took " : " used ");
        drift_sentence_add_number (item, group->number, out);
        buf_puts (out, ", before ");
        drift_sentence_add_number (item, group->before_number, out);
        if (group->before_number > 0)
            buf_printf (out, " (%.2f times)", group->number / group->before_number);
        return;
    }
    buf_printf (out, ": %.*s ", TEXT_ARG (item->fact));
    if (group->before_absent) {
        buf_puts (out, "is new: ");
        drift_sentence_add_value (group->value, group->before, limits, out);
        return;
    }
    if (item->kind == DRIFT_TOKENS && !group->absent && group->value.len && group->before.len) {
        out->len--;
        add_words (group->value, group->before, limits, out);
        buf_puts (out, ", unlike before");
        return;
    }
    buf_puts (out, "was ");
    drift_sentence_add_value (group->before, group->value, limits, out);
    buf_puts (out, group->absent ? ", is gone" : ", is ");
    if (!group->absent)
        drift_sentence_add_value (group->value, group->before, limits, out);
}

void drift_sentence (const struct drift *drift, const struct drift_item *item, const struct drift_group *group,
                     const struct drift_sentence_limits *limits, struct buf *out)
{
    drift_sentence_hosts (drift, group->hosts, group->hosts_n, limits, out);
    switch (item->verdict) {
    case DRIFT_NOT_PINNED: say_not_pinned (drift, item, group, limits, out); break;
    case DRIFT_OUTLIER: say_outlier (item, group, out); break;
    case DRIFT_CHANGED: say_changed (item, group, limits, out); break;
    case DRIFT_IMPOSSIBLE:
    case DRIFT_NOT_ZERO:
        buf_puts (out, ": ");
        buf_add_text (out, group->value);
        break;
    default: say_difference (drift, item, group, limits, out);
    }
}

void drift_sentence_all_values (const struct drift *drift, const struct drift_item *item,
                                const struct drift_sentence_limits *limits, struct buf *out)
{
    enum { SHOWN = 4 };
    buf_printf (out, "%.*s: ", TEXT_ARG (item->fact));
    for (uint32_t i = 0; i < item->groups_n && i < SHOWN; i++) {
        const struct drift_group *group = &item->groups[i];
        buf_puts (out, i ? " | " : "");
        drift_sentence_hosts (drift, group->hosts, group->hosts_n, limits, out);
        buf_byte (out, ' ');
        if (item->verdict == DRIFT_TOO_FEW)
            drift_sentence_add_number (item, group->number, out);
        else if (group->absent)
            buf_puts (out, "none");
        else
            drift_sentence_add_value (group->value, (struct text){ 0 }, limits, out);
    }
    if (item->groups_n > SHOWN)
        buf_printf (out, " | %u more", item->groups_n - SHOWN);
}

/* Hosts without a report come first: what they would have reported is unknown. */
void drift_sentence_summary (const struct drift *drift, const struct drift_sentence_limits *limits, struct buf *out)
{
    uint32_t at = 0;
    if (drift->silent_n) {
        buf_puts (out, "no report of ");
        drift_sentence_hosts (drift, drift->silent, drift->silent_n, limits, out);
    } else if (drift->findings)
        drift_sentence (drift, &drift->items[0], drift_minority_next (&drift->items[0], &at), limits, out);
    else if (drift->no_facts)
        buf_printf (out,
                    "not known: no host reported facts of its machine; nothing else differs in %u value%s of %u host%s",
                    drift->compared, plural (drift->compared), drift->hosts_n, plural (drift->hosts_n));
    else
        buf_printf (out, "%s: %u host%s, %u fact%s compared",
                    drift->no_versions ? DRIFT_NO_VERSIONS "nothing else differs" : "no drift", drift->hosts_n,
                    plural (drift->hosts_n), drift->compared, plural (drift->compared));
}

/* ---- a few sentences for the middle of another page ---- */

enum { SENTENCE_BYTES = 64 << 10 };

/* Of no item: the hosts without any report. */
static struct text drift_sentence_sentence_of (const struct drift *drift, const struct drift_item *item,
                                               struct arena *arena)
{
    static const struct drift_sentence_limits limits = { .value_bytes = 60, .hosts_bytes = 60 };
    uint32_t at = 0;
    struct buf sentence = { .max = SENTENCE_BYTES };
    if (item)
        drift_sentence (drift, item, drift_minority_next (item, &at), &limits, &sentence);
    else
        drift_sentence_hosts (drift, drift->silent, drift->silent_n, &limits, &sentence);
    return buf_finish (&sentence, arena);
}

void drift_sentence_list_make (const struct slice_receipt *receipt, const struct drift_query *query, uint32_t most,
                               struct arena *arena, struct drift_sentence_list *out)
{
    struct drift drift;
    drift_compare_hosts (receipt, query, arena, &drift);
    *out = (struct drift_sentence_list){ .sentences = arena_array (arena, most + 1, sizeof (*out->sentences)),
                                         .expected = drift.expected,
                                         .too_few = drift.too_few,
                                         .no_versions = drift.no_versions,
                                         .no_facts = drift.no_facts };
    if (drift.silent_n)
        out->silent = drift_sentence_sentence_of (&drift, NULL, arena);
    for (; out->n < drift.findings && out->n < most; out->n++)
        out->sentences[out->n] = drift_sentence_sentence_of (&drift, &drift.items[out->n], arena);
    out->more = drift.findings - out->n + drift.left_out;
    if (query->pins_missing)
        out->sentences[out->n++] = text_of (drift_sentence_pins_missing);
}
