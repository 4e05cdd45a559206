/* plain_private.h - what the files that make plain lines share. */
#ifndef SLICEUP_COORDINATOR_VIEW_PLAIN_PRIVATE_H
#define SLICEUP_COORDINATOR_VIEW_PLAIN_PRIVATE_H

#include "coordinator/view/plain.h"

struct printer {
    const struct board *board;
    const struct style *style;
    struct buf *out;
    struct buf words; /* of the line being made */
};

/* plain_line.c */
void plain_say (struct printer *printer, uint64_t at_ms); /* the words, as a line */
void plain_add_key (struct printer *printer, const struct attempt_key *key);

/* plain_metric.c */
void plain_metric (struct printer *printer, const struct fact *fact);
void plain_part_began (struct printer *printer, const struct fact *fact); /* the words before its hosts */
void plain_part_ended (struct printer *printer, const struct fact *fact);
void plain_retry (struct printer *printer, const struct fact *fact);
void plain_suspects (struct printer *printer, const struct fact *fact);

#endif
