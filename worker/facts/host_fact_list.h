/* host_fact_list.h - collects facts, and reads files for them.
 *
 * All roots are in one struct, so that a test can simulate a machine. Texts live in the arena. One thread. */
#ifndef SLICEUP_WORKER_FACTS_HOST_FACT_LIST_H
#define SLICEUP_WORKER_FACTS_HOST_FACT_LIST_H

#include "common/model/plan.h"

/* Below RESULT_FACTS_MAX, since the worker adds a few of its own. A result must fit a message, so values are bounded,
 * and all with notes must stay below EVIDENCE_MAX_BYTES. */
enum { FACT_LIST_MAX = 224, FACT_FILE_BYTES = 64 * 1024, FACT_VALUE_BYTES = 4000, FACT_BRIEF_BYTES = 120 };
enum { FACT_BYTES_MAX = 36 * 1024, FACT_COST_BYTES = 28, FACT_NAMES_MAX = 4096, FACT_DIGEST_BYTES = 16 };

struct host_fact_roots {
    const char *proc, *sys, *dev, *etc, *tmp, *root;
}; /* `root`: for all other paths; "" for "/" */
extern const struct host_fact_roots host_fact_roots_real;

struct host_fact_list {
    const struct host_fact_roots *roots;
    struct arena arena;
    struct var items[FACT_LIST_MAX];
    uint32_t n;
    size_t left_bytes; /* rest of FACT_BYTES_MAX; a fact costs its texts and the overhead of evidence_state.c */
};

void host_fact_list_init (struct host_fact_list *list, const struct host_fact_roots *roots);
void host_fact_list_release (struct host_fact_list *list);
/* An empty value becomes "absent". One above FACT_VALUE_BYTES is shortened, to FACT_BRIEF_BYTES once little room is
 * left. `name` lives as long as the list. */
void host_fact_add (struct host_fact_list *list, const char *name, struct text value);
void host_fact_add_number (struct host_fact_list *list, const char *name, uint64_t value);
struct text host_fact_find (const struct host_fact_list *list, const char *name); /* empty: not there */

uint32_t host_fact_value_room (const struct host_fact_list *list); /* the longest value that is still not shortened */

/* At most FACT_FILE_BYTES of the regular file `<root><path>`, without white space at the end. False: `*out` is then the
 * value "absent", or "unreadable" with the reason. */
bool host_fact_read_file (struct host_fact_list *list, const char *root, const char *path, struct text *out);
void host_fact_add_file (struct host_fact_list *list, const char *name, const char *root, const char *path);
/* If `file`, the result of host_fact_read_file, is a failure, its reason; else empty. */
struct text host_fact_file_problem (struct text file);
void host_fact_add_field (struct host_fact_list *list, const char *name, struct text file, const char *key);
/* Sorted names in `<root><path>` that begin with `prefix` and not with '.'; none if it is missing. */
struct name_list host_fact_folder_names (struct host_fact_list *list, const char *root, const char *path,
                                         const char *prefix);
/* Why a folder gave no names: "absent" (also if it is readable), or "unreadable" with the reason. */
struct text host_fact_folder_problem (struct host_fact_list *list, const char *root, const char *path);

/* FACT_DIGEST_BYTES hexadecimal digits over the sorted words of `text`. */
struct text host_fact_words_digest (struct arena *arena, struct text text);
/* At most `max_bytes` (100 or more): a longer text is cut, and ends in its length and the digest of its words. */
struct text host_fact_shorten (struct arena *arena, struct text text, uint32_t max_bytes);
/* `text` on one line: white space becomes blanks, control characters are escaped. */
struct text host_fact_one_line (struct arena *arena, struct text text);

/* The value after `key` and separators (":", "=", blanks, quotes) in the first line that begins with it. */
bool host_fact_find_field (struct text file, const char *key, struct text *value);

/* ---- what is free on the file systems that a run uses ---- */

/* START_DIR: the worker's folder, with the scratch, outputs and logs of its programs. */
enum disk_folder { DISK_START_DIR = 0, DISK_ENV_DIR, DISK_CACHE_DIR, DISK_TMP, DISK_FOLDERS };
/* The less is free, the lower. FULL: less than 1 MiB, or no inode. NEARLY_FULL: less than 1 GiB, or 10,000 inodes (a
 * Python environment has more files). LOW: 10 times that. */
