/* board.h - what a person wants to know of a run, folded from its facts: where every host stands, what every rung has
 * come to. The grid, the plain lines, the waiting lines and `status` all read it and nothing else.
 *
 * Durable and soft facts go in as they come; whatever a fact says is bounded here, and an index that is out of range is
 * ignored, for facts also come from a disk and a socket. Texts are kept as they were said: whoever shows them escapes
 * them. Memory: the plan, at most a few KiB a host, and the folded verdicts of the last attempt of each pass.
 * Knows no clock: board_now_ms is told the wall clock. Owns everything it points at. Not thread-safe. No errors. */
#ifndef SLICEUP_COORDINATOR_VIEW_BOARD_H
#define SLICEUP_COORDINATOR_VIEW_BOARD_H

#include "common/model/receipt.h"

enum { BOARD_CAUSE_MAX_BYTES = 1024, BOARD_GROUPS_MAX = 12, BOARD_METRICS_MAX = 256, BOARD_PASSES = PASS_RESTORED + 1 };

enum { BOARD_ATTEMPTS_MAX = 128 };

enum board_life { BOARD_EXPECTED = 0, BOARD_KEYED, BOARD_JOINED, BOARD_LOST };
extern const struct enum_names board_life_names; /* of life + 1: expected keyed joined lost */

/* A phase of an attempt that has ended, and how long the host was in it; "gate:NAME" is a wait for other hosts. */
struct board_span {
    uint32_t word; /* board_word */
    uint32_t ms;
};
/* What a host did in one pass, a part of the slice by itself included. */
struct board_attempt {
    struct attempt_key key;
    enum purpose purpose;
    bool ended, judged;
    enum outcome outcome; /* judged: the verdict; else what its own result says: NONE: nothing bad */
    enum owner owner;
    uint64_t began_ms, duration_ms; /* run clock; the worker's own time, 0 until it has ended */
    uint64_t ended_ms;              /* run clock: when its result was recorded */
    struct board_span *spans;       /* in the order in which they were first entered */
    uint32_t spans_n;
};
struct board_host_fact {
    uint32_t name, value; /* board_word */
};

struct board_host {
    uint64_t changed; /* revision */
    /* At most BOARD_ATTEMPTS_MAX, in the order in which they began: of each pass of a rung the last that ended, as far
     * as there are fewer; of the others the newest. */
    LIST_OF (struct board_attempt) attempts;
    uint32_t attempts_room, attempts_left_out;
    uint32_t tried;                         /* how many rungs, from the first, it was to try */
    LIST_OF (struct board_host_fact) facts; /* what it last told of itself */
    uint32_t facts_room;
    enum board_life life;
    uint64_t epoch; /* of the coordinator that it last joined, or was lost to */
    uint32_t joins;
    uint64_t pid, pid_start; /* of its worker, on its machine, when it last joined */
    bool returned;           /* its last joining was a return from a loss, or a new process; not to a new coordinator */
    struct text why;         /* lost: the reason */
    struct fact_host_asked asked; /* silent or lost: whether its machine answered; ssh 0: not known */
    uint64_t away_since_ms; /* run clock: since when it was silent or lost, the last time; never heard silent: lost */
    uint64_t back_ms;       /* run clock: when that was over; UINT64_MAX: it is not; 0: it never was either */
    bool left_behind;       /* the climb goes on without it, as it is absent */
    bool accounted;         /* since it joined, a verdict says why it takes no part any more */
    bool in_pass;           /* takes part in the running pass */
    bool ended;             /* and its part has ended */
    uint32_t rungs_passed;  /* how many rungs, from the first, it has passed */
    enum outcome outcome;   /* in the last pass that ended with it */
    /* soft */
    bool suspected;
    struct text step;         /* not joined: where its launch is */
    uint64_t received_ms;     /* run clock */
    enum attempt_state state; /* of the running pass's attempt */
    struct text phase;
    uint64_t phase_since_ms; /* run clock */
    struct text gate;        /* AT_GATE: its name */
    struct text stand;       /* where its program stood when it was last asked: verdict/stands.h; empty: unknown */
    uint64_t stand_ms;       /* run clock: when */
    /* of the running pass, before its verdicts: what this host's own result says; outcome NONE: no failure */
    enum outcome so_far;
    enum owner so_far_owner;
};

/* Hosts whose verdicts say the same, in error lines that are alike but for their numbers. */
struct board_verdict_group {
    uint64_t changed; /* revision */
    enum outcome outcome;
    enum owner owner, else_owner;
    bool likely;      /* struct verdict */
    bool preliminary; /* the pass still runs: its verdicts may say otherwise */
    struct text signature, cause, next, phase;
    struct text line; /* the error line, of the first of them; may be empty */
    bool varies;      /* others have other numbers in theirs */
    LIST_OF (uint32_t) hosts;
    uint32_t room; /* in `hosts` */
};

