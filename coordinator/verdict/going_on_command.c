#include "coordinator/verdict/going_on_command.h"

#include "common/base/shell_word.h"
#include "common/model/secret.h"
#include "coordinator/verdict/blame.h"

enum { COMMAND_BYTES = 1024 };
#define OPTION "--min-hosts"

/* How many words of an earlier --min-hosts, or of the form of the output, are here: a person copies the command. */
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

struct text going_on_advice (const struct plan *plan, uint32_t up, struct arena *arena)
{
    struct text look = blame_advice_for_lost (plan->launcher);
    if (up == 0 || up >= plan->hosts.n)
        return look;
    return text_format (arena, "to go on with the %u that are up: %.*s; %.*s", up,
                        TEXT_ARG (going_on_command (plan, up, arena)), TEXT_ARG (look));
}