enum disk_level { DISK_FULL = 0, DISK_NEARLY_FULL, DISK_LOW, DISK_AMPLE, DISK_READ_ONLY };
struct disk_room {
    enum disk_level level;
    uint64_t file_system, free_bytes; /* `file_system`: equal for the same one */
    struct text sentence;             /* "/var/tmp (tmpfs, 600 MiB) has 12.0 MiB free", "... is full" */
};
/* Of the file system that `path` lies on, or the nearest folder above that is there. Waits for its storage. False: it
 * cannot be read, or has no size. */
bool disk_room_find (const char *path, struct arena *arena, struct disk_room *out);
/* Puts the room of `path` into `least` if it is less, and at most `most`; "": no path. By mounts, if `least` is
 * not full: of every local file system of this host that is. */
void disk_room_lessen (const char *path, enum disk_level most, struct arena *arena, struct disk_room *least);
void disk_room_lessen_by_mounts (struct arena *arena, struct disk_room *least);
/* Of a file system that is mounted to be written to and no longer is: its driver found an error. */
bool disk_room_find_broken (struct arena *arena, struct disk_room *out);

/* "its limit on processes is 32 (pids.max of its cgroup)"; empty: there is none. Their limit is also that on threads. */
struct text process_limit_find (struct arena *arena);

/* The facts of a machine, by parts. */
void machine_facts (struct host_fact_list *list);   /* kernel, system, processor, clock */
void container_facts (struct host_fact_list *list); /* the surrounding container, and its limits */
void memory_facts (struct host_fact_list *list);    /* memory, huge pages, limits of processes */
/* `packages`: their names; values are ignored. At most EXPECT_PACKAGES_MAX. */
void package_facts (struct host_fact_list *list, const var_list *packages);
void pci_facts (struct host_fact_list *list); /* accelerators on the PCI bus */
void gpu_facts (struct host_fact_list *list); /* versions of GPUs' driver and firmware, and errors since boot */
/* Device files of accelerators, and their holders. Returns who holds one that only one process can hold. */
struct text device_facts (struct host_fact_list *list);
/* Asks the metadata server, for a bounded time; `google`: there should be one. Returns a note about maintenance. */
struct text cloud_facts (struct host_fact_list *list, bool google);
/* A path that is NULL is "absent". */
void mount_facts (struct host_fact_list *list, const char *const paths[DISK_FOLDERS],
                  struct disk_room rooms[DISK_FOLDERS]);
void library_facts (struct host_fact_list *list, const char *libtpu); /* `libtpu`: path; NULL: not known */
/* Adds those of `vars` that belong to a family or are `named` (may be NULL), as "<prefix>.<NAME>"; at most `most`, and within `left_bytes`, at the
 * cost of ordinary facts. The number left out is a fact, too. */
void variable_add_facts (struct host_fact_list *list, const char *prefix, const var_list *vars, const var_list *named,
                         uint32_t most, size_t *left_bytes);

/* Counts equal values: "4 x 0x006f (vfio-pci), 1 x 0x0042 (no driver)".
 *
 * The most frequent first, then by text, so that hosts that number their devices differently are equal. Beyond
 * KINDS_MAX, different values are counted together. One thread. */
enum { KINDS_MAX = 16 };

struct value_tally_entry {
    struct text what;
    uint32_t count;
};
struct value_tally { /* {0}: empty */
    struct value_tally_entry items[KINDS_MAX];
    uint32_t n, others;
};

void value_tally_add (struct value_tally *tally, struct text what); /* borrows */
/* Adds the tally as a fact; without values it is `missing`, or "absent" if that is empty. */
void value_tally_to_fact (struct host_fact_list *list, const char *name, const struct value_tally *tally,
                          struct text missing);

/* The newest files of libtpu's own log folder: one sentence with names, sizes and ages, the newest first; empty: no
 * such folder, or no files. Contents are not read. Source: docs.cloud.google.com/tpu/docs/performance-guide
 * (/tmp/tpu_logs). */
struct text tpu_logs_newest (struct host_fact_list *list, uint64_t now_wall_ms);

/* ---- display ---- */

/* Makes a text of this host safe to show to others, since facts end up in receipts.
 *
 * One line, without control characters or apparent secrets. Pure; results live in the arena. */

/* `mount`: "<type> <options> <source>". "ext4 rw /dev/nvme1n1p2" becomes "ext4 rw /dev/nvme": disk numbers change with
 * boots and hosts, and names of volumes may be the host's own. So only the kind of a device is shown, but the whole
 * address of a server. */
