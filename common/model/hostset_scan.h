/* hostset_scan.h - private to host sets: where the reader stands in an expression, and one operand of it. */
#ifndef SLICEUP_COMMON_MODEL_HOSTSET_SCAN_H
#define SLICEUP_COMMON_MODEL_HOSTSET_SCAN_H

#include "common/model/hostset.h"

struct hostset_scan {
    struct text all;
    uint32_t at;
    struct err *err;
};

bool hostset_scan_at_end (const struct hostset_scan *scan);
char hostset_scan_peek (const struct hostset_scan *scan);     /* '\0' at the end, and for a NUL within */
bool hostset_scan_accept (struct hostset_scan *scan, char c); /* advances if the next one is `c` */
void hostset_scan_skip_blanks (struct hostset_scan *scan);
struct text hostset_scan_name (struct hostset_scan *scan);   /* characters of names; may be empty */
struct text hostset_scan_digits (struct hostset_scan *scan); /* may be empty */
struct text hostset_scan_text_between (const struct hostset_scan *scan, uint32_t from, uint32_t to);
/* Fails with the place (characters counted from 1) and the text there. */
int hostset_scan_fail (const struct hostset_scan *scan, enum err_code code, uint32_t at, const char *what);

/* ---- hostset_item.c: one operand, "rack[1-4]n[01-16]-ib", and its names, counted before any is made ---- */

/* Ends of ranges are counted in uint64_t; longer numbers stand alone. */
enum { RANGE_DIGITS_MAX = 18 };
static inline bool digits_are_padded (struct text number)
{
    return number.len > 1 && number.ptr[0] == '0';
}
/* first, first + step, ..., at most last; `verbatim` instead, if a number has too many digits to count with. */
struct hostset_range {
    uint64_t first, last, step;
    uint32_t width; /* zero-padded to it; 0: not padded */
    struct text verbatim;
};

/* Brackets never touch and each takes at least one character, so a name cannot have more. */
enum { ITEM_BRACKETS_MAX = (HOST_NAME_MAX_BYTES + 1) / 2 };
struct hostset_bracket {
    uint32_t spans_from, spans_to;
};
struct hostset_item {
    uint32_t at;                                /* its place, for errors */
    bool group;                                 /* written with '@', which is not part of the names */
    char ipv6[HOST_IPV6_BYTES];                 /* the literal of an address */
    struct text literal[ITEM_BRACKETS_MAX + 1]; /* before each bracket, and behind the last one */
    struct hostset_bracket brackets[ITEM_BRACKETS_MAX];
    uint32_t brackets_n;
    struct hostset_range *spans; /* of all brackets, owned; kept from one item to the next */
    uint32_t spans_n, spans_capacity;
};

void item_release (struct hostset_item *item);
/* Reads the operand at `scan`. `item` is {0} or one that was read before. */
int item_read (struct hostset_item *item, struct hostset_scan *scan);
/* How many names; UINT64_MAX: too many to count. */
uint64_t hostset_item_count (const struct hostset_item *item);
/* Makes the names in order, the last bracket running fastest; call it only for a small hostset_item_count. */
int hostset_item_expand (const struct hostset_item *item, const struct hostset_scan *scan, struct arena *arena,
                         struct name_list *names);

#endif
