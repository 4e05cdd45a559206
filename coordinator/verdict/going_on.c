#include "coordinator/verdict/going_on.h"

#include "common/base/buf.h"
#include "common/model/secret.h"
#include "coordinator/verdict/blame.h"

enum { WHAT_BYTES = 120 };

static bool is_cause (const struct verdict *verdict)
{
    return verdict->outcome != OUTCOME_PASSED && verdict->outcome != OUTCOME_CASCADE &&
           verdict->outcome != OUTCOME_CANCELLED;
}

static const struct verdict *first_cause (const struct verdict *verdicts, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (is_cause (&verdicts[i]))
            return &verdicts[i];
    return NULL;
}

bool retry_all_transient (const struct verdict *verdicts, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (is_cause (&verdicts[i]) && !verdicts[i].transient)
            return false;
    return first_cause (verdicts, n) != NULL;
}

struct text retry_first_signature (const struct verdict *verdicts, uint32_t n)
{
    const struct verdict *first = first_cause (verdicts, n);
    return first ? first->signature : (struct text){ 0 };
}

static struct text what_of (const struct verdict *verdict)
{
    return verdict->signature.len ? verdict->signature : text_clip (verdict->cause, WHAT_BYTES);
}

struct text retry_why (const struct plan *plan, const struct verdict *verdicts, uint32_t n, struct arena *arena)
{
    const struct verdict *first = first_cause (verdicts, n);
    if (first == NULL)
        return (struct text){ 0 };
    struct text *names = arena_array (arena, n, sizeof (*names));
    uint32_t named = 0;
    for (uint32_t i = 0; i < n; i++)
        if (is_cause (&verdicts[i]) && verdicts[i].host < plan->hosts.n)
            names[named++] = plan->hosts.items[verdicts[i].host].name;
    struct text hosts = hostset_folded (names, named, NAME_MAX_BYTES, arena);
    return text_format (arena, "%.*s on %.*s", TEXT_ARG (what_of (first)), TEXT_ARG (hosts));
}

uint64_t retry_wait_ms (const struct limits *limits, uint32_t nth)
{
    uint32_t doublings = nth > 1 ? nth - 1 : 0;
    return limits->retry_wait_ms << (doublings < RETRIES_MAX ? doublings : RETRIES_MAX);
}

/* ---- going on command ---- */

enum { COMMAND_BYTES = 1024 };
#define OPTION "--min-hosts"

/* How many words to drop here: an earlier --min-hosts, or output options, since a person copies the command. */
static uint32_t option_words (struct text word)
{
    bool one = text_starts (word, OPTION "=") || text_is (word, "--json");
    return text_is (word, OPTION) ? 2 : one;
}

struct text going_on_command (const struct plan *plan, uint32_t up, struct arena *arena)
{
    const text_list *words = &plan->origin.command;
    struct buf line;
    buf_init (&line, COMMAND_BYTES);
    for (uint32_t i = 0; i < words->n; i++) {
        uint32_t skip = option_words (words->items[i]);
        if (skip)
            i += skip - 1;
        else
            shell_word_add (&line, secret_redact_word (arena, words->items[i]));
    }
    buf_printf (&line, " " OPTION " %u", up);
    bool whole = words->n > 0 && words->n < ORIGIN_WORDS_MAX && !line.overflow;
    struct text command = whole ? text_copy (arena, buf_as_text (&line))
                                : text_format (arena, "the same command with " OPTION " %u", up);
    buf_release (&line);
    return command;
}

struct text going_on_advice (const struct plan *plan, uint32_t host, uint32_t up, struct arena *arena)
{
    struct text look = blame_advice_for_lost (plan, host, arena);
    if (up == 0 || up >= plan->hosts.n)
        return look;
    return text_format (arena, "to go on with the %u that are up: %.*s; %.*s", up,
                        TEXT_ARG (going_on_command (plan, up, arena)), TEXT_ARG (look));
}
