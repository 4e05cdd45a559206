#include "worker/attempt/attempt_state.h"

#include "common/logs/log_line.h"
#include <string.h>

enum { FRAMES_READ_MAX = 100 };

/* `  File "p", line 3 in f` of a dump, `  File "p", line 3, in f` of a traceback. */
static bool is_frame (struct text line)
{
    return text_starts (line, "  File \"");
}

static bool is_of_user (struct text frame)
{
    static const struct text others[] = { TEXT_LIT ("/site-packages/"), TEXT_LIT ("/dist-packages/"),
                                          TEXT_LIT ("/lib/python3"), TEXT_LIT ("\"<frozen "),
                                          TEXT_LIT ("/sliceup_canary.py\"") };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (text_find (frame, others[i], NULL))
            return false;
    return true;
}

/* The signal is sent to the main thread, which the dump calls the current one. Innermost first. */
static uint32_t read_dump (struct text printed, struct text *frames)
{
    uint32_t n = 0;
    for (bool inside = false; printed.len && n < FRAMES_READ_MAX;) {
        struct text line = text_take_until (&printed, '\n');
        if (inside && !is_frame (line))
            break;
        if (inside)
            frames[n++] = line;
        inside |= text_starts (line, "Current thread 0x");
    }
    return n;
}

static void turn_round (struct text *frames, uint32_t n)
{
    for (uint32_t i = 0; i < n / 2; i++) {
        struct text frame = frames[i];
        frames[i] = frames[n - 1 - i];
        frames[n - 1 - i] = frame;
    }
}

/* Outermost first, the last ones where there are too many; turned round. */
static uint32_t read_interrupt (struct text printed, struct text *frames)
{
    uint32_t n = 0;
    for (bool inside = false; printed.len;) {
        struct text line = text_take_until (&printed, '\n');
        if (inside && text_starts (line, "KeyboardInterrupt")) {
            turn_round (frames, n);
            return n;
        }
        if (text_starts (line, "Traceback (most recent call last):")) {
            inside = true;
            n = 0;
        } else if (!text_starts (line, "  ")) {
            inside = false;
        } else if (inside && is_frame (line)) {
            if (n == FRAMES_READ_MAX)
                memmove (frames, frames + 1, --n * sizeof *frames);
            frames[n++] = line;
        }
    }
    return 0;
}

static struct text print_frame (struct text frame, const char *role, struct arena *arena)
{
    char clean[SHOWN_LINE_BYTES / 2];
    uint32_t len = log_line_clean (frame, clean, sizeof clean);
    return text_format (arena, "%s: %.*s", role, (int) len, clean);
}

uint32_t stack_frames_find (struct text printed, struct arena *arena, struct text out[STACK_FRAMES_MAX])
{
    struct text frames[FRAMES_READ_MAX];
    uint32_t found = read_dump (printed, frames), users = 0, n = 0;
    if (!found)
        found = read_interrupt (printed, frames);
    for (uint32_t i = 0; i < found; i++)
        users += is_of_user (frames[i]);
    for (uint32_t i = 0; i < found && n < STACK_FRAMES_MAX; i++)
        if (i == 0 || !users || is_of_user (frames[i]))
            out[n++] = print_frame (frames[i], i == 0 ? "main thread" : "called from", arena);
    return n;
}
