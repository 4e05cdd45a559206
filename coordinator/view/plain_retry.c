/* plain_retry.c - plain lines of what is run again: retries, and parts of the slice by themselves. */
#include "coordinator/view/plain_private.h"

#include "common/base/duration.h"

void plain_retry (struct printer *printer, const struct fact *fact)
{
    const struct board_retry *retry = &printer->board->retry;
    char span[DURATION_TEXT_BYTES];
    plain_add_key (printer, &fact->of.retry_planned.key);
    buf_printf (&printer->words, " is run again in %s (retry %u of %u): ",
                duration_print (retry->due_ms > fact->at_ms ? retry->due_ms - fact->at_ms : 0, span), retry->nth,
                printer->board->plan.limits.retries);
    buf_text (&printer->words, fact->of.retry_planned.why);
    plain_say (printer, fact->at_ms);
}

/* Before the first part: what it costs at most, and how to end it. */
static void announce_parts (struct printer *printer, const struct fact *fact)
{
    const struct board *board = printer->board;
    uint32_t most_n = board_parts_most (board);
    uint64_t part_ms = board_part_most_ms (board);
    char each[DURATION_TEXT_BYTES], all[DURATION_TEXT_BYTES];
    buf_text (&printer->words, board_rung_id (board, fact->of.pass_began.key.rung));
    buf_printf (
        &printer->words,
        ": no host reports a cause; to find it, parts of the slice are run by themselves: at most %u, each for at most "
        "%s (%s in all); Ctrl-C ends this search and keeps the failure, splits: false in the profile turns it off",
        most_n, duration_print (part_ms, each), duration_print (most_n * part_ms, all));
    plain_say (printer, fact->at_ms);
}

void plain_part_began (struct printer *printer, const struct fact *fact)
{
    const struct board *board = printer->board;
    if (board->isolation.passes_n == 1)
        announce_parts (printer, fact);
    buf_text (&printer->words, board_rung_id (board, fact->of.pass_began.key.rung));
    buf_printf (&printer->words, " part %u began on ", board->isolation.passes_n);
}

void plain_part_ended (struct printer *printer, const struct fact *fact)
{
    const struct fact_pass_ended *ended = &fact->of.pass_ended;
    char span[DURATION_TEXT_BYTES];
    buf_text (&printer->words, board_rung_id (printer->board, ended->key.rung));
    buf_printf (&printer->words, " part %u: %s by itself (%s)", printer->board->isolation.passes_n,
                ended->outcome == OUTCOME_PASSED ? "works" : "fails", duration_print (ended->duration_ms, span));
    plain_say (printer, fact->at_ms);
}

void plain_suspects (struct printer *printer, const struct fact *fact)
{
    const struct fact_suspects_named *named = &fact->of.suspects_named;
    plain_add_key (printer, &named->key);
    buf_puts (&printer->words, named->suspects.n ? " isolated: " : " not isolated: ");
    board_fold (printer->board, named->suspects.items, named->suspects.n, &printer->words);
    buf_puts (&printer->words, named->suspects.n ? " " : "");
    buf_text (&printer->words, named->why);
    plain_say (printer, fact->at_ms);
}
