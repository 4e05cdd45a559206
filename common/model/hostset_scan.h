/* hostset_scan.h - private to host sets: where the reader stands in an expression. */
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
bool hostset_scan_accept (struct hostset_scan *scan, char c); /* moves on when the next one is `c` */
void hostset_scan_skip_blanks (struct hostset_scan *scan);
struct text hostset_scan_name (struct hostset_scan *scan);   /* characters of names; may be empty */
struct text hostset_scan_digits (struct hostset_scan *scan); /* may be empty */
struct text hostset_scan_text_between (const struct hostset_scan *scan, uint32_t from, uint32_t to);
/* Fails at a place: people count characters from 1, and see what stands there. */
int hostset_scan_fail (const struct hostset_scan *scan, enum err_code code, uint32_t at, const char *what);

#endif
