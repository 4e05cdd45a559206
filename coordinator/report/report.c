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

struct report *report_book_make (struct report_book *book, bool held)
{
    struct scene_query query;
    arena_reset (&book->arena);
    board_make_receipt (feed_board (book->feed), &book->arena, &book->receipt);
    scene_query_init (&query);
    scene_make (book->feed, &query, 0, &book->arena, &book->scene);
    struct scene_host *hosts = arena_array (&book->arena, book->scene.hosts_n, sizeof (*hosts));
    for (uint32_t i = 0; i < book->scene.hosts_n; i++)
        scene_open_host (&book->scene, i, &hosts[i]);
    book->report.held = held && !book->scene.board->ended;
    book->report.plan = &feed_board (book->feed)->plan;
    book->report.receipt = &book->receipt;
    book->report.drift = (struct drift_query){ .rules = book->report.plan->drift.items,
                                               .rules_n = book->report.plan->drift.n };
    book->report.scene = &book->scene;
    book->report.hosts = hosts;
    book->report.joined = book->joined;
    return &book->report;
}

/* ---- what two formats are written in ---- */

static const char *reference_of (char byte)
{
    switch (byte) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    case '\'': return "&#39;";
    default: return NULL;
    }
}

void xml_text (struct buf *out, struct text text, uint32_t columns)
{
    struct buf escaped;
    buf_init (&escaped, UINT32_MAX);
    buf_escaped (&escaped, text, columns);
    for (size_t i = 0; i < escaped.len; i++) {
        const char *reference = reference_of ((char) escaped.ptr[i]);
        if (reference)
            buf_puts (out, reference);
        else
            buf_byte (out, escaped.ptr[i]);
    }
    buf_release (&escaped);
}

void xml_lines (struct buf *out, struct text lines)
{
    while (lines.len) {
        xml_text (out, text_take_until (&lines, '\n'), 0);
        buf_byte (out, '\n');
    }
}

void xml_attribute (struct buf *out, const char *name, struct text value, uint32_t columns)
{
    buf_printf (out, " %s=\"", name);
    xml_text (out, value, columns);
    buf_byte (out, '"');
}
