/* scene.h - makes a scene, what a query selects of a run: tiles, groups, gates, notes, spans, beside the run's board.
 *
 * The terminal, the page, the report, the trace and the metrics draw scenes; a report takes the rest from the receipt.
 * Same feed, query and time: same scene. Its groups, hosts, notes and lines are safe for a terminal (buf_escaped:
 * control bytes, bidirectional overrides and broken UTF-8 are made visible) and bounded; other texts are as they were
 * said, and whoever has no pen that makes them so asks for that. A renderer escapes what its own syntax needs.
 * Pure. Lives in the arena, and borrows from the feed until the next fact. Times are ms on the run's clock. */
#ifndef SLICEUP_COORDINATOR_PICTURE_SCENE_H
#define SLICEUP_COORDINATOR_PICTURE_SCENE_H

#include "coordinator/story/board.h"

/* ---- feed.c ---- */

/* The input of scenes: the board of a run, and the newest notes about it.
 *
 * Facts go in, durable and soft ones. Each raises the feed's revision, which only grows; changed items carry that
 * revision. So a watcher that has seen revision r can ask for newer changes at any time: nothing is queued for a
 * watcher, and none can hold memory. Notes are numbered from 1, and the newest FEED_NOTES_KEPT are kept. Knows no
 * clock: callers pass the time. Owns everything it points at. One thread. No errors. */

enum { FEED_NOTES_KEPT = 256, FEED_NOTE_BYTES = 2048, FEED_NUMBERS_KEPT = 4096 };

struct feed_note {
    uint64_t number, revision; /* revision: the feed's when it came */
    uint64_t at_ms;            /* run clock, in tenths of a second */
    bool remark;               /* feed_add_remark */
    struct text text;          /* one line, escaped (buf_escaped), without the run's clock in front */
};

struct feed;
/* Gets each note as it comes, before it is cut to FEED_NOTE_BYTES. */
typedef void feed_note_fn (void *owner, uint64_t at_ms, struct text text);
struct feed *feed_create (enum board_keep keep);
void feed_destroy (struct feed *feed);                               /* NULL is fine */
void feed_listen (struct feed *feed, feed_note_fn *fn, void *owner); /* one listener at a time; fn NULL: none */
/* The times are when the fact was received: its age comes from the wall clock, and the run's clock goes on from there
 * by the boot clock. `boot_ms` 0: an old fact of a journal, so the run's clock stands still. */
void feed_apply (struct feed *feed, const struct fact *fact, uint64_t boot_ms, uint64_t wall_ms);
/* Adds notes that waited for other hosts to share them (burst.c), all of them at UINT64_MAX; call it some times a
 * second during the run. A note raises the revision, as a fact does. */
void feed_tick (struct feed *feed, uint64_t boot_ms);
/* Stops the run's clock while nothing can be received. */
void feed_freeze_clock (struct feed *feed, bool frozen, uint64_t boot_ms);
/* Adds a remark that is no fact ("no coordinator holds this run") as a note; escaped here. */
void feed_add_remark (struct feed *feed, struct text remark);

const struct board *feed_board (const struct feed *feed);
uint64_t feed_now_ms (const struct feed *feed, uint64_t boot_ms); /* run clock */
uint64_t feed_notes_last (const struct feed *feed);               /* number of the newest note; 0: none */
/* The note with that number; NULL: not kept any more, or not there yet. */
const struct feed_note *feed_note_at (const struct feed *feed, uint64_t number);
/* The number of the newest note at `revision`; for a revision before the newest FEED_NUMBERS_KEPT notes, the number
 * before theirs. */
uint64_t feed_notes_at_revision (const struct feed *feed, uint64_t revision);

/* ---- which host came last to each gate of the ended passes ---- */

/* Computed from the hosts' phases "gate:NAME": the host that waited least came last. It is made once, when a pass has
 * ended, since it does not change after. */
#define GATE_SPAN "gate:"
enum { GATE_WAITS_MAX = 512 }; /* the newest are kept */

struct gate_wait {
    struct attempt_key key;
    uint32_t word;                  /* board_word: "gate:NAME" */
    uint32_t last, hosts_n;         /* the host that waited least, the first of equals; how many hosts waited */
    uint32_t median_ms, longest_ms; /* waits of the others; 0: there are none */
    uint64_t opened_ms;             /* run clock: when the last host's wait ended */
};
struct gate_table {
    struct gate_wait items[GATE_WAITS_MAX]; /* in the order in which their passes ended */
    uint32_t n;
};
const struct gate_table *feed_gates (const struct feed *feed);
const struct gate_wait *gate_table_find (const struct gate_table *table, const struct attempt_key *key, uint32_t word);
struct text gate_wait_name (const struct board *board, const struct gate_wait *wait); /* "NAME", as it was said */

