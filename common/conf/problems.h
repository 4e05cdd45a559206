/* problems.h - every mistake found in the files of one load, collected until all files are read.
 *
 * Knows where a problem is (a yaml node) and how to quote what a file said; does not know what is right. The texts live
 * in the arena, the list itself on the heap until problems_to_report. Past PROBLEMS_MAX the rest is counted. */
#ifndef SLICEUP_COMMON_CONF_PROBLEMS_H
#define SLICEUP_COMMON_CONF_PROBLEMS_H

#include "common/conf/conf.h"

enum { PROBLEMS_MAX = 500 };

struct yaml_node;
struct problem_list {
    struct arena *arena;
    struct conf_problem *items;
    uint32_t n, capacity;
    uint32_t errors; /* all of them, also those past PROBLEMS_MAX */
};

void problem_add (struct problem_list *problems, const char *file, uint32_t line, uint32_t column, const char *format,
                  ...) __attribute__ ((format (printf, 5, 6)));
/* At a node; always returns -1, so that refusing and explaining are one statement. */
int problem_at (struct problem_list *problems, const struct yaml_node *at, const char *format, ...)
    __attribute__ ((format (printf, 3, 4)));
void warning_at (struct problem_list *problems, const struct yaml_node *node, const char *format, ...)
    __attribute__ ((format (printf, 3, 4)));
/* 'text', safe for a terminal and cut when long; lives in the arena. */
const char *problem_quote (struct problem_list *problems, struct text text);
/* What stands there, to be quoted: a single value, or which kind of value it is. */
const char *problem_quote_value (struct problem_list *problems, const struct yaml_node *node);
/* "unknown WHAT 'text', expected one of a, b; did you mean 'a'?" */
int problem_unknown (struct problem_list *problems, const struct yaml_node *at, const char *what,
                     const char *const known[], uint32_t n);
/* Sorts by file and position into `report` and releases the list. -1 when there are errors; `err` holds the first. */
int problems_to_report (struct problem_list *problems, struct conf_report *report, struct err *err);

#endif
