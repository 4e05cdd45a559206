/* probe_run.h - a plugin probed in a process of its own, which cannot hang, crash or end the caller.
 *
 * The process is this program again; what it says is bounded in words, length and time, what it prints is kept at its
 * end only. At its end or limit all that it started is killed, also what left its process group. The caller
 * is blocked meanwhile, and its process starts no other. One thread: the child dies with the thread that started it. */
#ifndef SLICEUP_WORKER_PROBE_PROBE_RUN_H
#define SLICEUP_WORKER_PROBE_PROBE_RUN_H

#include "common/base/err.h"
#include "common/base/text.h"
#include "worker/probe/pjrt.h"
#include "worker/probe/report.h"
#include <stdbool.h>

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
