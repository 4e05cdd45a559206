/* child.h - the process that holds the plugin: does the steps and reports them (child_report.h). It alone touches a
 * plugin.
 *
 * Its descriptor REPORTER_FD is the socket to whoever watches; it leaves with _exit, so that nothing of a plugin that
 * runs at the end of a process is waited for. spawn.h lets it leave no core file, and die when its parent does. */
#ifndef SLICEUP_WORKER_PROBE_CHILD_H
#define SLICEUP_WORKER_PROBE_CHILD_H

#include <stdbool.h>

/* Never returns. `options` end in NULL, and are as option.h reads them. */
_Noreturn void probe_child (const char *plugin, bool client, char *const *options);

#endif
