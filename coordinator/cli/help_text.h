/* help_text.h - what the tables of commands say of themselves: --help, the overview, man pages. Pure. */
#ifndef SLICEUP_COORDINATOR_CLI_HELP_TEXT_H
#define SLICEUP_COORDINATOR_CLI_HELP_TEXT_H

#include "coordinator/cli/arguments.h"
#include "coordinator/cli/page.h"

/* Of the command that `arguments` names; of the program itself its commands by task. */
void help_print (const struct cli_arguments *arguments, struct buf *out);
/* The same as a page for man(1). */
void help_print_man (const struct cli_arguments *arguments, const char *version, struct buf *out);

#endif
