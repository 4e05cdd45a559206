/* stack_frames.h - finds where the main thread of a Python program was, in what it printed when it was stopped: the dump
 * that it was asked for (faulthandler), or the traceback of the KeyboardInterrupt that ended it. Pure. */
#ifndef SLICEUP_WORKER_ATTEMPT_STACK_FRAMES_H
#define SLICEUP_WORKER_ATTEMPT_STACK_FRAMES_H

#include "common/model/result.h"

enum { STACK_FRAMES_MAX = 6 };

/* At most STACK_FRAMES_MAX lines, the innermost first: where the thread was, then the frames of the user's own files, if
 * there are any. 0: no stack is there. */
uint32_t stack_frames_find (struct text printed, struct arena *arena, struct text out[STACK_FRAMES_MAX]);

#endif
