/* filter.h - the line behind `/`: which hosts are shown, in words.
 *
 *   hosts:v6e-[0-3] outcome:failed,lost owner:device phase:compile time:40s-2min anything else
 *
 * hosts: is a set of hosts (hostset.h), outcome: words of scene_mark_word with '-' for blanks, or their letters, owner: a
 * word of the receipt, phase: that of a program. time: is a range on the run's clock (struct scene_query), as durations
 * (duration.h): FROM-UNTIL, FROM- (to now) or -UNTIL (from the begin). What has no such word before a colon is text to look for. Pure. */
#ifndef SLICEUP_COORDINATOR_TERMINAL_FILTER_H
#define SLICEUP_COORDINATOR_TERMINAL_FILTER_H

#include "coordinator/scene/scene.h"

enum { FILTER_LINE_BYTES = 512 };
struct filter {
    char line[FILTER_LINE_BYTES]; /* as it was typed */
    char text[FILTER_LINE_BYTES]; /* what is left of it to look for */
    struct text hosts, phase;     /* in `line` */
    uint32_t marks;
    enum owner owner;
    uint64_t from_ms, until_ms; /* as in the query */
};
/* On failure `filter` is as it was; ERR_USAGE says which word, and what is expected. */
int filter_read (struct filter *filter, const char *line, struct err *err);
bool filter_has_range (const struct filter *filter);
void filter_apply (const struct filter *filter, struct scene_query *query); /* the query borrows from the filter */

#endif
