/* commands.h - the table of commands, and how arguments choose one. Each command is one file, which exports one row. */
#ifndef SLICEUP_COORDINATOR_CLI_COMMANDS_H
#define SLICEUP_COORDINATOR_CLI_COMMANDS_H

#include "coordinator/cli/cli.h"

extern const struct cli_command check_command, run_command, resume_command, status_command, watch_command,
    receipt_command, logs_command, runs_command, hosts_command, ticket_command, monitor_key_command, cache_command,
    drift_command, env_command, calibration_command, explain_command, init_command, rehearse_command;

/* Takes the options every command has, runs the command that argv[1] names, and returns the exit status. */
int cli_main (int argc, char **argv);

#endif
