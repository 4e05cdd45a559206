/* attempt_state.c - where an attempt has its files, and what its result says so far. */
#include "worker/attempt/attempt_state.h"

#include "common/base/utf8.h"
#include <inttypes.h>
#include <string.h>

enum { NOTE_BYTES = 512 }; /* share of a message, see evidence.h */

struct text attempt_path (struct arena *arena, const char *directory, const char *folder, const struct attempt_key *key,
                          const char *suffix)
{
    return text_format (arena, "%s/%s/%" PRIu32 ".%s.%" PRIu32 "%s", directory, folder, key->rung,
                        names_of (&pass_names, key->pass), key->attempt, suffix);
}

struct result *attempt_result (struct attempt *attempt)
{
    return &attempt->evidence.result;
}

void attempt_set_problem (struct attempt *attempt, enum owner owner, struct text problem)
{
    struct result *result = attempt_result (attempt);
    if (result->problem.len)
        return; /* the first one is the cause */
    result->problem = text_clean (&attempt->arena, problem, SENTENCE_MAX_BYTES);
    if (result->owner == OWNER_NONE)
        result->owner = owner;
}

void attempt_add_note (struct attempt *attempt, const char *source, struct text text)
{
    struct result *result = attempt_result (attempt);
    uint32_t n = result->notes.n;
    bool full = n == RESULT_NOTES_MAX; /* then ours takes the place of the program's last one, and stands first */
    struct note *items = arena_array (&attempt->arena, RESULT_NOTES_MAX, sizeof *items); /* a late line may add to it */
    if (n)
        memcpy (items + full, result->notes.items, (n - full) * sizeof *items);
    items[full ? 0 : n] = (struct note){ text_clip (text, NOTE_BYTES), text_of (source), DURABILITY_RECHECK };
    result->notes.items = items;
    result->notes.n = n + !full;
}
