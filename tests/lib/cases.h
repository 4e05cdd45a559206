/* cases.h - files of cases, tests/unit/cases/NAME.txt: to add one takes no C.
 *
 *   # What this file is about.
 *   === a host is named once                        the promise, of all cases until the next title
 *   --- slice                                       a part: the lines until the next mark
 *   hosts: [h0, h0]
 *   --- want: slice.yaml:2:13: the host 'h0' ...    the part that ends a case; behind a colon: a part of one line
 *
 * A file without a case fails, and so does a case without a title. */
#ifndef SLICEUP_TESTS_LIB_CASES_H
#define SLICEUP_TESTS_LIB_CASES_H

#include "test.h"

enum { CASE_PARTS_MAX = 16 };

struct case_part {
    struct text name, text;
};

struct test_case {
    struct text title;
    uint32_t line; /* of its part `want` */
    struct case_part parts[CASE_PARTS_MAX];
    uint32_t n;
};

/* "" if the case has no such part. */
struct text case_text (const struct test_case *of, const char *name);
/* The first line of `rest`, without its newline, of which `rest` is then what follows. */
struct text case_next_line (struct text *rest);

/* Prints what came of a case; `t` is its own. */
typedef void case_fn (struct test *t, const struct test_case *of, struct buf *got);

/* `run` of each case of the file. What it prints is to be the part `want`, but for newlines at the end; a wanted line that
 * ends with "..." is the beginning of the one that is found. */
void cases_run (const char *name, case_fn *run);

#endif
