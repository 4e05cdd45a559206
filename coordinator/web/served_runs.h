/* served_runs.h - the runs of a home as they are now: which there are, how each stands, and a feed of those that
 * somebody asks about.
 *
 * The newest SERVED_RUNS_MAX are known. At most SERVED_FEEDS_MAX have a feed: a running one is followed by its journal
 * and its coordinator's events, an ended one is read from its journal; whoever was not asked about for longest gives its
 * place away. One that stands still is looked at every two seconds while somebody asks about it, else ever more rarely,
 * at least every SERVED_REST_MS. A journal that cannot be read is tried again SERVED_RETRY_MS later, a damaged one
 * SERVED_DAMAGED_MS. Reads, and changes nothing. One thread. */
#ifndef SLICEUP_COORDINATOR_WEB_SERVED_RUNS_H
#define SLICEUP_COORDINATOR_WEB_SERVED_RUNS_H

#include "coordinator/journal/run_dir.h"
#include "coordinator/picture/feed.h"
#include <jansson.h>

enum { SERVED_RUNS_MAX = 200, SERVED_FEEDS_MAX = 8 };
enum { SERVED_REST_MS = 30 * 1000, SERVED_RETRY_MS = 5 * 1000, SERVED_DAMAGED_MS = 60 * 1000 };

/* What is known of a run before its journal is read. */
enum served_state { SERVED_RUNNING, SERVED_INTERRUPTED, SERVED_ENDED, SERVED_UNBEGUN, SERVED_DAMAGED };

struct follow;
struct served_run {
    struct run_dir dir;
    uint64_t created_ms, driven_ms; /* driven: run_dir_held_ms at the last look */
    enum served_state state;
    uint64_t again_ms, rest_ms; /* boot: when it is looked at again, unless somebody asks; and so long between looks */
    uint64_t marked_ns;         /* when its journal had grown last; interrupted: it is read again when that changes */
    bool looked;                /* its first fact was read: the next five are there */
    char slice[NAME_MAX_BYTES + 1];
    uint32_t hosts_n;
    uint64_t began_wall_ms, ended_wall_ms;
    enum outcome outcome;
    char sentence[512]; /* escaped; cut */
    bool drift_read,
        drift_known; /* what it left at its end was read (answers.c); it says in how many ways hosts differ */
    uint32_t drift;
    /* its feed */
    struct feed *feed; /* NULL: nobody asked lately */
    uint32_t feeds_n;  /* which one of the run it is: each counts revisions anew */
    struct follow *follow;
    bool whole;                      /* all that was recorded when it was opened is in the feed */
    bool held;                       /* a coordinator held it at the last look for that */
    uint64_t changed;                /* revision of the feed at which a watcher would see something new */
    uint64_t revision, index, notes; /* of the last look for that */
    uint64_t used_ms;                /* boot: somebody asked last */
    uint64_t look_ms, held_ms;       /* boot: when the journal, and the lock, are looked at again */
    struct err err;                  /* its journal cannot be read; */
    uint64_t retry_ms;               /* boot: whoever asks from then on lets it be tried again */
};

struct served_runs;
/* `only`: the id of the one run that there is for whoever asks; NULL: all of the home. */
struct served_runs *served_runs_open (const char *home, const char *only);
void served_runs_close (struct served_runs *runs);
/* Looks at the home, and hands on what there is of facts: some time later there may be more. Returns the boot time in ms
 * at which there is more to do. */
uint64_t served_runs_tick (struct served_runs *runs, uint64_t boot_ms, uint64_t wall_ms);
/* An id, a unique prefix of one, or "last". Lives until the next tick. ERR_USAGE: there is none. */
struct served_run *served_runs_find (struct served_runs *runs, const char *wanted, struct err *err);
/* Somebody asks about the run: its feed is opened, and kept while they do. 1: it is whole; 0: it is being read; -1. */
int served_run_want (struct served_runs *runs, struct served_run *run, uint64_t boot_ms, struct err *err);
/* Somebody is to be told then what is new: without events, which come at once, its journal is read at that time at the
 * latest. */
void served_run_look_by (struct served_run *run, uint64_t boot_ms);
/* {"runs": [...]} of docs/spec/web.md. */
json_t *served_runs_json (struct served_runs *runs, uint64_t boot_ms);

#endif
