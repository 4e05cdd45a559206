/* served_runs.h - the runs of a home, how each stands now, and feeds of those that clients ask about.
 *
 * It knows the newest SERVED_RUNS_MAX runs. At most SERVED_FEEDS_MAX have a feed, from the journal, and from the
 * coordinator's events if running; the one not asked about for longest loses its place. An idle run is checked every
 * two seconds while clients ask about it, else more and more rarely, at least every SERVED_REST_MS. An unreadable
 * journal is tried again after SERVED_RETRY_MS, a damaged one after SERVED_DAMAGED_MS. It only reads. One thread. */
#ifndef SLICEUP_COORDINATOR_WEB_SERVED_RUNS_H
#define SLICEUP_COORDINATOR_WEB_SERVED_RUNS_H

#include "coordinator/journal/run_dir.h"
#include "coordinator/picture/feed.h"
#include <jansson.h>

enum { SERVED_RUNS_MAX = 200, SERVED_FEEDS_MAX = 8 };
enum { SERVED_REST_MS = 30 * 1000, SERVED_RETRY_MS = 5 * 1000, SERVED_DAMAGED_MS = 60 * 1000 };

/* State of a run before its journal is read. */
enum served_state { SERVED_RUNNING, SERVED_INTERRUPTED, SERVED_ENDED, SERVED_UNBEGUN, SERVED_DAMAGED };

struct follow;
struct served_run {
    struct run_dir dir;
    uint64_t created_ms, driven_ms; /* driven: run_dir_held_ms at the last check */
    enum served_state state;
    uint64_t again_ms, rest_ms; /* boot time of the next check, unless a client asks; and time between checks */
    uint64_t marked_ns;         /* when its journal last grew; an interrupted run is read again when this changes */
    bool looked;                /* its first fact was read: the next five are set */
    char slice[NAME_MAX_BYTES + 1];
    uint32_t hosts_n;
    uint64_t began_wall_ms, ended_wall_ms;
    enum outcome outcome;
    char sentence[512]; /* escaped; cut */
    bool drift_read,
        drift_known; /* its files of the end were read (answers.c): they tell in how many ways hosts differ */
    uint32_t drift;
    /* its feed */
    struct feed *feed; /* NULL: no client asked lately */
    uint32_t feeds_n;  /* number of this feed of the run: each counts revisions anew */
    struct follow *follow;
    bool whole;                      /* the feed has all facts that were recorded when it was opened */
    bool held;                       /* a coordinator held it at the last look */
    uint64_t changed;                /* the feed's revision at the last visible change */
    uint64_t revision, index, notes; /* at the last check for changes */
    uint64_t used_ms;                /* boot time of the last question */
    uint64_t look_ms;                /* boot time of the next look at the run */
    struct err err;                  /* why its journal cannot be read */
    uint64_t retry_ms;               /* boot time from which a question retries it */
};

struct served_runs;
/* `only`: the id of the one run to serve; NULL: all of the home. */
struct served_runs *served_runs_open (const char *home, const char *only);
void served_runs_close (struct served_runs *runs);
/* Reads the home, and new facts into feeds, a limited number at a time. Returns the boot time in ms of the next
 * call. */
uint64_t served_runs_tick (struct served_runs *runs, uint64_t boot_ms, uint64_t wall_ms);
/* `wanted`: an id, a unique prefix of one, or "last". The run lives until the next tick. ERR_USAGE: none. */
struct served_run *served_runs_find (struct served_runs *runs, const char *wanted, struct err *err);
/* A client asks about the run: opens its feed, and keeps it while they do. 1: complete; 0: being read; -1: error. */
int served_run_want (struct served_runs *runs, struct served_run *run, uint64_t boot_ms, struct err *err);
/* A client will be answered then: reads the journal by that time, in case no events come. */
void served_run_look_by (struct served_run *run, uint64_t boot_ms);
/* {"runs": [...]} of docs/spec/web.md. */
json_t *served_runs_json (struct served_runs *runs, uint64_t boot_ms);

#endif