/* Hosts of which the verdict says something else than their own result did. */
struct board_correction {
    enum outcome from, to;
    enum owner from_owner, to_owner;
    LIST_OF (uint32_t) hosts;
};

/* The last attempt of one pass of one rung. */
struct board_pass {
    uint64_t changed; /* revision */
    uint32_t attempt; /* 0: none was begun */
    bool skipped;
    bool running;
    enum outcome outcome; /* NONE: not ended */
    uint64_t began_ms, duration_ms;
    uint32_t hosts_n, ended_n;
    uint32_t found_n;           /* of a cold pass: hosts that compiled nothing, because they found every program */
    uint32_t failed_n;          /* whose own result says that they failed; of a part: that ended badly */
    uint32_t counts[OUTCOME_N]; /* once it has ended */
    LIST_OF (struct board_verdict_group) groups;   /* what did not pass, at most BOARD_GROUPS_MAX; so far, or judged */
    uint32_t ungrouped_n;                          /* verdicts that found no place in `groups` */
    LIST_OF (struct board_correction) corrections; /* once it has ended, at most BOARD_GROUPS_MAX */
    struct arena arena;                            /* of both */
};

struct board_rung {
    uint64_t changed;                       /* revision */
    struct board_pass passes[BOARD_PASSES]; /* PASS_NONE: only the groups of those that are absent from here on */
    struct board_pass part; /* of the slice by itself, the last one: it does not change how the rung stands;
                               duration_ms: of all of them that have ended */
    enum pass last;         /* the pass that was begun, skipped or ended last; NONE: not reached */
};

/* What hosts that are waited for printed last; struct fact_output_awaited. */
struct board_output {
    struct arena arena;
    struct fact_output_awaited told;
    uint64_t told_ms; /* run clock */
};

/* How long hosts were in a phase of the running pass, as far as they left it or passed through it. */
enum { BOARD_PHASES_MAX = 16 };
struct board_phase {
    struct text name;
    uint32_t *spent_ms; /* per host; 0: not known */
};

struct board_metric {
    struct attempt_key key;
    struct text name, axes, why;
    double value;
    enum proof proof;
    uint32_t missing_n;
    struct text culprits;  /* folded; empty: it is proved, or nobody stands out */
    uint64_t contradicted; /* earlier values of all hosts for which the proof fails */
};

/* A pass that failed for a transient reason and is run again. */
struct board_retry {
    struct attempt_key key;      /* of the attempt that failed; attempt 0: none is awaited */
    uint64_t planned_ms, due_ms; /* run clock */
    uint32_t nth;                /* of plan.limits.retries, from 1 */
    struct text why;
};

/* What running parts of the slice by themselves has come to. */
struct board_isolation {
    uint32_t rung;
    uint32_t passes_n; /* begun; 0: there is none */
    bool over;
    struct text suspects, why; /* once it is over; suspects folded, may be empty */
};

struct board_generation {
    uint64_t token;
    bool adopted;
    struct text bundle;
    uint32_t entries;
    uint64_t bytes;
    uint32_t writer;
    bool dropped; /* found violated: not used any more */
};

/* What frontends told of compiling, of all results so far; they only grow. Of passes with a cache alone: programs that
 * were found there (hits), and that had to be compiled (misses). */
struct board_compiling {
    uint64_t hits, misses;
    uint64_t compile_ms; /* of all passes */
};

/* What is kept beside where the run stands. HISTORY: each host's attempts and facts, which are drawn. JUDGED: results of a
 * pass that runs are judged as they come; of a run that has ended nothing has to be. RECEIPT: all that one is made of. */
enum board_keep { BOARD_HISTORY = 1, BOARD_JUDGED = 2, BOARD_RECEIPT = 4 };
#define BOARD_JUDGED_STATE (BOARD_HISTORY | BOARD_JUDGED)
#define BOARD_EVIDENCE (BOARD_HISTORY | BOARD_RECEIPT)
#define BOARD_JUDGED_EVIDENCE (BOARD_EVIDENCE | BOARD_JUDGED)

