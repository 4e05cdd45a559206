/* stands.h - who holds up the others of a slice-wide program, by where each host's program stood when all were looked at.
 *
 * A stand is what a worker tells of one program (docs/spec/canary.md, "Where a program hangs"): the innermost frame of
 * its main thread, frames of the user's own files, then what its threads wait in. Whoever stands outside of the runtime
 * while others wait in it holds them up; if nobody does, whoever stands elsewhere than most. Stopped programs always
 * do. Where some have ended with an error, who is held below a line of the user's own does, if all others that are left wait in a runtime.
 * A host that serves the others, as rank 0 of many programs, is not held against them because it sleeps elsewhere while
 * no frames are known. Stands are untrusted: their words are shown, never believed to name a host. Pure; texts live in the arena. */
#ifndef SLICEUP_COORDINATOR_VERDICT_STANDS_H
#define SLICEUP_COORDINATOR_VERDICT_STANDS_H

#include "common/base/text.h"

struct stand_host {
    struct text name;
    struct text lines; /* as told, one a line; empty: not known */
    bool ended;        /* by itself: it stands nowhere any more */
    bool badly;        /* so, and with an error */
    bool serves;       /* rank 0 of a program over several hosts */
};
/* "fault.py:4 maybe (), sleeping in clock_nanosleep"; "train.py:31 step (), in jax"; without a frame only the wait, for
 * which `framed` is false; empty: nothing is known. */
struct text stand_print (struct text lines, struct arena *arena, bool *framed);
/* "stood in train.py:31 step (), in jax"; "was stopped by a signal"; empty: no frame is known. */
struct text stand_phrase (struct text lines, struct arena *arena);
/* Is it held by something of its own, so that no other host can end it? docs/spec/signatures.md, "Blame". */
bool stand_holds_itself (struct text lines);
bool stand_waits_for_lock (struct text lines); /* a lock of a file */
bool stand_is_line (struct text line);         /* one of a stand, in evidence */
/* What a line of a stand is; `said`: of a frame without its mark, `File "/home/me/fault.py", line 4 in maybe`. */
enum stand_line { STAND_OWN_FRAME, STAND_FRAME, STAND_WAIT };
enum stand_line stand_line_read (struct text line, struct text *said);

/* Sets lags[i] of each host that holds up others; returns how many. `who`: "h2 stands in fault.py:4 maybe (), sleeping
 * in clock_nanosleep", `others`: "h[0-1,3] wait for it in jax". If nobody lags, `who` is where all stand, if that is one
 * place, and `others` is empty. Where some have ended, `who` is empty, and `others`
 * tells who waits in a runtime. */
uint32_t stands_find_lagging (const struct stand_host *hosts, uint32_t n, bool *lags, struct arena *arena,
                              struct text *who, struct text *others);

#endif
