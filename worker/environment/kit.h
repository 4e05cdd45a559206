/* kit.h - finds the files that a program needs on this host, or puts them together from fetched ones.
 *
 * If this host has the same files at the paths of the plan, all are used there, but for our modules of a command, beside
 * which Python would write: of these there is always a copy. Otherwise all come from the worker's own folder: <directory>/files/<sha256> holds what was fetched, <directory>/kits/<digest> is the kit put together of
 * that, read-only, with the names it has in the plan. What is missing is named; nothing is fetched here. Everything is
 * held against its sha256 each time. It waits for disks, so it is a task's work; one at a time in a directory. */
#ifndef SLICEUP_WORKER_ENVIRONMENT_KIT_H
#define SLICEUP_WORKER_ENVIRONMENT_KIT_H

#include "common/model/kit.h"
#include "common/model/msg.h"

struct kit_list {
    struct kit_file items[KIT_FILES_MAX];
    uint32_t n;
};

struct kit {
    struct text folder;            /* empty: every file lies where the plan has it */
    struct text helpers;           /* the kit with the copy of our modules for a command; empty: it has none */
    LIST_OF (struct text) missing; /* sha256 of files to be fetched first; then there is no kit yet */
};

/* What the program of a RUN needs. The items alias `run`. */
void kit_list_of (const struct msg_run *run, struct kit_list *out);
/* What it makes lives in `arena`. -1: the list is no possible kit, or the disk fails. */
int kit_prepare (const struct kit_list *list, const char *directory, struct arena *arena, struct kit *out,
                 struct err *err);
/* Where a fetched file stays; it is looked at again by kit_prepare. */
struct text kit_stored_path (const char *directory, struct text sha256, struct arena *arena);
/* Reads one file into `out`, from the plan's place or what was fetched; false: neither has it with this sha256. */
bool kit_read_file (const struct file_ref *file, const char *directory, struct arena *arena, struct buf *out);
/* Where one file of the list is, in a kit folder or, without one, in place. */
struct text kit_file_path (struct text folder, const struct kit_file *file, struct arena *arena);

/* The wheels that an environment is built from lie in one folder: <directory>/wheels. Where this host has a wheel at the
 * plan's path, a link stands for it; others are fetched. */

/* Does the program of this RUN build from wheels? Not when it only looks. */
bool wheels_are_needed (const struct msg_run *run);
/* Links what is here and names what is not: `missing` (sha256, room for all of the plan), in `arena`. */
int wheels_link_present (const struct msg_run *run, const char *directory, struct arena *arena, struct text *missing,
                         uint32_t *missing_n, struct err *err);
struct text wheels_folder (struct text directory, struct arena *arena);
/* The wheel with this sha256; NULL: the plan has none. */
const struct kit_file *wheels_find_by_sha256 (const struct msg_run *run, struct text sha256);
bool wheels_name_is_good (struct text name);

/* ---- fetch.c ---- */

/* Fetches files from the coordinator, or from the host that it names, into the worker's folder, one piece at a time. A
 * host that sends nothing for some seconds, or other bytes, is left, and the file comes from the coordinator.
 *
 * Level-triggered like everything else: the piece that is wanted is asked for again until it comes, so that a request
 * or an answer may be lost, repeated or late. A file is kept once its sha256 is that of the plan; a file that cannot be
 * fetched ends the fetch with an error sentence. Each goes to the disk as it comes, so memory
 * holds one piece. Knows no sockets; time is given. Main thread only. */

enum {
    FETCH_SILENCE_MS = 60 * 1000, /* without a new piece: it ends */
    FETCH_HOST_SILENCE_MS = 5000, /* the same of another host: it is left */
    FETCH_FILES_MAX = KIT_FILES_MAX + WHEELS_MAX
};

/* What a fetch asks of its owner. */
struct fetch_calls {
    /* Asks another host, or without one the coordinator; false: that cannot be said right now. */
    bool (*ask) (void *owner, const struct msg_fetch *ask, const struct giver *giver);
    /* A file that hosts give to one another is here, as a whole. */
    void (*have) (void *owner, const struct msg_fetch *ask, const char *path);
    void *owner;
};

enum fetch_state { FETCH_GOING, FETCH_DONE, FETCH_FAILED };

struct fetch;
/* `missing` are sha256 of files and wheels of `run`; both are copied. `directory` and what `calls` has stay the caller's.
 * `until_ms`: when its attempt ends, UINT64_MAX: never. Hosts have half of that time, and the coordinator the rest. */
struct fetch *fetch_start (const struct msg_run *run, const struct text *missing, uint32_t missing_n,
                           const char *directory, const struct fetch_calls *calls, uint64_t until_ms, uint64_t now_ms);
void fetch_destroy (struct fetch *fetch); /* NULL is fine */
/* A piece from another host, or from the coordinator; one that is not awaited is passed over. */
void fetch_take (struct fetch *fetch, const struct msg_chunk *chunk, bool of_host, uint64_t now_ms);
void fetch_poll (struct fetch *fetch, uint64_t now_ms);
uint64_t fetch_deadline_ms (const struct fetch *fetch);
/* FAILED: `*problem` says why; it lives as long as the fetch. `problem` may be NULL. */
enum fetch_state fetch_state (const struct fetch *fetch, struct text *problem);
/* "; so many bytes of this file had come from there"; empty unless GOING. */
struct text fetch_progress (const struct fetch *fetch, struct arena *arena);
/* FAILED: whose it is. A file that the coordinator no longer has is the launch's; all else is this host's. */
enum owner fetch_owner (const struct fetch *fetch);

#endif
