#include "coordinator/terminal/mark_paint.h"

enum paint terminal_mark_paint (enum scene_mark mark)
{
    static const enum paint of[MARK_N] = {
        [MARK_TO_COME] = PAINT_FAINT, [MARK_PASSED] = PAINT_GOOD,   [MARK_NOT_REACHED] = PAINT_FAINT,
        [MARK_RUNS] = PAINT_STRONG,   [MARK_AT_GATE] = PAINT_WARN,  [MARK_ENDED] = PAINT_NONE,
        [MARK_SO_FAR] = PAINT_BAD,    [MARK_CASCADE] = PAINT_WARN,  [MARK_CANCELLED] = PAINT_BAD,
        [MARK_BLOCKED] = PAINT_BAD,   [MARK_TIMED_OUT] = PAINT_BAD, [MARK_LOST] = PAINT_BAD,
        [MARK_FAILED] = PAINT_BAD,    [MARK_SILENT] = PAINT_WARN,   [MARK_JOINING] = PAINT_FAINT,
    };
    return (uint32_t) mark < MARK_N ? of[mark] : PAINT_NONE;
}
