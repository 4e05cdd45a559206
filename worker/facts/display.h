/* display.h - makes a text of this host fit to be shown to others: facts end up in receipts.
 *
 * One line, without what a terminal would obey or what looks like a secret. Pure; results live in the arena. */
#ifndef SLICEUP_WORKER_FACTS_DISPLAY_H
#define SLICEUP_WORKER_FACTS_DISPLAY_H

#include "common/base/text.h"

/* `mount`: "<type> <options> <source>". "ext4 rw /dev/nvme1n1p2" becomes "ext4 rw /dev/nvme": disks are numbered in the
 * order in which they were found, which is another one on the next boot and on the next host, and names of volumes may
 * be the host's own. So of a device the kind alone is shown, of a server the whole address. */
struct text display_mount (struct arena *arena, const char *mount);
/* `raw`: arguments, parted by NULs or blanks, as in /proc/<pid>/cmdline. "--token=x", "--token x" and "TOKEN=x" lose
 * the x. */
struct text command_line_for_display (struct arena *arena, struct text raw, uint32_t max_bytes);
/* The program's own name: of the first word the last part of its path. */
struct text display_program_name (struct arena *arena, struct text raw);

#endif
