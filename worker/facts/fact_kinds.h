/* fact_kinds.h - equal things counted: "4 x 0x006f (vfio-pci), 1 x 0x0042 (no driver)".
 *
 * The most frequent first, then by text: hosts number their devices as they like and are equal all the same. More than
 * KINDS_MAX different ones are counted together. One thread. */
#ifndef SLICEUP_WORKER_FACTS_FACT_KINDS_H
#define SLICEUP_WORKER_FACTS_FACT_KINDS_H

#include "worker/facts/fact_list.h"

enum { KINDS_MAX = 16 };

struct kind {
    struct text what;
    uint32_t count;
};
struct kinds { /* {0}: none yet */
    struct kind items[KINDS_MAX];
    uint32_t n, others;
};

void kinds_count (struct kinds *kinds, struct text what); /* borrows */
/* As a fact; with none it is `missing`, which may be empty: "absent". */
void kinds_add (struct fact_list *list, const char *name, const struct kinds *kinds, struct text missing);

#endif
