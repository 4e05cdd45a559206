/* attempt_state.h - the state of one attempt; private to attempt*.c. */
#ifndef SLICEUP_WORKER_ATTEMPT_ATTEMPT_STATE_H
#define SLICEUP_WORKER_ATTEMPT_ATTEMPT_STATE_H

#include "worker/attempt/attempt.h"
#include "worker/attempt/task.h"
#include "worker/process/cgroup_place.h"
#include "worker/protocol/evidence.h"
#include "worker/sandbox/confine_sandbox.h"

enum { STATEMENTS_MAX = 8 }; /* no more can wait: see attempt_take_statement */

#define ATTEMPT_PHASE_CONFINE "confine"
#define ATTEMPT_PHASE_DEVICE "device"
#define ATTEMPT_PHASE_IMPORT "import"

/* AWAITING: a task waits for a free device. IMPORTING: a preloaded interpreter is not ready yet. CLOSING: one seals a written generation, audits a read one, or searches the
 * log; FETCHING may also be for that search. SENDING: the last output. */
enum step {
    STEP_PREPARING,
    STEP_FETCHING,
    STEP_AWAITING,
    STEP_IMPORTING,
    STEP_RUNNING,
    STEP_DRAINING,
    STEP_CLOSING,
    STEP_SENDING,
    STEP_ENDED,
    STEP_REPORTED
};

/* The running phase: one of the result's; NULL: none. */
struct phase_clock {
    struct named_number *in, *before_gate;
    uint64_t since_ms;
};

/* What a program had printed by some moment. */
struct printed {
    uint64_t bytes;
    struct text raw_tail, tail;
};

struct attempt {
    struct loop *loop;
    const struct attempt_context *context;
    struct msg_run run;
    struct arena arena;
    struct text scratch, log;
    struct text python, kit, helpers; /* found by PREPARE */
    text_list loaded;
    var_list versions;  /* found by PREPARE */
    struct text waited; /* for the device: who held it */
    struct phase_clock phases;

    enum step step;
    struct exec *exec;        /* a task or the program */
    bool copies;              /* a preloaded interpreter is there for it */
    uint64_t import_until_ms; /* IMPORTING */
    int task_fd;
    struct fetch *fetch; /* FETCHING */
    uint32_t fetches;    /* number begun */
    struct channel *channel;
    struct output *output;
    bool channel_watched, output_watched;
    uint32_t channel_events;

    struct {
        int fd;
        bool watched, told;
        struct confine_report report;
    } stage; /* confine.h */
    enum task_kind closing;
    bool table_fetched;

    uint64_t began_ms, deadline_ms, drain_until_ms, read_until_ms, send_until_ms;
    bool stopping, hard, gate_open;
    struct text gates[ATTEMPT_GATES_MAX]; /* at which the program waits, or waited */
    uint32_t gates_n;
    bool dismissed; /* told to leave because of its own act */
    enum ending stop_ending;
    bool done_before_stop; /* the program sent `done` before it was stopped */
    struct text stop_why;
    uint64_t edge_ms;    /* then the last moments before the limit begin */
    struct printed edge; /* until then, once `at_edge` */
    bool at_edge;
    struct {
        bool begun;                       /* before a stop */
        struct printed until;             /* what is searched for a cause */
        uint64_t until_ms, next_ms;       /* while it writes its stacks; 0: not, or no more */
        uint64_t asked_bytes, seen_bytes; /* lengths of the file of stacks */
        struct arena arena;               /* of the last look: */
        struct text waits;                /* where its threads wait, one line a kind */
        struct text stacks;               /* as it wrote them */
        struct text stand;                /* asked for while it runs, not told yet; empty: none */
    } look;
    struct memory_watch memory;

    struct evidence evidence; /* becomes the attempt's result */
    struct {
        struct attempt_event event;
        struct arena arena;
    } statements[STATEMENTS_MAX]; /* a ring */
    uint32_t statements_first, statements_n;
};

