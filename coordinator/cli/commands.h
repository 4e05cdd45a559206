/* commands.h - the table of commands, and how arguments choose one. Each file exports the rows of its commands. */
#ifndef SLICEUP_COORDINATOR_CLI_COMMANDS_H
#define SLICEUP_COORDINATOR_CLI_COMMANDS_H

#include "coordinator/cli/cli.h"

extern const struct cli_command check_command, run_command, resume_command, status_command, metrics_command,
    watch_command, receipt_command, report_command, logs_command, runs_command, hosts_command, ticket_command,
    monitor_key_command, cache_command, drift_command, env_command, calibration_command, explain_command, init_command,
    rehearse_command, cancel_command, exec_command, copy_command, outputs_command, serve_command, stacks_command,
    selftest_command, gate_command, help_command, version_command, completion_command, complete_command;
/* All of them, below one that is the program itself. */
extern const struct cli_command sliceup_command;

/* Runs the command that the words name, and returns the exit status. */
int cli_main (int argc, char **argv);

/* ---- help.c: what the tables of commands say of themselves: --help, the overview, man pages. Pure ---- */

enum { PAGE_MAX_BYTES = 1 << 20 };
/* Of the command that `arguments` names, lines of at most `columns`; of the program itself its commands by task. */
void help_print (const struct cli_arguments *arguments, uint32_t columns, struct buf *out);
/* In twelve lines. */
void help_print_first_steps (const struct cli_command *root, struct buf *out);

#endif
