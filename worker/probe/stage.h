/* stage.h - the steps of a probe, in the order in which they are done; both ends of the pipe know them.
 *
 * A step is announced before it is begun, so that a plugin that hangs or crashes has named its step. Every step is done
 * once at most. It knows nothing of plugins. */
#ifndef SLICEUP_WORKER_PROBE_STAGE_H
#define SLICEUP_WORKER_PROBE_STAGE_H

#include "common/model/record.h"

enum probe_stage {
    STAGE_NONE = 0,
    STAGE_FILE,      /* the plugin's file: size, sha256 */
    STAGE_LOAD,      /* dlopen */
    STAGE_INTERFACE, /* GetPjrtApi, versions, sizes, slots */
    STAGE_INITIALIZE,
    STAGE_ATTRIBUTES,
    STAGE_CLIENT,
    STAGE_PLATFORM,
    STAGE_DEVICES,
    STAGE_COMPILE,
    STAGE_TRANSFER,
    STAGE_EXECUTE,
    STAGE_READ,
    STAGE_SERIALIZE,
    STAGE_RELOAD,
    STAGE_EXECUTE_AGAIN,
    STAGE_MEMORY,
    STAGE_CLOSE,
    STAGE_N
};
extern const struct enum_names stage_names;

enum { REPORTER_FD = 3, REPORTER_EXIT_PIPE_CLOSED = 4, REPORTER_NAME_MAX = 63, REPORTER_TEXT_MAX = 4096 };
enum { REPORTER_LINE_MAX = 2 * REPORTER_TEXT_MAX + 128, REPORTER_BYTES_MAX = 256 * 1024 };

#endif
