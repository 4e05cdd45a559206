/* hostset_item.h - private to host sets: one operand of an expression, "rack[1-4]n[01-16]-ib", and its names.
 *
 * What it stands for is counted before any of it is made. */
#ifndef SLICEUP_COMMON_MODEL_HOSTSET_ITEM_H
#define SLICEUP_COMMON_MODEL_HOSTSET_ITEM_H

#include "common/model/hostset_scan.h"

/* first, first + step, ..., at most last; `verbatim` instead where a number has too many digits to count with. */
struct hostset_range {
    uint64_t first, last, step;
    uint32_t width; /* zero-padded to it; 0: not padded */
    struct text verbatim;
};

/* Brackets never touch, and each takes a character of the name at least: more of them make no name. */
enum { ITEM_BRACKETS_MAX = (HOST_NAME_MAX_BYTES + 1) / 2 };
struct hostset_bracket {
    uint32_t spans_from, spans_to;
};
struct hostset_item {
    uint32_t at;                                /* where it stands, for errors */
    bool group;                                 /* written with '@', which is not part of the names */
    struct text literal[ITEM_BRACKETS_MAX + 1]; /* before each bracket, and behind the last one */
    struct hostset_bracket brackets[ITEM_BRACKETS_MAX];
    uint32_t brackets_n;
    struct hostset_range *spans; /* of all brackets, owned; kept from one item to the next */
    uint32_t spans_n, spans_capacity;
};

void item_release (struct hostset_item *item);
/* Reads the operand at which `scan` stands. `item` is {0} or one that was read before. */
int item_read (struct hostset_item *item, struct hostset_scan *scan);
/* How many names, or UINT64_MAX where that does not fit. */
uint64_t hostset_item_count (const struct hostset_item *item);
/* The names in their order, the last bracket running fastest; only after hostset_item_count was found bearable. */
int hostset_item_expand (const struct hostset_item *item, const struct hostset_scan *scan, struct arena *arena,
                         struct name_list *names);

#endif
