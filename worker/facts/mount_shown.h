/* mount_shown.h - a mount as it is compared with those of other hosts.
 *
 * Disks of one machine are numbered in the order in which they were found, which is another one on the next boot and on
 * the next host; names of volumes may be the host's own. So of a device the kind alone is shown, of a server the whole
 * address, but no password in it. Pure. */
#ifndef SLICEUP_WORKER_FACTS_MOUNT_SHOWN_H
#define SLICEUP_WORKER_FACTS_MOUNT_SHOWN_H

#include "common/base/text.h"

/* `mount`: "<type> <options> <source>". "ext4 rw /dev/nvme1n1p2" becomes "ext4 rw /dev/nvme". */
struct text mount_shown (struct arena *arena, const char *mount);

#endif
