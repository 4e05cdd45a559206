/* plain_line.c - one plain line, and the words that many of them begin with. */
#include "coordinator/view/plain_private.h"

#include <inttypes.h>

void plain_say (struct teller *teller, uint64_t at_ms)
{
    struct line line = line_begin (teller->out, teller->style);
    line_printf (&line, "[%6" PRIu64 ".%" PRIu64 " s] ", at_ms / 1000, at_ms % 1000 / 100);
    line_text (&line, buf_as_text (&teller->words));
    line_end (&line);
    buf_clear (&teller->words);
}

/* "tiny restored"; a rung with one pass only needs no word for it. */
void plain_add_key (struct teller *teller, const struct attempt_key *key)
{
    buf_text (&teller->words, board_rung_id (teller->board, key->rung));
    if (key->pass == PASS_COLD || key->pass == PASS_RESTORED)
        buf_printf (&teller->words, " %s", names_of (&pass_names, key->pass));
}