struct text display_mount (struct arena *arena, const char *mount);
/* `raw`: arguments, separated by NULs or blanks, as in /proc/<pid>/cmdline. Removes the x of "--token=x", "--token x"
 * and "TOKEN=x". */
struct text command_line_for_display (struct arena *arena, struct text raw, uint32_t max_bytes);
/* The program's own name: the last part of the first word's path. */
struct text display_program_name (struct arena *arena, struct text raw);

/* ---- library_digest.c: a shared library by a fast digest of its bytes ---- */

/* XXH3 with 128 bits, as `xxh128sum FILE` prints it: it compares hosts and does not protect against forgery. It must be
 * fast, since every host reads a runtime of half a gigabyte at every start. It follows symbolic links, as the loader
 * does. Any thread; blocks while it reads, at most LIBRARY_READ_MS unless a read hangs. */
enum { LIBRARY_HEX_BYTES = 32, LIBRARY_READ_MS = 20000 };
#define LIBRARY_BYTES_MAX (UINT64_C (8) << 30)

/* `hex`: LIBRARY_HEX_BYTES digits in `arena`. `bytes` (may be NULL): its size. -1: not there, no regular file, larger
 * than LIBRARY_BYTES_MAX, slower than LIBRARY_READ_MS, or changed while it was read; then nothing is set. */
int library_xxh128 (const char *path, struct arena *arena, struct text *hex, uint64_t *bytes, struct err *err);

/* ---- device_users.c ---- */

/* Finds the processes that have this host's accelerators open, from /proc.
 *
 * It opens no device, because that could keep the next program from opening it. It reads only links, never their
 * targets, so that a hanging file system does not hang it. It does not wait (device_wait.c does) and ends no process.
 * It hides secrets of a command line (host_fact_list.h). Results live in the arena. It misses processes that it may not
 * inspect, or outside its pid namespace. Any thread. */

enum { DEVICE_USERS_MAX = 8, HOLDER_DEVICE_BYTES = 63, HOLDER_COMMAND_BYTES = 160 };

/* ANY: every device file of an accelerator. EXCLUSIVE: only those that a single process can hold: a TPU's, but no
 * NVIDIA GPU's, which daemons always have open, and not /dev/vfio/vfio or the group of another PCI device. */
enum device_users_of { DEVICE_USERS_OF_ANY, DEVICE_USERS_OF_EXCLUSIVE };

struct device_user {
    uint32_t pid;
    bool exclusive;      /* of a device that only one process can hold: EXCLUSIVE above */
    uint64_t began_ms;   /* when the process began, on the clock since boot; 0: not known */
    struct text device;  /* a device that it has open, "/dev/vfio/0"; an exclusive one, if there is one */
    struct text command; /* its command line: one line, cut, safe to show */
    struct text program; /* only its name, equal on all hosts with that program */
};

struct device_users {
    struct device_user items[DEVICE_USERS_MAX]; /* by pid */
    uint32_t n, more;                           /* `more`: found beyond those kept */
    bool blind;                                 /* some process could not be inspected */
    bool unfinished;                            /* `limit_ms` passed before all were inspected */
};

/* `limit_ms` is checked between processes; at most 65536 descriptors of one are read. */
void device_users_find (const struct host_fact_roots *roots, enum device_users_of of, uint64_t limit_ms,
                        struct arena *arena, struct device_users *out);

/* "/dev/vfio/0 is held by 4232 /opt/old/train.py 3000, since 2 h and by 1 other process": the first holder of an
 * exclusive device. Empty: none. host_remedy (coordinator/verdict/going_on.h) reads it. */
struct text device_users_sentence (const struct device_users *users, struct arena *arena);

/* ---- facts.c ---- */

/* The builtin program `facts`: the facts of this host, for comparison with the other hosts of its slice.
 *
 * Speaks the canary protocol; by hand it prints the same lines. docs/spec/facts.md lists them. It runs no interpreter
 * and opens no device; on the network it asks at most the metadata server of a Google machine, for a bounded time.
 * Takes well below a fifth of a second. A missing thing is a fact with the value "absent"; an unreadable one says so.
 * Values that change by themselves (free disk, uptime) are notes to check again, never facts. Exit status: 0 printed, 1
 * could not print, 2 usage. argv[0] is the name of the builtin. */

int facts_main (int argc, char **argv);
/* Does a variable control a runtime: is it of a family of docs/spec/facts.md? Pure. */
bool runtime_variables_contain (struct text name);

#endif