/* For this room (scene_private.h). */
struct scene_memo;
struct scene_memo *feed_memo (const struct feed *feed);

/* ---- scene.c ---- */

/* How one host stands at one rung, or now. The letter and the word mean the same in every view. */
enum scene_mark {
    MARK_TO_COME = 0, /* '.' not begun */
    MARK_PASSED,      /* 'P' */
    MARK_NOT_REACHED, /* '-' the run ended below it, or its pass was not needed there */
    MARK_RUNS,        /* 'r' */
    MARK_AT_GATE,     /* 'g' waits for other hosts */
    MARK_ENDED,       /* 'e' its own result came and is good; not judged yet */
    MARK_SO_FAR,      /* 'f' its own result came and is a failure; not judged yet */
    MARK_CASCADE,     /* 'c' failed because another host did */
    MARK_CANCELLED,   /* 'X' */
    MARK_BLOCKED,     /* 'B' */
    MARK_TIMED_OUT,   /* 'T' */
    MARK_LOST,        /* 'L' */
    MARK_FAILED,      /* 'F' */
    MARK_SILENT,      /* '?' now only: not heard lately */
    MARK_JOINING,     /* 'j' now only: not joined yet */
    MARK_N
};
char scene_mark_letter (enum scene_mark mark);
const char *scene_mark_word (enum scene_mark mark); /* "passed", "at a gate", ... */
enum { MARK_LABEL_BYTES = 32 };
const char *scene_mark_label (enum scene_mark mark, char out[MARK_LABEL_BYTES]); /* "at-a-gate"; returns `out` */
bool scene_mark_is_bad (enum scene_mark mark); /* so far, cascade and all after it except joining */
enum scene_mark scene_mark_of_outcome (enum outcome outcome);

enum scene_order { SCENE_BY_RANK = 0, SCENE_WORST_FIRST, SCENE_SLOWEST_FIRST };
enum { SCENE_NOBODY = UINT32_MAX, SCENE_GROUPS_MAX = 256 };

/* The range of time includes `from_ms` and excludes `until_ms`. Tiles are hosts with an attempt, or their last silence
 * or loss, that overlaps it; unfinished ones last until now. An opened host shows those attempts, spans cut to the
 * range; notes came in it, gates opened in it. All else, also marks and groups, is of the whole run. */
struct scene_query {
    struct text hosts;          /* a set of hosts, or of groups of the plan (hostset.h); empty: all */
    uint32_t marks;             /* bit i: hosts whose present mark is i; 0: any */
    enum owner owner;           /* owner of the cause; none: any */
    struct text phase;          /* hosts in this phase now; empty: any */
    struct text text;           /* found in name, phase, gate, cause or error line, ignoring case; empty: any */
    enum scene_order order;     /* of the tiles */
    uint32_t opened;            /* rank for which `host` is made; SCENE_NOBODY: none */
    uint64_t from_ms, until_ms; /* range of time; until UINT64_MAX: to now; until 0: no range */
    uint64_t since;             /* a revision: only later notes; 0: all kept ones */
};
void scene_query_init (struct scene_query *query); /* everything, by rank, nobody opened */

struct scene_tile {
    uint32_t rank;
    enum scene_mark now;
    const uint8_t *cells;    /* enum scene_mark, one a rung */
    uint8_t trouble;         /* enum trouble (view/status.h) */
    enum owner owner;        /* owner of its cause; none: no failure */
    uint32_t group;          /* of `groups`; SCENE_NOBODY: none */
    struct text phase, gate; /* phase: before it joined, the step of its start */
    uint64_t since_ms;       /* how long in that phase, at that gate, or silent; 0: not known */
    uint64_t spent_ms;       /* in all its attempts */
    uint64_t changed;        /* revision */
};

/* Hosts with equal verdicts in the last attempt of a pass of a rung. */
struct scene_group {
    uint32_t rung;
    enum pass pass;
    struct board_verdict_group says; /* its texts safe; its hosts in the order of ranks, each once */
    struct text names;               /* folded */
    /* CASCADE: the rank of the host whose failure caused it, and the index of that host's group; SCENE_NOBODY: not
     * known. */
    uint32_t cause_host, cause_group;
    uint64_t changed; /* revision of the last change of this or an earlier group */
};

