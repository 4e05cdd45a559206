/* program.h - a tiny program on a device: compiled, run, its value checked, serialised, loaded again and run again.
 *
 * As plugin.h: it runs in the child, says what goes wrong with child_report.h, and returns -1 then. */
#ifndef SLICEUP_WORKER_PROBE_PROGRAM_H
#define SLICEUP_WORKER_PROBE_PROGRAM_H

#include "worker/probe/pjrt_client.h"

struct program {
    struct client *client;
    void *loaded, *executable; /* as compiled */
    void *reloaded;            /* as loaded again; NULL: the plugin cannot serialise */
    void *device;              /* where it was loaded */
    void *inputs[2];
};

int program_run (struct program *program, struct client *client); /* compile, transfer, execute, read */
int program_reload_and_run (struct program *program);             /* serialize, reload, execute-again */
int program_report_memory (struct program *program);              /* what the compiler says that it takes */
int program_close (struct program *program);

#endif
