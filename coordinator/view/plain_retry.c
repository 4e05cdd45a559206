/* plain_retry.c - plain lines of what is run again: retries, and parts of the slice by themselves. */
#include "coordinator/view/plain_private.h"

#include "common/base/duration.h"

void plain_retry (struct teller *teller, const struct fact *fact)
{
    const struct board_retry *retry = &teller->board->retry;
    char span[DURATION_TEXT_BYTES];
    plain_add_key (teller, &fact->of.retry_planned.key);
    buf_printf (&teller->words, " is run again in %s (retry %u of %u): ",
                duration_print (retry->due_ms > fact->at_ms ? retry->due_ms - fact->at_ms : 0, span), retry->nth,
                teller->board->plan.limits.retries);
    buf_text (&teller->words, fact->of.retry_planned.why);
    plain_say (teller, fact->at_ms);
}

/* Before the first part: what it may cost, and how to be spared it. */
static void announce_parts (struct teller *teller, const struct fact *fact)
{
    const struct board *board = teller->board;
    uint32_t most_n = board_parts_most (board);
    uint64_t part_ms = board_part_most_ms (board);
    char each[DURATION_TEXT_BYTES], all[DURATION_TEXT_BYTES];
    buf_text (&teller->words, board_rung_id (board, fact->of.pass_began.key.rung));
    buf_printf (&teller->words,
                ": no host says why; parts of the slice are run by themselves to find it: at most %u, each "
                "given %s: %s in all at most; ctrl-c ends that and keeps the failure, splits: false in the profile "
                "leaves it out",
                most_n, duration_print (part_ms, each), duration_print (most_n * part_ms, all));
    plain_say (teller, fact->at_ms);
}

void plain_part_began (struct teller *teller, const struct fact *fact)
{
    const struct board *board = teller->board;
    if (board->isolation.passes_n == 1)
        announce_parts (teller, fact);
    buf_text (&teller->words, board_rung_id (board, fact->of.pass_began.key.rung));
    buf_printf (&teller->words, " part %u began on ", board->isolation.passes_n);
}

void plain_part_ended (struct teller *teller, const struct fact *fact)
{
    const struct fact_pass_ended *ended = &fact->of.pass_ended;
    char span[DURATION_TEXT_BYTES];
    buf_text (&teller->words, board_rung_id (teller->board, ended->key.rung));
    buf_printf (&teller->words, " part %u: %s by itself (%s)", teller->board->isolation.passes_n,
                ended->outcome == OUTCOME_PASSED ? "works" : "fails", duration_print (ended->duration_ms, span));
    plain_say (teller, fact->at_ms);
}

void plain_suspects (struct teller *teller, const struct fact *fact)
{
    const struct fact_suspects_named *named = &fact->of.suspects_named;
    plain_add_key (teller, &named->key);
    buf_puts (&teller->words, named->suspects.n ? " isolated: " : " not isolated: ");
    board_fold (teller->board, named->suspects.items, named->suspects.n, &teller->words);
    buf_puts (&teller->words, named->suspects.n ? " " : "");
    buf_text (&teller->words, named->why);
    plain_say (teller, fact->at_ms);
}
