/* command_line.h - the command line of a process, as it may be shown to others.
 *
 * One line, cut, with nothing that a terminal would obey, and without what looks like a secret: command lines of other
 * users' programs end up in receipts. Pure; what it makes lives in the arena. */
#ifndef SLICEUP_WORKER_FACTS_COMMAND_LINE_H
#define SLICEUP_WORKER_FACTS_COMMAND_LINE_H

#include "common/base/text.h"

/* `raw`: arguments, parted by NULs or blanks, as in /proc/<pid>/cmdline. "--token=x", "--token x" and "TOKEN=x" lose
 * the x. */
struct text command_line_shown (struct arena *arena, struct text raw, uint32_t max_bytes);
/* The program's own name: of the first word the last part of its path. */
struct text command_line_program (struct arena *arena, struct text raw);

#endif