struct preliminary_judge;
struct board_words;
struct receipt_fold;
struct board {
    uint64_t revision;         /* facts applied, soft ones too; what a fact changed carries it */
    uint64_t metrics_changed;  /* revisions */
    struct board_words *words; /* each text of the history once; NULL: there is no history */
    enum board_keep keep;
    struct receipt_fold *evidence;   /* once it is opened, where it is kept */
    struct preliminary_judge *judge; /* once it is opened; NULL: nothing is judged before its pass has ended */
    struct arena arena;              /* of the plan and the tables */
    bool opened;                     /* RUN_OPENED was seen: `plan`, `hosts` and `rungs` are there */
    struct text run, version;
    struct plan plan;
    struct board_host *hosts;
    struct board_rung *rungs;
    uint64_t index; /* of the last durable fact */
    uint64_t opened_wall_ms;
    uint64_t clock_ms, clock_wall_ms; /* run clock and wall clock of the newest fact */
    uint64_t epoch, epoch_ms;         /* the coordinator's, and when it took over */
    uint64_t away_ms; /* how long there was no coordinator, as far as it is known: the run's clock stood still */
    bool interrupted; /* whoever looks at the run says that no coordinator holds it: nothing is waited for */
    uint32_t joined_n;
    bool gathered; /* every host was joined at once, at some time */
    bool running;  /* a pass: `key` */
    struct attempt_key key;
    enum purpose purpose; /* of it */
    uint32_t next_rung;   /* at which the climb stands */
    struct board_retry retry;
    struct board_output output;
    struct board_phase phases[BOARD_PHASES_MAX];
    uint32_t phases_n;
    struct arena phases_arena;
    struct board_isolation isolation;
    uint32_t retries_n;                 /* of the whole run */
    uint64_t opened_gates;              /* of the running pass */
    struct board_generation generation; /* token 0: none */
    uint64_t lease_token;               /* of the generation that a host may write now; 0: none */
    uint32_t lease_host;
    uint32_t violations_n, leases_lost_n;
    struct board_compiling compiling;
    struct text awaited; /* what the climb waits for that no host has to do; empty: nothing */
    uint64_t awaited_since_ms;
    LIST_OF (struct board_metric) metrics;
    uint32_t conflicts_n;
    uint32_t cancel_level;
    bool ended;
    enum outcome outcome;
    uint32_t exit_status;
    struct text sentence;
};

struct board *board_create (enum board_keep keep);
void board_destroy (struct board *board); /* NULL is fine */
void board_destroy_local (struct board **board);
#define LOCAL_BOARD __attribute__ ((cleanup (board_destroy_local))) struct board /* ends with its block */
void board_apply (struct board *board, const struct fact *fact);
void board_take_fact (void *board, const struct fact *fact); /* the same, for whoever reads facts */

/* The receipt as of the facts applied, normalised; lives in `arena`, except for texts, which live as long as the board,
 * and what hosts told, which stays until it takes the next fact.
 * It fits its record's bounds, so that it can be read back; it says what full lists leave out. */
void board_make_receipt (const struct board *board, struct arena *arena, struct slice_receipt *out);

/* The run's clock when the wall shows `wall_ms`: it stands still once the run has ended, and never runs backwards. */
uint64_t board_now_ms (const struct board *board, uint64_t wall_ms);
const struct board_pass *board_running_pass (const struct board *board); /* NULL: no pass runs */
/* What the running pass says of the host so far, with the hosts of which it says the same; NULL: nothing, or the group
 * had no room for it. */
const struct board_verdict_group *board_group_so_far (const struct board *board, uint32_t host);
/* How the rung stands: PASSED only when its last pass has passed, NOT_REACHED once the run has ended below it. */
enum outcome board_rung_outcome (const struct board *board, uint32_t rung);
uint64_t board_rung_ms (const struct board *board, uint32_t rung, uint64_t now_ms); /* spent in its passes */
/* The median time of others in a phase of the running pass, and of how many; false: of too few to tell. */
bool board_phase_median (const struct board *board, struct text name, uint64_t *median_ms, uint32_t *others);
/* Of the isolation: how many parts are run at most, and how long each may take. */
uint32_t board_trials_max (const struct board *board);
uint64_t board_trial_timeout_ms (const struct board *board);
/* The names of `n` hosts of the plan, folded and escaped. Ranks outside the plan are left out. */
void board_print_hosts (const struct board *board, const uint32_t *hosts, uint32_t n, struct buf *out);
/* The same for people: "b-[0-1] (slice 1)" where they are a whole slice of several. */
void board_print_whom (const struct board *board, const uint32_t *hosts, uint32_t n, struct buf *out);
struct text board_word (const struct board *board, uint32_t word);      /* as it was said, bounded; "" outside */
struct text board_host_name (const struct board *board, uint32_t host); /* "?" outside the plan */
struct text board_rung_id (const struct board *board, uint32_t rung);   /* "?" outside the plan */

/* ---- board words ---- */

/* Texts that many hosts say alike, each kept once: names and values of facts, names of phases.
 *
 * Bounded in number and in bytes; what finds no room becomes word 0, the empty text. Owns copies. One thread. */

enum { BOARD_WORD_MAX_BYTES = 256, BOARD_WORDS_MAX = 1 << 20, BOARD_WORDS_MAX_BYTES = 64 << 20 };

struct board_words;
struct board_words *board_words_create (void);
void board_words_destroy (struct board_words *words); /* NULL is fine */
/* The word of this text, cut to BOARD_WORD_MAX_BYTES. */
uint32_t board_words_take (struct board_words *words, struct text text);
struct text board_words_text (const struct board_words *words, uint32_t word); /* empty: there is no such word */

#endif
