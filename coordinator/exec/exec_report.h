/* exec_report.h - how a command ended on its hosts: a sentence for each set of them, an exit status, a document. Pure. */
#ifndef SLICEUP_COORDINATOR_EXEC_EXEC_REPORT_H
#define SLICEUP_COORDINATOR_EXEC_EXEC_REPORT_H

#include "coordinator/exec/exec_hosts.h"
#include "coordinator/exec/output_fold.h"

struct exec_ends {
    const struct text *names; /* in host order */
    const struct exec_host *const *hosts;
    uint32_t n;
    uint64_t timeout_ms;
    bool cancelled;
};
enum { EXEC_SHOWN_COLUMNS = 160 };

/* "v[3,7]: exit status 2", a line for each set of hosts of which there is something to say. */
void exec_report_put_ends (const struct exec_ends *ends, struct buf *out);
/* "exit status 0 on 62 of 64 hosts" */
void exec_report_put_sum (const struct exec_ends *ends, struct buf *out);
/* 130 it was cancelled; 3 a host was not reached, or its end was not heard; 1 a command did not end with 0; 0. */
int exec_report_exit_status (const struct exec_ends *ends);
/* "v[0-2] (3 hosts)" of those that `chosen` names, in host order. */
void exec_report_put_hosts (const struct exec_ends *ends, const bool *chosen, struct buf *out);
/* The document of docs/spec/exec.schema.json, and a newline. */
void exec_report_put_json (const struct exec_ends *ends, const struct output_fold *fold, struct buf *out);

#endif
