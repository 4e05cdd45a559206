/* confine_report.h - carries the report of the sandbox to the worker before the program starts: one small packet (packet.h).
 *
 * The last packet counts, since execve can fail after the first. The
 * stage's end is closed by execve, so the end of the stream means that the program runs or that nothing does. Texts
 * that come from here live in the arena given. */
#ifndef SLICEUP_WORKER_SANDBOX_CONFINE_REPORT_H
#define SLICEUP_WORKER_SANDBOX_CONFINE_REPORT_H

#include "common/base/err.h"
#include "common/model/result.h"
#include "worker/process/packet.h"

enum { CONFINE_NOTES_MAX = 8 };

struct confine_report {
    bool ready;          /* the program is what is executed next */
    struct text problem; /* not ready: one sentence, and whose it is */
    enum owner owner;
    enum enforcement reached;    /* what was set up, before ways that are open were counted */
    struct cache_view view;      /* without the storage's id */
    LIST_OF (struct text) notes; /* why better levels are not possible, and what could not be tried */
};
extern const struct record confine_report_record;

/* All that is there now. False: nothing was ever said. `*over`: the other end is closed. */
bool confine_report_receive (int fd, struct arena *arena, struct confine_report *report, bool *over);

#endif
