/* terminal.h - what standard output can show. */
#ifndef SLICEUP_COORDINATOR_CLI_TERMINAL_H
#define SLICEUP_COORDINATOR_CLI_TERMINAL_H

#include "coordinator/cli/cli.h"
#include "coordinator/view/line.h"

/* Colours as `cli` allows them, UTF-8 by the locale; the width of the terminal, 0 when there is none. */
struct style terminal_style (const struct cli *cli);
/* Writes `bytes` to standard output, and releases them: EXIT_HOLDS, or what to leave with when they could not be
 * written. */
int terminal_write (const struct cli *cli, struct buf *bytes);

#endif
