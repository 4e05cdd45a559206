/* classify.c - scans a log for known texts, keeps its end, and chooses among what both show. */
#include "common/logs/classify.h"

#include <string.h>

#include "common/logs/candidate.h"
#include "common/logs/log_line.h"
#include "common/logs/set.h"

struct classify_run {
    const struct signature_set *set;
    struct signature_scan *scan;
    char *kept;             /* the end of the log so far: CLASSIFY_END_BYTES at least, twice that at most */
    uint32_t kept_n, room;  /* `room`: bytes that `kept` may hold */
    uint64_t dropped_bytes; /* of the log before `kept` */
    uint32_t dropped_lines;
    struct earlier_lines earlier; /* of what was dropped */
    uint32_t parts_read;
};

enum { PARTS_READ_MAX = 96, ROOM_MAX = 2 * CLASSIFY_END_BYTES };

static struct classify_run *begin_with_room (const struct signature_set *set, uint32_t room)
{
    struct classify_run *run = mem_alloc (sizeof *run);
    run->set = set;
    run->scan = signature_scan_begin (set);
    run->kept = mem_grow (NULL, room, 1); /* filled before it is read: not worth zeroing for each host */
    run->room = room;
    return run;
}

struct classify_run *classify_begin (const struct signature_set *set)
{
    return begin_with_room (set, ROOM_MAX);
}

static void read_part (const struct classify_run *run, uint32_t bytes, struct arena *arena, struct log_end *out)
{
    printed_lines_split ((struct text){ run->kept, bytes }, run->dropped_bytes, arena, &out->lines);
    traceback_find_all (&out->lines, arena, &out->exceptions);
    candidates_find (run->set, &out->lines, &out->exceptions, arena, &out->candidates);
}

/* Reading takes 30 ms a MiB, and somebody waits for the cause. */
static void read_forgotten (struct classify_run *run, uint32_t bytes)
{
    LOCAL_ARENA work = { 0 };
    struct log_end part;
    if (run->parts_read == PARTS_READ_MAX || !shown_lines_may_be_in ((struct text){ run->kept, bytes }))
        return;
    run->parts_read++;
    read_part (run, bytes, &work, &part);
    shown_lines_keep (&part, &run->earlier);
}

/* Of the first `bytes` those up to the end of a line, at most as many lines as are read at once; 0: no line ends there.
 * A line of CLASSIFY_END_BYTES is cut. */
static uint32_t whole_lines (const struct classify_run *run, uint32_t bytes)
{
    uint32_t to = 0, lines = 0;
    for (uint32_t i = 0; i < bytes && lines < PRINTED_LINES_MAX; i++)
        if (run->kept[i] == '\n') {
            to = i + 1;
            lines++;
        }
    return to || bytes < CLASSIFY_END_BYTES ? to : bytes;
}

static void drop_part (struct classify_run *run, uint32_t bytes)
{
    read_forgotten (run, bytes);
    for (uint32_t i = 0; i < bytes; i++)
        run->dropped_lines += run->kept[i] == '\n';
    memmove (run->kept, run->kept + bytes, run->kept_n - bytes);
    run->kept_n -= bytes;
    run->dropped_bytes += bytes;
}

/* CLASSIFY_END_BYTES stay, and up to a line more. */
static void drop_front (struct classify_run *run)
{
    uint32_t part;
    while (run->kept_n > CLASSIFY_END_BYTES && (part = whole_lines (run, run->kept_n - CLASSIFY_END_BYTES)) > 0)
        drop_part (run, part);
}

static void classify_keep (struct classify_run *run, struct text bytes)
{
    while (bytes.len) {
        if (run->kept_n == run->room)
            drop_front (run);
        uint32_t room = run->room - run->kept_n, take = bytes.len < room ? bytes.len : room;
        memcpy (run->kept + run->kept_n, bytes.ptr, take);
        run->kept_n += take;
        bytes.ptr += take;
        bytes.len -= take;
    }
}

void classify_bytes (struct classify_run *run, struct text bytes)
{
    signature_scan_bytes (run->scan, bytes);
    classify_keep (run, bytes);
}

static void free_run (struct classify_run *run)
{
    arena_release (&run->earlier.arena);
    mem_free (run->kept);
    mem_free (run);
}

/* The number of the line that decides, below 1 in a part that was dropped; INT64_MIN: none does. */
static int64_t deciding_line (uint32_t lines_before, const struct signature_scan_result *seen)
{
    int64_t decides = INT64_MIN;
    for (uint32_t i = 0; i < seen->sightings_n; i++)
        if (seen->sightings[i].decides)
            decides = (int64_t) seen->sightings[i].line - lines_before;
    return decides;
}

