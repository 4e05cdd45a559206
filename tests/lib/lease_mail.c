/* lease_mail.c - letters on their way: a heap, the earliest first. */
#include "lease_state.h"

#include <assert.h>

static bool before (const struct letter *a, const struct letter *b)
{
    return a->at_us != b->at_us ? a->at_us < b->at_us : a->order < b->order;
}

void world_put (struct world *world, struct letter letter)
{
    assert (world->letters_n < LETTERS_MAX);
    letter.order = ++world->orders;
    uint32_t at = world->letters_n++;
    for (; at && before (&letter, &world->letters[(at - 1) / 2]); at = (at - 1) / 2)
        world->letters[at] = world->letters[(at - 1) / 2];
    world->letters[at] = letter;
}

struct letter world_take (struct world *world)
{
    struct letter first = world->letters[0], last = world->letters[--world->letters_n];
    uint32_t at = 0;
    for (uint32_t child = 1; child < world->letters_n; child = 2 * at + 1) {
        if (child + 1 < world->letters_n && before (&world->letters[child + 1], &world->letters[child]))
            child++;
        if (!before (&world->letters[child], &last))
            break;
        world->letters[at] = world->letters[child];
        at = child;
    }
    world->letters[at] = last;
    return first;
}

static uint64_t delay_us (struct world *world)
{
    if (world_is_calm (world))
        return world_upto (world, 20 * MS);
    bool slow = world_chance (world, (uint32_t) world->slow_percent);
    uint64_t us = world_upto (world, slow ? DELAY_MOST_US : world->delay_usual_us);
    /* The sender was stopped between its look at the clock and the sending. */
    return world_chance (world, 1) ? us + world_upto (world, PAUSE_MOST_US) : us;
}

void world_post (struct world *world, struct letter letter)
{
    struct host *host = &world->hosts[letter.from == GRANTOR ? letter.to : letter.from];
    letter.life = host->life;
    world->report->messages++;
    for (uint32_t copies = !world_is_calm (world) && world_chance (world, 10) ? 2 : 1; copies; copies--) {
        if (!world_is_calm (world) && (world_chance (world, 10) || host->cut_until_us > world->now_us))
            continue;
        letter.at_us = world->now_us + delay_us (world);
        world_put (world, letter);
    }
}
