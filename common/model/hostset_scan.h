/* hostset_scan.h - private to host sets: where the reader stands in an expression. */
#ifndef SLICEUP_COMMON_MODEL_HOSTSET_SCAN_H
#define SLICEUP_COMMON_MODEL_HOSTSET_SCAN_H

#include "common/model/hostset.h"

struct scan {
    struct text all;
    uint32_t at;
    struct err *err;
};

bool scan_ended (const struct scan *scan);
char scan_next (const struct scan *scan);   /* '\0' at the end, and for a NUL within */
bool scan_take (struct scan *scan, char c); /* moves on when the next one is `c` */
void scan_blanks (struct scan *scan);
struct text scan_name (struct scan *scan);   /* characters of names; may be empty */
struct text scan_digits (struct scan *scan); /* may be empty */
struct text scan_part (const struct scan *scan, uint32_t from, uint32_t to);
/* Fails at a place: people count characters from 1, and see what stands there. */
int scan_refuse (const struct scan *scan, enum err_code code, uint32_t at, const char *what);

bool is_digit (char c);

#endif
