/* exec.h - how what hosts print under `sliceup exec` is shown while they run. */
#ifndef SLICEUP_COORDINATOR_CLI_EXEC_H
#define SLICEUP_COORDINATOR_CLI_EXEC_H

#include "coordinator/cli/cli.h"
#include "coordinator/launch/exec_hosts.h"

/* ---- exec_output.c: outputs on standard output, and the line that says what is waited for ---- */

struct exec_output {
    struct cli *cli;
    bool raw, lines, json; /* as asked for */
    uint64_t timeout_ms, began_ms;
    struct exec_ends *ends;
    struct output_fold *fold; /* not with `lines` */
    bool live, status;        /* groups are shown as they come; a status line is */
    bool unread;              /* nobody reads standard output any more */
    struct buf *partial;      /* with `lines`: of each host */
    bool *shown;              /* of each host: its output was */
    bool *ended;
    uint64_t *joined_ms; /* of each group: when a host came to it last */
    struct text *labels; /* of each group: the hosts under which it was shown */
    struct arena arena;
    uint32_t blocks;
    uint64_t said_ms; /* when the status line was written last */
    bool said;        /* it stands there */
};
void exec_output_open (struct exec_output *output, uint64_t now_ms); /* the first members are filled in */
void exec_output_close (struct exec_output *output);
void exec_output_add (struct exec_output *output, uint32_t host, struct text bytes);
void exec_output_end_host (struct exec_output *output, uint32_t host, uint64_t now_ms);
/* Shows what is due, all of it when `over`. When it wants to be called again; UINT64_MAX: at an end. */
uint64_t exec_output_poll (struct exec_output *output, uint64_t now_ms, bool over);
void exec_output_clear_status (struct exec_output *output);

#endif
