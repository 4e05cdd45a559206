/* mark_paint.h - the colour of a mark, which says no more than its letter does. Pure. */
#ifndef SLICEUP_COORDINATOR_TERMINAL_MARK_PAINT_H
#define SLICEUP_COORDINATOR_TERMINAL_MARK_PAINT_H

#include "coordinator/scene/scene.h"
#include "coordinator/view/line.h"

enum paint terminal_mark_paint (enum scene_mark mark);

#endif
