/* probe_run.h - a plugin probed in a process of its own, which cannot hang, crash or end the caller.
 *
 * The process is this program again; what it says is bounded in words, length and time, what it prints is kept at its
 * end only. At its end or limit all that it started is killed, also what left its process group. The caller
 * is blocked meanwhile, and its process starts no other. One thread: the child dies with the thread that started it. */
#ifndef SLICEUP_WORKER_PROBE_PROBE_RUN_H
#define SLICEUP_WORKER_PROBE_PROBE_RUN_H

#include "common/model/plan.h"
#include "worker/probe/child_report.h"
#include <stdbool.h>

/* ---- report.c: what a probe found: step by step, how it ended, and the cause ----
 *
 * Made by probe_run.h from what the child said and how it ended. Texts live in the report's arena and are as the plugin
 * gave them: whoever shows them escapes them. It knows nothing of how they are shown. */

enum { FINDINGS_MOST = 64, NOTES_MOST = 32, OUTPUT_KEPT_BYTES = 8 * 1024 };

enum probe_end {
    PROBE_RUNNING = 0,
    PROBE_WORKS,
    PROBE_WRONG,   /* the probe found something wrong; `words` says what */
    PROBE_REFUSED, /* the plugin gave an error; `code` and `words` are its own */
    PROBE_HUNG,    /* killed at the limit */
    PROBE_CRASHED, /* ended by `signal` */
    PROBE_LEFT,    /* the process ended with `status` and had not said that all was done */
    PROBE_BABBLED, /* something else than the probe wrote to its pipe; `words` is how it begins */
};

/* lacks: the plugin cannot do it, and says why. */
struct probe_step {
    enum probe_stage stage;
    uint64_t ms;
    bool lacks;
    struct text why;
};

struct probe_report {
    struct arena arena;
    struct probe_step steps[STAGE_N];
    uint32_t steps_n; /* begun; the last one is where it ended */
    struct var findings[FINDINGS_MOST];
    uint32_t findings_n;
    struct text notes[NOTES_MOST];
    uint32_t notes_n;
    bool client; /* a client was to be made: then there are more steps to do */
    enum probe_end end;
    char call[REPORTER_NAME_MAX + 1]; /* the last function of the plugin that was called; "": none */
    int code, signal, status;
    enum owner owner; /* PROBE_WRONG: as the child said; after probe_judge that of the failure */
    struct text words;
    uint64_t limit_ms, peak_bytes, output_bytes;
    struct buf output;          /* the end of what the plugin printed */
    struct text sentence, next; /* by probe_judge; empty when it works */
};

void probe_report_init (struct probe_report *report);
void probe_report_release (struct probe_report *report);
/* What the child said `ms` after what it said before. Its texts, and the bytes that came, live as long as the report.
 * NULL: they are no statement. False: it cannot have said that here, and nothing is taken any more. */
bool probe_report_receive (struct probe_report *report, const struct probe_statement *said, struct text bytes,
                           uint64_t ms);
/* After the end: owner, sentence and next. */
void probe_judge (struct probe_report *report);
struct text probe_report_find_value (const struct probe_report *report, const char *name); /* empty: not found out */
bool probe_report_find_number (const struct probe_report *report, const char *name, uint64_t *out);

/* ---- probe_run ---- */

struct probe_request {
    const char *plugin;         /* a path */
    const char *const *options; /* as option.c reads them; checked */
    uint32_t options_n;
    bool client; /* false: nothing is asked of a device */
    uint64_t limit_ms;
    int echo_fd; /* what the plugin prints goes there too, up to ECHO_BYTES_MAX; -1: nowhere */
    void (*begins) (void *listener, enum probe_stage stage); /* as a step begins; may be NULL */
    void *listener;
};
enum { ECHO_BYTES_MAX = 1 << 20 };

/* Arguments of the child behind the program's own word: PROBE_CHILD PLUGIN "client"|"load" OPTION... */
#define PROBE_WORD "probe"
#define PROBE_CHILD "--child"
#define PROBE_CHILD_CLIENT "client"

/* 0: there is a report, judged. -1: the child could not be started. */
int probe_run (const struct probe_request *request, struct probe_report *report, struct err *err);

/* The process that holds the plugin: does the steps and reports them (child_report.h). It alone touches a plugin.
 *
 * Its descriptor REPORTER_FD is the socket to whoever watches; it leaves with _exit, so that nothing of a plugin that
 * runs at the end of a process is waited for. spawn.h lets it leave no core file, and die when its parent does.
 * `options` end in NULL, and are as option.c reads them. */
_Noreturn void probe_child (const char *plugin, bool client, char *const *options);

/* ---- option.c: an option for creating a client, as one writes it: NAME=VALUE, or NAME:TYPE=VALUE ----
 *
 * TYPE is int64, bool, float or string. Without one it is what VALUE looks like: a whole number, true or false, a
 * number with a point or an exponent, or else a text. Pure; any thread. */

enum { OPTIONS_MAX = 64, OPTION_NAME_MAX = 127, OPTION_BYTES_MAX = 1024 };

/* Borrows `written`. ERR_USAGE. */
int option_read (const char *written, struct pjrt_named_value *out, struct err *err);

#endif
