/* plain_line.c - one plain line, and the words that many of them begin with. */
#include "coordinator/view/plain_private.h"

#include <inttypes.h>

void plain_say (struct printer *printer, uint64_t at_ms)
{
    struct line line = line_begin (printer->out, printer->style);
    line_printf (&line, "[%6" PRIu64 ".%" PRIu64 " s] ", at_ms / 1000, at_ms % 1000 / 100);
    line_text (&line, buf_as_text (&printer->words));
    line_end (&line);
    buf_clear (&printer->words);
}

/* "tiny restored"; a rung with one pass only needs no word for it. */
void plain_add_key (struct printer *printer, const struct attempt_key *key)
{
    buf_text (&printer->words, board_rung_id (printer->board, key->rung));
    if (key->pass == PASS_COLD || key->pass == PASS_RESTORED)
        buf_printf (&printer->words, " %s", names_of (&pass_names, key->pass));
}
