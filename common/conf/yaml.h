/* yaml.h - parses one YAML file into a tree whose nodes have their line and column. The only home of libfyaml.
 *
 * A subset on purpose: one document, maps with plain keys, lists and scalars. Anchors, aliases, tags, duplicate keys,
 * control characters and trees past the bounds are problems, so a small file cannot become a big tree. A scalar keeps
 * its text: its key decides what it means. The tree lives in the arena. */
#ifndef SLICEUP_COMMON_CONF_YAML_H
#define SLICEUP_COMMON_CONF_YAML_H

#include "common/conf/conf.h"

/* ---- problems ---- */

/* Every mistake found in the files of one load, collected until all files are read.
 *
 * Knows where a problem is (a yaml node) and how to quote what a file said; knows no rules. The texts live in the
 * arena, the list itself on the heap until problems_to_report. Past PROBLEMS_MAX problems are only counted. */

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
/* At a node, silent at a YAML_BAD one; always returns -1, so that refusing and explaining are one statement. */
int problem_at (struct problem_list *problems, const struct yaml_node *at, const char *format, ...)
    __attribute__ ((format (printf, 3, 4)));
void warning_at (struct problem_list *problems, const struct yaml_node *node, const char *format, ...)
    __attribute__ ((format (printf, 3, 4)));
/* 'text', safe for a terminal and cut when long; lives in the arena. */
const char *problem_quote (struct problem_list *problems, struct text text);
/* Quotes a scalar, or names the kind of another value. */
const char *problem_quote_value (struct problem_list *problems, const struct yaml_node *node);
/* "unknown WHAT 'text', expected one of a, b; did you mean 'a'?" */
int problem_unknown (struct problem_list *problems, const struct yaml_node *at, const char *what, const char *where,
                     const char *const known[], uint32_t n);
/* Sorts by file and position into `report` and releases the list. -1 when there are errors; `err` holds the first. */
int problems_to_report (struct problem_list *problems, struct conf_report *report, struct err *err);

/* ---- yaml ---- */

enum { YAML_DEPTH_MAX = 12, YAML_NODES_MAX = 50000, YAML_KEYS_MAX = 512, YAML_SCALAR_MAX_BYTES = TEXT_MAX_BYTES };

enum yaml_kind {
    YAML_BAD = 0, /* already reported: problem_at adds nothing */
    YAML_SCALAR,
    YAML_LIST,
    YAML_MAP,
};

struct yaml_node {
    const char *file;
    uint32_t line, column; /* from 1 */
    enum yaml_kind kind;
    bool plain;              /* SCALAR: not quoted */
    struct text text;        /* SCALAR */
    struct yaml_node *first; /* LIST: its items; MAP: its keys, in the order of the file */
    struct yaml_node *next;  /* the sibling */
    struct yaml_node *value; /* of a key */
    uint32_t n;
};

/* NULL: not such a tree, and problems say why. Problems may be added even if a tree is returned. An empty file gives a
 * map without keys. */
struct yaml_node *yaml_parse (const char *file, struct text bytes, struct problem_list *problems);
/* The value of a key of a map; NULL: it is not given, or `map` is none. */
const struct yaml_node *yaml_value (const struct yaml_node *map, const char *key);
/* Is it an unquoted empty value, ~ or null? */
bool yaml_is_null (const struct yaml_node *node);
const char *yaml_kind_name (enum yaml_kind kind);

#endif
