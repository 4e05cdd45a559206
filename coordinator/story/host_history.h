/* host_history.h - what runs say of their hosts: who came through, who failed by itself; and over many runs who is suspect. Pure.
 * docs/guide/gate.md. */
#ifndef SLICEUP_COORDINATOR_STORY_HOST_HISTORY_H
#define SLICEUP_COORDINATOR_STORY_HOST_HISTORY_H

#include "common/model/receipt.h"

/* A host is suspect when the last run that says anything of it has it fail by itself, or so many of its last ones have. A run
 * clears a failure only if it passed the rung of it. */
enum { SUSPECT_FAILURES = 2, SUSPECT_RUNS = 5 };

struct host_failure {
    struct text host, rung;
    enum outcome outcome;
    enum owner owner;
    struct text cause;
};
struct run_hosts {
    struct text run, slice, passed; /* passed: a host set, of hosts that passed all of `rungs` */
    uint64_t ended_wall_ms;
    LIST_OF (struct host_failure) failed;
    text_list rungs;
};
extern const struct record run_hosts_record;
enum { RUN_HOSTS_MAX_BYTES = 8 << 20 };
struct run_hosts_list {
    struct run_hosts *items;
    uint32_t n;
};

/* Of one run's receipt, in `arena`. A failure of the device, the host or the platform is its host's; any other only where
 * another host passed the same rung, since what nobody passed is of the program. Whoever was told to end from outside, or by
 * a coordinator that was gone, did not fail. */
void host_history_of_run (const struct slice_receipt *receipt, struct arena *arena, struct run_hosts *out);

struct host_history {
    struct text host;
    uint32_t runs, failures, failures_lately; /* of runs that say something of it; lately: the last SUSPECT_RUNS */
    uint64_t since_ms; /* wall clock: since when it fails each time; 0: it passed in its last run */
    bool suspect;
    const struct host_failure *last; /* the newest; NULL: it never failed */
    struct text last_run;
    uint64_t last_ms;
};
struct host_history_list {
    struct host_history *items; /* by name */
    uint32_t n;
};
/* `runs`: the newest first. In `arena`. `failed_only`: of hosts that failed in one of them. */
void host_history_fold (const struct run_hosts_list *runs, bool failed_only, struct arena *arena,
                        struct host_history_list *out);
/* Appends the hosts that are suspect, as a host set; nothing: none is. */
void host_history_print_suspects (const struct host_history_list *list, struct buf *out);

#endif
