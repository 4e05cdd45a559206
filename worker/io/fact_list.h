/* fact_list.h - facts being gathered, and how a file becomes one.
 *
 * The roots stand in one place so that a test can show a machine that has devices. Texts live in the arena.
 * One thread. */
#ifndef SLICEUP_WORKER_FACT_LIST_H
#define SLICEUP_WORKER_FACT_LIST_H

#include "common/model/plan.h"

enum { FACT_LIST_MAX = 64, FACT_FILE_BYTES = 64 * 1024 };

struct fact_roots { const char *proc, *sys, *dev, *etc, *tmp; };
extern const struct fact_roots fact_roots_real;

struct fact_list {
    const struct fact_roots *roots;
    struct arena arena;
    struct var items[FACT_LIST_MAX];
    uint32_t n;
};

void fact_list_init (struct fact_list *list, const struct fact_roots *roots);
void fact_list_release (struct fact_list *list);
void fact_add (struct fact_list *list, const char *name, struct text value);
void fact_add_number (struct fact_list *list, const char *name, uint64_t value);
struct text fact_value (const struct fact_list *list, const char *name);    /* empty when it is not there */

/* At most FACT_FILE_BYTES of `<root><path>`, white space at the end gone. False: not there, or unreadable; `*out` is
 * then the value that says which: "absent", or "unreadable" with the reason. */
bool fact_read (struct fact_list *list, const char *root, const char *path, struct text *out);
/* The value after `key` and separators (":", "=", blanks, quotes) in the first line that begins with it. */
bool fact_field (struct text file, const char *key, struct text *value);

/* The two halves of what a machine is. */
void machine_facts (struct fact_list *list);    /* kernel, system, processor, memory, limits */
void device_facts (struct fact_list *list);     /* accelerators, their files, who holds them */

#endif