struct scene_span {
    struct text name; /* of the phase, or "gate:NAME" */
    bool gate;
    uint64_t began_ms, ms;
    uint32_t awaited; /* gate: the host that came last; SCENE_NOBODY: not known */
};
struct scene_attempt {
    struct attempt_key key;
    enum purpose purpose;
    enum scene_mark mark;
    uint64_t began_ms, ms;    /* ms: until now if it runs */
    bool ms_known;            /* false: `ms` is 0, because its length is unknown */
    uint64_t ended_ms;        /* if its length is unknown: when its end was recorded; 0: it runs */
    uint32_t group;           /* of `groups`; SCENE_NOBODY */
    struct scene_span *spans; /* in the order of first entry; not longer than `ms` in all */
    uint32_t spans_n;
};
/* An opened host. */
struct scene_host {
    uint32_t rank;
    struct text name, life, why; /* life: expected keyed joined lost */
    struct scene_attempt *attempts;
    uint32_t attempts_n, attempts_left_out; /* left out: earlier ones, not kept */
    struct scene_fact {
        struct text name, value;
    } * facts; /* sorted by name; the latest value of each */
    uint32_t facts_n;
};

/* What the run is stands in its board: its texts are as they were said (scene_text). */
struct scene {
    const struct feed *feed;
    const struct board *board; /* the feed's */
    struct scene_query query;
    struct arena *arena;
    uint64_t now_ms;
    uint32_t hosts_n, rungs_n;           /* of the plan */
    uint32_t silent_n, lost_n, hidden_n; /* hidden by the query */
    uint32_t joins;                      /* of all hosts */
    uint32_t marks[MARK_N];              /* number of hosts with each mark now */
    uint32_t columns;                    /* tiles in a row of the mesh */
    uint32_t frontier;                   /* passed rungs, from the first */
    uint64_t left_ms;                    /* of the running pass, estimated from `usual` */
    const struct usual_time *usual;      /* in earlier runs; NULL: not known */
    struct scene_tile *tiles;            /* hosts of the query, in its order */
    uint32_t tiles_n;
    struct scene_group *groups;     /* of all rungs, the first rung first; causes before their cascades */
    uint32_t groups_n, ungrouped_n; /* ungrouped: verdicts of all passes without room in a group */
    uint64_t groups_changed;        /* revision of the last change of groups or gates */
    const struct gate_wait **gates; /* of last attempts */
    uint32_t gates_n;
    struct text *waiting; /* lines: what the run waits for, slow hosts, their last output */
    uint32_t waiting_n;
    const struct feed_note **notes;
    uint32_t notes_n;
    uint64_t notes_skipped;     /* requested notes that are not kept any more */
    struct scene_host *host;    /* NULL: none opened */
    struct text host_set_error; /* why the query's host set is invalid; then all are shown */
};

void scene_make (const struct feed *feed, const struct scene_query *query, uint64_t boot_ms, struct arena *arena,
                 struct scene *out);
/* The key of "worst first", the greatest first. */
uint64_t scene_tile_badness (const struct scene *scene, const struct scene_tile *tile);
/* Makes any host of the plan as in `host`: for the report and the trace. */
void scene_open_host (const struct scene *scene, uint32_t rank, struct scene_host *out);
const char *scene_host_name (const struct scene *scene, uint32_t rank, char out[64]);

/* Columns of the longest texts. */
enum { SCENE_WORD_COLUMNS = 128, SCENE_LINE_COLUMNS = 1024 };
/* Makes a text of the board safe and cuts it to `columns`; borrows it if it already is. */
struct text scene_text (struct arena *arena, struct text from, uint32_t columns);
struct text scene_mesh (const struct scene *scene); /* "data=4, model=2"; empty: its programs know no devices */

/* How a rung stands: the running pass, a part by itself included, else the last that began; and the revision of the
 * last change, except running times. */
bool scene_rung_runs (const struct board *board, uint32_t rung);
const struct board_pass *scene_rung_pass (const struct board *board, uint32_t rung);
uint64_t scene_rung_changed (const struct board *board, uint32_t rung);

/* ---- cascade cause ---- */

/* Finds the failure behind a cascade: for groups of a scene, and for the flows of a trace. Pure. */

/* A host in one attempt of a pass. */
struct pass_host {
    struct text name;
    enum scene_mark mark;
    uint64_t ended_ms; /* struct scene_attempt */
};
/* The failed host that the cascade's sentence names; else the host that failed first; if none failed, the one told to
 * stop first; the lower of equals. An index into `hosts`, sorted by rank; n: none. */
uint32_t cascade_cause_find (const struct pass_host *hosts, uint32_t n, struct text sentence);

#endif