/* attempt_state.c */
struct result *attempt_result (struct attempt *attempt);
bool attempt_succeeded (struct attempt *attempt); /* by its ending and its channel */
/* Keeps the first problem, since it is the cause; an owner given by the canary stays. */
void attempt_set_problem (struct attempt *attempt, enum owner owner, struct text problem);
/* Call it after the program's end: until then its own notes grow. */
#define LOG_NOTE_SOURCE "log"
void attempt_add_note (struct attempt *attempt, const char *source, struct text text);
int attempt_start_task (struct attempt *attempt, enum task_kind kind, struct err *err);
void attempt_collect_task (struct attempt *attempt, const struct exec_end *end, struct task_answer *answer);
void attempt_fetch (struct attempt *attempt, const struct task_answer *answer, uint64_t now_ms); /* missing files */
void attempt_note_phase (struct attempt *attempt, struct text name, bool of_program, uint64_t now_ms);
void attempt_note_gate (struct attempt *attempt, struct text gate, uint64_t now_ms);
void attempt_note_gate_opened (struct attempt *attempt, uint64_t now_ms);
void attempt_end_phase_clock (struct attempt *attempt, uint64_t now_ms);
void attempt_enter_own_phase (struct attempt *attempt, const char *name);
/* The program's phase until it names one: "start" for a canary, "run" for a command. */
const char *attempt_first_phase (const struct attempt *attempt);
channel_statement_fn attempt_take_statement;

/* attempt_close.c: from the program's last output to the result. */
void attempt_begin_closing (struct attempt *attempt, uint64_t now_ms);
void attempt_handle_closing_end (struct attempt *attempt, const struct exec_end *end, uint64_t now_ms);
void attempt_signatures_fetched (struct attempt *attempt, struct text problem, uint64_t now_ms); /* empty: here */
void attempt_stop_log_search (struct attempt *attempt, uint64_t now_ms);
void attempt_note_end (struct attempt *attempt, const struct exec_end *end, uint64_t now_ms);
void attempt_finish_unstarted (struct attempt *attempt, enum owner owner, struct text problem, uint64_t now_ms);
void attempt_finish (struct attempt *attempt, uint64_t now_ms);

/* attempt_fds.c: the program's output and channel, and the loop's watches on them. */
int attempt_open_fds (struct attempt *attempt, struct err *err);
void attempt_close_fds (struct attempt *attempt);
void attempt_drain_channel (struct attempt *attempt);      /* reads all of it, after the program's end */
void attempt_check_channel_held (struct attempt *attempt); /* at the time limit: is the channel still open? */
void attempt_watch_writable (struct attempt *attempt);
struct printed attempt_printed (struct attempt *attempt, uint64_t now_ms);
/* Finds out what it is doing before a stop. True: it was asked for its stacks; stop it once the look is over. */
bool attempt_begin_look (struct attempt *attempt, struct text why, uint64_t now_ms);
/* True only once, and only of a look before a stop. */
bool attempt_look_is_over (struct attempt *attempt, uint64_t now_ms);
void attempt_add_stack (struct attempt *attempt); /* adds it to the result */

/* attempt_cache.c */
bool attempt_is_confined (const struct attempt *attempt);
int attempt_open_confine_report (struct attempt *attempt, int *program_fd, struct err *err);
void attempt_close_confine_report (struct attempt *attempt);
void attempt_take_confine_report (struct attempt *attempt); /* after the whole program's end is noted */
void attempt_fill_cache_view (struct attempt *attempt);
void attempt_add_findings (struct attempt *attempt, const struct finding *items, uint32_t n);

/* ---- stack frames ---- */

/* Finds where the main thread of a Python program was: from the requested dump (faulthandler), else from the traceback
 * of the KeyboardInterrupt that ended it, in its output. Pure. */

enum { STACK_FRAMES_MAX = 6 };

/* At most STACK_FRAMES_MAX lines of `found` frames, the innermost first: that one, called `inner`, then those of the user's
 * own files, if any. */
uint32_t stack_choose_frames (const struct text *frames, uint32_t found, const char *inner, struct arena *arena,
                              struct text out[STACK_FRAMES_MAX]);
/* The same of the main thread. 0: no stack. */
uint32_t stack_frames_find (struct text dump, struct text printed, struct arena *arena,
                            struct text out[STACK_FRAMES_MAX]);

/* ---- confine command ---- */

/* Makes the command line of the process that sets up a program's sandbox (confine.h lists its
 * options). Pure, except that it asks for this program's own path. */

/* Makes the command line that runs a command confined, and its environment: the loader's variables are for the program,
 * so they get other names on the way. Everything lives in the arena. `frontend_root` of a RUN is the plan's bundle;
 * `more` is protected besides the RUN's paths. */
int confine_args_write (const struct msg_run *run, const struct command_context *context,
                        const struct protected_paths *paths, const struct command *command, int report_fd,
                        struct arena *arena, struct command *out, struct err *err);
/* <root> of <root>/<frontend>/<bundle>. */
int confine_args_root_of_bundle (struct text bundle, struct arena *arena, struct text *root, struct err *err);

#endif