/* When nothing decides, the last one that ended its process. NULL: there is none. */
static const struct exception *deciding_exception (const struct log_end *end, int64_t decides)
{
    const struct exception *last = NULL;
    for (uint32_t i = 0; i < end->exceptions.n; i++) {
        const struct exception *one = &end->exceptions.items[i];
        if (end->lines.items[one->first].number <= decides && decides <= end->lines.items[one->last].number)
            return one;
        last = one->harmless ? last : one;
    }
    return decides == INT64_MIN ? last : NULL;
}

/* Of the exception, or of a crash that decides or beside which nothing does. */
static void take_frames (const struct log_end *end, uint32_t lines_before, struct arena *arena,
                         struct signature_scan_result *seen)
{
    struct text frames[TRACE_FRAMES_MAX];
    int64_t decides = deciding_line (lines_before, seen), crashed;
    const struct exception *exception = deciding_exception (end, decides);
    uint32_t n = traceback_crash_frames (&end->lines, frames, &crashed);
    if (!n || (decides != crashed && decides != INT64_MIN))
        n = exception ? traceback_frames (&end->lines, exception, frames) : 0;
    seen->frames_n = n;
    seen->frames = arena_array (arena, n, sizeof *seen->frames);
    for (uint32_t i = 0; i < n; i++)
        seen->frames[i] = text_copy (arena, frames[i]);
}

void classify_end (struct classify_run *run, struct arena *arena, struct signature_scan_result *out)
{
    signature_scan_end (run->scan, arena, out);
    if (out) {
        LOCAL_ARENA work = { 0 };
        struct log_end end;
        drop_front (run);
        read_part (run, run->kept_n, &work, &end);
        shown_lines_choose (run->set, &end, &run->earlier, arena, out);
        choose_cause (run->set, &end.lines, &end.candidates, run->dropped_lines, arena, out);
        take_frames (&end, run->dropped_lines, arena, out);
    }
    free_run (run);
}

void classify_text (const struct signature_set *set, struct text text, struct arena *arena,
                    struct signature_scan_result *out)
{
    struct classify_run *run = begin_with_room (set, text.len < ROOM_MAX ? text.len : ROOM_MAX);
    classify_bytes (run, text);
    classify_end (run, arena, out);
}

/* ---- what the sightings say of the cause ---- */

static enum cause_weight weight_of (const struct signature *signature)
{
    return signature->noise ? CAUSE_NOISE : signature->peer ? CAUSE_PEER : CAUSE_OWN;
}

/* Of a kind that neither passes by itself nor is known to be harmless. */
static bool speaks_against (const struct signature_set *set, const struct signature_scan_result *seen)
{
    for (uint32_t i = 0; i < seen->sightings_n; i++) {
        const struct signature *signature = signature_set_find (set, seen->sightings[i].signature);
        if (signature && !signature->rule && weight_of (signature) == CAUSE_OWN && !signature->transient)
            return true;
    }
    for (uint32_t i = 0; i < seen->shown_n; i++)
        if (log_line_grade (seen->shown[i]) != LINE_ERROR)
            return true;
    return false;
}

/* Nobody ends of what working programs print, too, nor of what the program itself calls a warning. */
static bool may_pass (const struct signature *signature, struct text line)
{
    return signature->transient && weight_of (signature) != CAUSE_NOISE && log_line_grade (line) != LINE_HARMLESS;
}

/* A rule that names nobody, and complains of nobody, is no cause. */
static bool signature_may_decide (const struct signature *signature)
{
    return signature && (!signature->rule || signature->peer || signature->owner != OWNER_UNKNOWN);
}

void cause_decide (const struct signature_set *set, const struct signature_scan_result *seen,
                   struct cause_decision *out)
{
    *out = (struct cause_decision){ 0 };
    for (uint32_t i = 0; i < seen->sightings_n; i++) {
        const struct sighting *sighting = &seen->sightings[i];
        const struct signature *signature = sighting->decides ? signature_set_find (set, sighting->signature) : NULL;
        if (!signature_may_decide (signature))
            continue;
        *out = (struct cause_decision){ .weight = weight_of (signature),
                                        .id = sighting->signature,
                                        .owner = signature->noise ? OWNER_UNKNOWN : signature->owner,
                                        .else_owner = signature->else_owner,
                                        .likely = signature->likely,
                                        .next = signature->next,
                                        .line = sighting->text };
        out->transient = may_pass (signature, out->line) && !speaks_against (set, seen);
        return;
    }
}
