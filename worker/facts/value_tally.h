/* value_tally.h - equal things counted: "4 x 0x006f (vfio-pci), 1 x 0x0042 (no driver)".
 *
 * The most frequent first, then by text: hosts number their devices as they like and are equal all the same. More than
 * KINDS_MAX different ones are counted together. One thread. */
#ifndef SLICEUP_WORKER_FACTS_VALUE_TALLY_H
#define SLICEUP_WORKER_FACTS_VALUE_TALLY_H

#include "worker/facts/host_fact_list.h"

enum { KINDS_MAX = 16 };

struct value_tally_entry {
    struct text what;
    uint32_t count;
};
struct value_tally { /* {0}: none yet */
    struct value_tally_entry items[KINDS_MAX];
    uint32_t n, others;
};

void value_tally_add (struct value_tally *tally, struct text what); /* borrows */
/* As a fact; with none it is `missing`, which may be empty: "absent". */
void value_tally_to_fact (struct host_fact_list *list, const char *name, const struct value_tally *tally,
                          struct text missing);

#endif
