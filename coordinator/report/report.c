#include "coordinator/report/report.h"

enum { STEPS_FIRST = 64 };

struct report_book {
    struct feed *feed;
    struct report_step *joined;
    uint32_t joined_room;
    struct arena arena; /* of what follows */
    struct slice_receipt receipt;
    struct scene scene;
    struct report report;
};

struct report_book *report_book_create (enum board_keep keep)
{
    struct report_book *book = mem_alloc (sizeof (*book));
    book->feed = feed_create (keep);
    return book;
}

void report_book_destroy (struct report_book *book)
{
    if (book == NULL)
        return;
    feed_destroy (book->feed);
    mem_free (book->joined);
    arena_release (&book->arena);
    mem_free (book);
}

void report_book_apply (struct report_book *book, const struct fact *fact)
{
    uint32_t *n = &book->report.joined_n, joined_n;
    feed_apply (book->feed, fact, 0, 0);
    joined_n = feed_board (book->feed)->joined_n;
    if (*n ? book->joined[*n - 1].n == joined_n : joined_n == 0)
        return;
    book->joined = mem_room (book->joined, *n, &book->joined_room, STEPS_FIRST, sizeof (*book->joined));
    book->joined[(*n)++] = (struct report_step){ fact->at_ms, joined_n };
}

const struct board *report_book_board (const struct report_book *book)
{
    return feed_board (book->feed);
}

struct report *report_book_make (struct report_book *book, bool held)
{
    struct scene_query query;
    arena_reset (&book->arena);
    board_make_receipt (feed_board (book->feed), &book->arena, &book->receipt);
    scene_query_init (&query);
    scene_make (book->feed, &query, 0, &book->arena, &book->scene);
    struct scene_host *hosts = arena_array (&book->arena, book->scene.hosts_n, sizeof (*hosts));
    for (uint32_t i = 0; i < book->scene.hosts_n; i++)
        scene_open_host (book->feed, &query, &book->scene, i, &book->arena, &hosts[i]);
    book->report.held = held && !book->scene.ended;
    book->report.plan = &feed_board (book->feed)->plan;
    book->report.receipt = &book->receipt;
    book->report.drift = (struct drift_query){ .rules = book->report.plan->drift.items,
                                               .rules_n = book->report.plan->drift.n };
    book->report.scene = &book->scene;
    book->report.hosts = hosts;
    book->report.joined = book->joined;
    return &book->report;
}
