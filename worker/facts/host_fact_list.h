/* host_fact_list.h - facts being gathered, and how a file becomes one.
 *
 * The roots are together, so that a test can show a machine with devices. Texts live in the arena. One thread. */
#ifndef SLICEUP_WORKER_FACTS_HOST_FACT_LIST_H
#define SLICEUP_WORKER_FACTS_HOST_FACT_LIST_H

#include "common/base/text.h"
#include "common/model/hostset.h"
#include "common/model/plan.h"

/* Below RESULT_FACTS_MAX: the worker adds a few of its own. A value is one field of a result that has to fit a message,
 * and all of them together with notes are what a program may say (EVIDENCE_MAX_BYTES). */
enum { FACT_LIST_MAX = 224, FACT_FILE_BYTES = 64 * 1024, FACT_VALUE_BYTES = 4000, FACT_BRIEF_BYTES = 120 };
enum { FACT_BYTES_MAX = 36 * 1024, FACT_COST_BYTES = 28, FACT_NAMES_MAX = 4096, FACT_DIGEST_BYTES = 16 };

struct host_fact_roots {
    const char *proc, *sys, *dev, *etc, *tmp, *root;
}; /* `root`: what else is there; "" for "/" */
extern const struct host_fact_roots host_fact_roots_real;

struct host_fact_list {
    const struct host_fact_roots *roots;
    struct arena arena;
    struct var items[FACT_LIST_MAX];
    uint32_t n;
    size_t left_bytes; /* of FACT_BYTES_MAX; each fact costs its texts and what json_record.c adds */
};

void host_fact_list_init (struct host_fact_list *list, const struct host_fact_roots *roots);
void host_fact_list_release (struct host_fact_list *list);
/* An empty value is "absent". One of more than FACT_VALUE_BYTES is shortened; to FACT_BRIEF_BYTES, once little is left
 * for all. `name` lives as long as the list. */
void host_fact_add (struct host_fact_list *list, const char *name, struct text value);
void host_fact_add_number (struct host_fact_list *list, const char *name, uint64_t value);
struct text host_fact_find (const struct host_fact_list *list, const char *name); /* empty when it is not there */

uint32_t host_fact_value_room (const struct host_fact_list *list); /* the longest value that is not shortened now */

/* At most FACT_FILE_BYTES of the regular file `<root><path>`, white space at the end gone. False: not there, or
 * unreadable; `*out` is then the value that says which: "absent", or "unreadable" with the reason. */
bool host_fact_read_file (struct host_fact_list *list, const char *root, const char *path, struct text *out);
void host_fact_add_file (struct host_fact_list *list, const char *name, const char *root, const char *path);
/* `file`: what host_fact_read_file gave, also when it could not; why it could not, if it is that, and else empty. */
struct text host_fact_file_problem (struct text file);
void host_fact_add_field (struct host_fact_list *list, const char *name, struct text file, const char *key);
/* The names in `<root><path>` that begin with `prefix` and with no '.', sorted; none when it is not there. */
struct name_list host_fact_folder_names (struct host_fact_list *list, const char *root, const char *path,
                                         const char *prefix);
/* Why a folder gave no names: "absent" (also when it may be read), or "unreadable" with the reason. */
struct text host_fact_folder_problem (struct host_fact_list *list, const char *root, const char *path);

/* FACT_DIGEST_BYTES hexadecimal digits over the sorted words of `text`. */
struct text host_fact_words_digest (struct arena *arena, struct text text);
/* At most `max_bytes` (100 or more): a longer text is cut, and ends in its length and the digest of its words. */
struct text host_fact_shorten (struct arena *arena, struct text text, uint32_t max_bytes);
/* `text` on one line: white space becomes blanks, what a terminal would obey is escaped. */
struct text host_fact_one_line (struct arena *arena, struct text text);

/* The value after `key` and separators (":", "=", blanks, quotes) in the first line that begins with it. */
bool host_fact_find_field (struct text file, const char *key, struct text *value);

/* What a machine is, by parts. */
void machine_facts (struct host_fact_list *list);   /* kernel, system, processor, clock */
void container_facts (struct host_fact_list *list); /* what surrounds us, and what it limits */
void memory_facts (struct host_fact_list *list);    /* memory, huge pages, limits of processes */
/* `packages`: by their names; the values are not looked at. At most EXPECT_PACKAGES_MAX. */
void package_facts (struct host_fact_list *list, const var_list *packages);
void pci_facts (struct host_fact_list *list);    /* accelerators on the PCI bus */
void device_facts (struct host_fact_list *list); /* the files of accelerators, who holds them */
/* Asks the metadata server, for a bounded time; `google`: there should be one. Gives the note of a maintenance. */
struct text cloud_facts (struct host_fact_list *list, bool google);
struct text mount_facts (struct host_fact_list *list, const char *env_dir); /* gives the note of what is free there */
void library_facts (struct host_fact_list *list, const char *libtpu);       /* `libtpu`: path; NULL: not known */
/* Those of `vars` that belong to a family, as "<prefix>.<NAME>"; at most `most`, and what `left_bytes` has room for, of
 * which each costs as much as of the list's own. How many were left out is a fact, too. */
void variable_add_facts (struct host_fact_list *list, const char *prefix, const var_list *vars, uint32_t most,
                         size_t *left_bytes);

/* Equal things counted: "4 x 0x006f (vfio-pci), 1 x 0x0042 (no driver)".
 *
 * The most frequent first, then by text: hosts number their devices as they like and are equal all the same. More than
 * KINDS_MAX different ones are counted together. One thread. */
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

/* The newest files of libtpu's own log folder: one sentence with names, sizes and ages, the newest first; empty: there
 * is no such folder, or nothing in it. Their contents are not read.
 * Source: docs.cloud.google.com/tpu/docs/performance-guide (/tmp/tpu_logs). */
struct text tpu_logs_newest (struct host_fact_list *list, uint64_t now_wall_ms);

/* ---- display ---- */

/* Makes a text of this host fit to be shown to others: facts end up in receipts.
 *
 * One line, without what a terminal would obey or what looks like a secret. Pure; results live in the arena. */

/* `mount`: "<type> <options> <source>". "ext4 rw /dev/nvme1n1p2" becomes "ext4 rw /dev/nvme": disks are numbered in the
 * order in which they were found, which is another one on the next boot and on the next host, and names of volumes may
 * be the host's own. So of a device the kind alone is shown, of a server the whole address. */
struct text display_mount (struct arena *arena, const char *mount);
/* `raw`: arguments, parted by NULs or blanks, as in /proc/<pid>/cmdline. "--token=x", "--token x" and "TOKEN=x" lose
 * the x. */
struct text command_line_for_display (struct arena *arena, struct text raw, uint32_t max_bytes);
/* The program's own name: of the first word the last part of its path. */
struct text display_program_name (struct arena *arena, struct text raw);

#endif
