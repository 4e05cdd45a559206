#include "coordinator/web/drift_counts.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/mem.h"
#include "coordinator/home/run_dir.h"
#include "coordinator/metrics/metrics.h"

enum { RUNS_MAX = 8 };

struct drift_count {
    char run[RUN_ID_HEX_BYTES]; /* "": a free place */
    bool known, asked, ended;
    uint32_t findings;
    uint64_t index, asked_index; /* up to which fact it was counted, and is being counted */
    uint64_t asked_ms, used_ms;
};
struct drift_counts {
    struct makers *makers;
    struct drift_count items[RUNS_MAX];
};

struct drift_counts *drift_counts_open (struct makers *makers)
{
    struct drift_counts *counts = mem_alloc (sizeof *counts);
    counts->makers = makers;
    return counts;
}

void drift_counts_close (struct drift_counts *counts)
{
    mem_free (counts);
}

bool drift_counts_read (struct text metrics, uint32_t *findings)
{
    struct text line;
    uint64_t number;
    while (text_cut (&metrics, '\n', &line)) {
        if (!text_starts (line, "sliceup_drift_findings{"))
            continue;
        while (line.len && memchr (line.ptr, ' ', line.len))
            (void) text_take_until (&line, ' ');
        if (!text_to_u64 (line, &number) || number > UINT32_MAX)
            return false;
        *findings = (uint32_t) number;
        return true;
    }
    return false;
}

/* Takes `fd`. */
static bool read_made (int fd, uint64_t bytes, uint32_t *findings)
{
    size_t room = bytes < METRICS_MAX_BYTES ? (size_t) bytes : METRICS_MAX_BYTES;
    char *text = mem_alloc (room + 1);
    ssize_t n = pread (fd, text, room, 0);
    bool found = n > 0 && drift_counts_read ((struct text){ text, (uint32_t) n }, findings);
    close (fd);
    mem_free (text);
    return found;
}

static void ask (struct drift_counts *counts, struct drift_count *count, uint64_t boot_ms)
{
    const char *const words[] = { "metrics", count->run, NULL };
    struct err quiet = { 0 }; /* the process told why on the terminal of this one */
    uint64_t bytes = 0;
    int fd = -1;
    int made = makers_ask (counts->makers, words, count->ended, boot_ms, &fd, &bytes, &quiet);
    count->asked = made == 0;
    if (made <= 0 || !read_made (fd, bytes, &count->findings))
        return;
    count->known = true;
    count->index = count->asked_index;
}

void drift_counts_tick (struct drift_counts *counts, uint64_t boot_ms)
{
    for (size_t i = 0; i < RUNS_MAX; i++)
        if (counts->items[i].asked)
            ask (counts, &counts->items[i], boot_ms);
}

/* Its place, or that of the run which was not asked about for longest. */
static struct drift_count *find_place (struct drift_counts *counts, const char *run)
{
    struct drift_count *oldest = &counts->items[0];
    for (size_t i = 0; i < RUNS_MAX; i++) {
        if (strcmp (counts->items[i].run, run) == 0)
            return &counts->items[i];
        if (counts->items[i].used_ms < oldest->used_ms)
            oldest = &counts->items[i];
    }
    *oldest = (struct drift_count){ 0 };
    snprintf (oldest->run, sizeof oldest->run, "%s", run);
    return oldest;
}

static bool is_due (const struct drift_count *count, uint64_t index, bool ended, uint64_t boot_ms)
{
    bool rests = count->asked_ms && boot_ms - count->asked_ms < DRIFT_COUNT_MS;
    bool newest = count->known && count->index == index;
    return !count->asked && !newest && (!rests || (ended && !count->ended));
}

bool drift_counts_find (struct drift_counts *counts, const char *run, uint64_t index, bool ended, uint64_t boot_ms,
                        uint32_t *findings)
{
    struct drift_count *count = find_place (counts, run);
    count->used_ms = boot_ms;
    if (is_due (count, index, ended, boot_ms)) {
        count->asked_index = index;
        count->asked_ms = boot_ms;
        count->ended = ended;
        ask (counts, count, boot_ms);
    }
    *findings = count->findings;
    return count->known;
}
