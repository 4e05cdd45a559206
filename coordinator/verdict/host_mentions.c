#include "coordinator/verdict/blame.h"

#include <stdlib.h>
#include <string.h>

enum { NOBODY = UINT32_MAX, TASK_DIGITS_MAX = 6 };

struct known_as {
    struct text text;
    uint32_t rank;
};

struct host_mentions {
    struct known_as *items; /* sorted by text; rank NOBODY: shared by several */
    uint32_t n, ranks;
};

static int by_text (const void *a, const void *b)
{
    return text_compare (((const struct known_as *) a)->text, ((const struct known_as *) b)->text);
}

/* Equal texts become one entry, of NOBODY if several hosts have it. */
static void fold_shared (struct host_mentions *host_mentions)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < host_mentions->n; i++) {
        struct known_as *last = kept ? &host_mentions->items[kept - 1] : NULL;
        if (!last || !text_equal (last->text, host_mentions->items[i].text))
            host_mentions->items[kept++] = host_mentions->items[i];
        else if (last->rank != host_mentions->items[i].rank)
            last->rank = NOBODY;
    }
    host_mentions->n = kept;
}

struct host_mentions *host_mentions_make_index (const struct plan *plan, const uint32_t *hosts, uint32_t n,
                                                struct arena *arena)
{
    struct host_mentions *host_mentions = arena_alloc (arena, sizeof *host_mentions);
    host_mentions->ranks = n;
    host_mentions->items = arena_array (arena, 2 * (size_t) n, sizeof *host_mentions->items);
    for (uint32_t i = 0; i < n; i++) {
        const struct plan_host *host = &plan->hosts.items[hosts[i]];
        host_mentions->items[host_mentions->n++] = (struct known_as){ host->name, i };
        if (host->address.len)
            host_mentions->items[host_mentions->n++] = (struct known_as){ host->address, i };
    }
    qsort (host_mentions->items, host_mentions->n, sizeof *host_mentions->items, by_text);
    fold_shared (host_mentions);
    return host_mentions;
}

static void name_text (const struct host_mentions *host_mentions, struct text word, bool *named)
{
    struct known_as key = { .text = word };
    const struct known_as *found = host_mentions->n
                                       ? bsearch (&key, host_mentions->items, host_mentions->n, sizeof key, by_text)
                                       : NULL;
    if (found && found->rank != NOBODY)
        named[found->rank] = true;
}

static bool is_part_of_name (char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c && strchr (".:-_/", c));
}

static struct text without_end (struct text word, const char *end)
{
    while (word.len && strchr (end, word.ptr[word.len - 1]))
        word.len--;
    return word;
}

/* "/job:jax_worker/replica:0/task:3"; the ranks of jax.distributed are those of the pass. */
static void name_task (const struct host_mentions *host_mentions, struct text word, bool *named)
{
    uint32_t at;
    uint64_t rank;
    if (!text_find (word, TEXT_LIT ("/task:"), &at))
        return;
    struct text digits = { .ptr = word.ptr + at + 6, .len = 0 };
    while (digits.ptr + digits.len < word.ptr + word.len && text_is_digit (digits.ptr[digits.len]) &&
           digits.len <= TASK_DIGITS_MAX)
        digits.len++;
    if (text_to_u64 (digits, &rank) && rank < host_mentions->ranks)
        named[rank] = true;
}

/* "10.0.0.2:8476", and an end of a sentence. */
static void name_word (const struct host_mentions *host_mentions, struct text word, bool *named)
{
    name_task (host_mentions, word, named);
    word = without_end (word, ".:");
    name_text (host_mentions, word, named);
    struct text bare = word;
    while (bare.len && text_is_digit (bare.ptr[bare.len - 1]))
        bare.len--;
    if (bare.len < word.len && bare.len > 1 && bare.ptr[bare.len - 1] == ':') {
        bare.len--;
        name_text (host_mentions, bare, named);
    }
}

/* "The first task at the barrier: <name>" names a host that came, not one that is missing. */
static bool is_praised (struct text text, uint32_t at)
{
    static const char praise[] = "first task at the barrier: ";
    uint32_t len = sizeof praise - 1;
    return at >= len && memcmp (text.ptr + at - len, praise, len) == 0;
}

/* A shutdown barrier lists hosts that were still working; at fault is the one that came too early. */
static bool lists_late (struct text text)
{
    static const char barrier[] = "Barrier timed out. Id: ";
    uint32_t at;
    if (!text_find (text, text_of (barrier), &at))
        return true;
    at += sizeof barrier - 1;
    return !text_starts ((struct text){ .ptr = text.ptr + at, .len = text.len - at }, "Shutdown");
}

/* "Some timed out task names: 0 2", "unhealthy (stopped sending heartbeats): 1": names to the end of the line. */
static bool begins_list (struct text text, struct text word, uint32_t end)
{
    struct text rest = { .ptr = text.ptr + end, .len = text.len - end };
    return text_is (word, "names:") || (text_is (word, "heartbeats") && text_starts (rest, "):"));
}

/* "Task 3 heartbeat timeout"; "waited 10 s for rank 3". */
static bool is_task_number (struct text text, uint32_t at, uint32_t end)
{
    if (at >= 9 && memcmp (text.ptr + at - 9, "for rank ", 9) == 0)
        return true;
    struct text rest = { .ptr = text.ptr + end, .len = text.len - end };
    return at >= 5 && memcmp (text.ptr + at - 5, "Task ", 5) == 0 && text_starts (rest, " heartbeat");
}

static void name_number (const struct host_mentions *host_mentions, struct text word, bool *named)
{
    uint64_t rank;
    if (text_to_u64 (word, &rank) && rank < host_mentions->ranks)
        named[rank] = true;
}

void host_mentions_find (const struct host_mentions *host_mentions, struct text text, bool *named)
{
    bool late = lists_late (text), listed = false;
    for (uint32_t at = 0, end; at < text.len; at = end + 1) {
        for (end = at; end < text.len && is_part_of_name (text.ptr[end]); end++)
            ;
        struct text word = { .ptr = text.ptr + at, .len = end - at };
        if (word.len && !is_praised (text, at) && (late || !listed))
            name_word (host_mentions, word, named);
        if (is_task_number (text, at, end) || (listed && late))
            name_number (host_mentions, word, named);
        listed = (listed || begins_list (text, word, end)) && !(end < text.len && text.ptr[end] == '\n');
    }
}
