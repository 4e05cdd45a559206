#include "coordinator/report/report.h"

#include "coordinator/receipt/receipt_fold.h"

enum { STEPS_FIRST = 64 };

struct report_book {
    struct receipt_fold *fold;
    struct feed *feed;
    struct report_step *joined;
    uint32_t joined_room;
    struct arena arena; /* of what follows */
    struct slice_receipt receipt;
    struct scene scene;
    struct report report;
};

struct report_book *report_book_create (void)
{
    struct report_book *book = mem_alloc (sizeof (*book));
    book->fold = receipt_fold_create ();
    book->feed = feed_create ();
    return book;
}

void report_book_destroy (struct report_book *book)
{
    if (book == NULL)
        return;
    feed_destroy (book->feed);
    receipt_fold_destroy (book->fold);
    mem_free (book->joined);
    arena_release (&book->arena);
    mem_free (book);
}

void report_book_apply (struct report_book *book, const struct fact *fact)
{
    uint32_t *n = &book->report.joined_n, joined_n;
    receipt_fold_apply (book->fold, fact);
    feed_apply (book->feed, fact, 0, 0);
    joined_n = feed_board (book->feed)->joined_n;
    if (*n ? book->joined[*n - 1].n == joined_n : joined_n == 0)
        return;
    book->joined = mem_room (book->joined, *n, &book->joined_room, STEPS_FIRST, sizeof (*book->joined));
    book->joined[(*n)++] = (struct report_step){ fact->at_ms, joined_n };
}

struct report *report_book_make (struct report_book *book, bool held)
{
    struct scene_query query;
    arena_reset (&book->arena);
    receipt_fold_build (book->fold, &book->arena, &book->receipt);
    scene_query_init (&query);
    scene_make (book->feed, &query, 0, &book->arena, &book->scene);
    struct scene_host *hosts = arena_array (&book->arena, book->scene.hosts_n, sizeof (*hosts));
    for (uint32_t i = 0; i < book->scene.hosts_n; i++)
        scene_open_host (book->feed, &query, &book->scene, i, &book->arena, &hosts[i]);
    book->report.held = held && !book->scene.ended;
    book->report.plan = receipt_fold_plan (book->fold);
    book->report.receipt = &book->receipt;
    book->report.drift = (struct drift_query){ .rules = book->report.plan->drift.items,
                                               .rules_n = book->report.plan->drift.n };
    book->report.scene = &book->scene;
    book->report.hosts = hosts;
    book->report.joined = book->joined;
    return &book->report;
}
