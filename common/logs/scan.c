/* scan.c - reads a log once, through a sliding window: what lies around a place is at hand when it matters. */
#include <string.h>

#include "common/logs/log_line.h"
#include "common/logs/set.h"

/* BACK and AHEAD of what is being read stay in the window: lines and terminal sequences are looked up there. NEAR: how far `also` and `unless` reach. The longest message of XLA that we know, a barrier's with its list,
 * has 700 bytes; other processes write in between. */
enum { BACK_BYTES = 8 << 10, BODY_BYTES = 64 << 10, AHEAD_BYTES = 8 << 10, NEAR_BYTES = 2 << 10 };
enum { WINDOW_BYTES = BACK_BYTES + BODY_BYTES + AHEAD_BYTES, BEFORE_MATCH_BYTES = 120, ANNOUNCED_LINES = 8 };
enum { ESCAPE_BYTE = 0x1b };

struct scanned_line {
    uint64_t offset;
    uint32_t line, len;
    char text[SHOWN_LINE_BYTES];
};

/* One signature on its way to being sighted. Occurrences of its text that are near one another are one message. */
struct signature_progress {
    bool sighted, open, excluded;
    uint32_t also;              /* bit per condition that was met */
    uint64_t last;              /* end of the text's latest occurrence */
    uint32_t last_line;         /* that of the latest occurrence; kept of transient ones and of noise */
    struct scanned_line *place; /* of the first one of the message; own */
};

struct signature_scan {
    const struct signature_set *set;
    char *window;
    uint32_t room;      /* bytes of the window */
    uint32_t len, done; /* bytes in the window, and of these those that were read */
    uint64_t base;      /* offset of the window's first byte in the log */
    uint32_t state;
    uint64_t counted_to; /* line ends before this offset: */
    uint32_t lines;
    uint64_t line_from, line_to; /* the line looked at last; none: both 0 */
    uint64_t *seen;              /* per needle: end of its latest occurrence; 0: none */
    struct signature_progress *watches;
};

static struct signature_scan *scan_make (const struct signature_set *set, uint32_t window_bytes)
{
    struct signature_scan *scan = mem_alloc (sizeof *scan);
    scan->set = set;
    scan->room = window_bytes;
    scan->window = mem_alloc (window_bytes);
    scan->seen = mem_array (set->automaton.needles, sizeof *scan->seen);
    scan->watches = mem_array (set->n, sizeof *scan->watches);
    return scan;
}

struct signature_scan *signature_scan_begin (const struct signature_set *set)
{
    return scan_make (set, WINDOW_BYTES);
}

static void scan_free (struct signature_scan *scan)
{
    for (uint32_t i = 0; i < scan->set->n; i++)
        mem_free (scan->watches[i].place);
    mem_free (scan->window);
    mem_free (scan->seen);
    mem_free (scan->watches);
    mem_free (scan);
}

/* ---- lines ---- */

static struct text window_of (const struct signature_scan *scan)
{
    return (struct text){ .ptr = scan->window, .len = scan->len };
}

static uint32_t count_ends (const struct signature_scan *scan, uint64_t from, uint64_t to)
{
    uint32_t n = 0;
    for (const char *p = scan->window + (from - scan->base), *end = scan->window + (to - scan->base); p < end; p++)
        n += *p == '\n';
    return n;
}

/* From 1; `offset` lies in the window, and no line is counted twice on the way. */
static uint32_t line_number (struct signature_scan *scan, uint64_t offset)
{
    if (offset >= scan->counted_to)
        scan->lines += count_ends (scan, scan->counted_to, offset);
    else
        scan->lines -= count_ends (scan, offset, scan->counted_to);
    scan->counted_to = offset;
    return scan->lines + 1;
}

/* The same line is asked for many times over when it holds many needles. */
static struct text scan_line_of (struct signature_scan *scan, uint32_t at, uint64_t *offset)
{
    uint64_t place = scan->base + at;
    if (place < scan->line_from || place >= scan->line_to || scan->line_from < scan->base) {
        struct text line = log_line_around (window_of (scan), at);
        scan->line_from = scan->base + (uint64_t) (line.ptr - scan->window);
        scan->line_to = scan->line_from + line.len;
    }
    *offset = scan->line_from;
    return (struct text){ .ptr = scan->window + (scan->line_from - scan->base),
                          .len = (uint32_t) (scan->line_to - scan->line_from) };
}

/* Of a line that is too long to show, the part that begins a little before `at`. */
static struct text part_shown (const struct signature_scan *scan, struct text line, uint32_t at)
{
    uint32_t before = (uint32_t) (scan->window + at - line.ptr);
    if (line.len <= SHOWN_LINE_BYTES || before <= BEFORE_MATCH_BYTES)
        return line;
    uint32_t cut = before - BEFORE_MATCH_BYTES;
    return (struct text){ .ptr = line.ptr + cut, .len = line.len - cut };
}

/* "/job:jax_worker/replica:0/task:3", or in newer versions its number alone. */
static bool names_task (struct text line)
{
    uint64_t number;
    char cleaned[SHOWN_LINE_BYTES];
    struct text text = { .ptr = cleaned, .len = log_line_clean (line, cleaned, sizeof cleaned) };
    return text_find (text, TEXT_LIT ("/task:"), NULL) || text_to_u64 (text, &number);
}

/* "Some timed out task names:" says nothing without the lines behind it: the next one and those that name tasks. */
static void add_announced (const struct signature_scan *scan, struct text line, struct scanned_line *place)
{
    uint32_t next = (uint32_t) (line.ptr - scan->window) + line.len + 1;
    if (place->len == 0 || place->text[place->len - 1] != ':')
        return;
    for (uint32_t i = 0; i < ANNOUNCED_LINES && next < scan->len && place->len + 1 < SHOWN_LINE_BYTES; i++) {
        struct text more = log_line_around (window_of (scan), next);
        if (i && !names_task (more))
            return;
        place->text[place->len++] = ' ';
        place->len += log_line_clean (more, place->text + place->len, SHOWN_LINE_BYTES - place->len);
        next = (uint32_t) (more.ptr - scan->window) + more.len + 1;
    }
}

static void take_place (struct signature_scan *scan, uint32_t at, struct scanned_line *place)
{
    struct text line = scan_line_of (scan, at, &place->offset);
    place->line = line_number (scan, place->offset);
    place->len = log_line_clean (part_shown (scan, line, at), place->text, SHOWN_LINE_BYTES);
    add_announced (scan, line, place);
}

/* ---- needles ---- */

static bool is_near (uint64_t seen, uint64_t end)
{
    return seen && end - seen <= NEAR_BYTES;
}

/* A message is over: is it what the signature describes? */
static void scan_settle (struct signature_scan *scan, uint32_t item)
{
    struct signature_progress *watch = &scan->watches[item];
    watch->sighted |= watch->open && !watch->excluded &&
                      watch->also == (UINT32_C (1) << scan->set->items[item].also.n) - 1; /* open: no rule, so few */
    watch->open = false;
}

static void look_around (struct signature_scan *scan, uint32_t item, uint64_t end)
{
    struct signature_progress *watch = &scan->watches[item];
    const struct signature *signature = &scan->set->items[item];
    const uint64_t *seen = scan->seen + scan->set->first_of[item] + 1;
    for (uint32_t i = 0; i < signature->also.n; i++)
        watch->also |= (uint32_t) is_near (seen[i], end) << i;
    for (uint32_t i = 0; i < signature->unless.n; i++)
        watch->excluded |= is_near (seen[signature->also.n + i], end);
}

static void found_text (struct signature_scan *scan, uint32_t item, uint32_t at, uint64_t end)
{
    struct signature_progress *watch = &scan->watches[item];
    if (scan->set->items[item].transient || scan->set->items[item].noise)
        watch->last_line = line_number (scan, end);
    if (watch->open && end - watch->last > NEAR_BYTES)
        scan_settle (scan, item);
    if (watch->sighted)
        return;
    if (!watch->open) {
        watch->open = true;
        watch->excluded = false;
        watch->also = 0;
        watch->place = watch->place ? watch->place : mem_alloc (sizeof *watch->place);
        take_place (scan, at, watch->place);
    }
    watch->last = end;
    look_around (scan, item, end);
    if (scan->set->items[item].also.n + scan->set->items[item].unless.n == 0)
        scan_settle (scan, item);
}

static void found_condition (struct signature_scan *scan, const struct needle *needle, uint64_t end)
{
    struct signature_progress *watch = &scan->watches[needle->item];
    if (!watch->open || end - watch->last > NEAR_BYTES)
        return;
    if (needle->kind == NEEDLE_ALSO)
        watch->also |= UINT32_C (1) << needle->also;
    else
        watch->excluded = true;
}

static void found (struct signature_scan *scan, uint32_t index)
{
    const struct needle *needle = &scan->set->needles[index];
    uint64_t end = scan->base + scan->done;
    uint32_t at = scan->done > needle->len ? scan->done - needle->len : 0;
    scan->seen[index] = end;
    if (needle->kind == NEEDLE_TEXT)
        found_text (scan, needle->item, at, end);
    else
        found_condition (scan, needle, end);
}

static void found_all (struct signature_scan *scan)
{
    const struct automaton *automaton = &scan->set->automaton;
    uint32_t state = (scan->state & ~AUTOMATON_EVENT) / automaton->letters;
    for (; state; state = automaton->shorter[state])
        for (int32_t i = automaton->own[state]; i != NEEDLE_NONE; i = automaton->same[i])
            found (scan, (uint32_t) i);
}

/* ---- the window ---- */

static void read_to (struct signature_scan *scan, uint32_t to)
{
    const struct automaton *automaton = &scan->set->automaton;
    const unsigned char *bytes = (const unsigned char *) scan->window;
    const uint32_t *next = automaton->next;
    const uint8_t *letter_of = automaton->letter_of;
    uint32_t state = scan->state & ~AUTOMATON_EVENT, at = scan->done;
    while (at < to) {
        state = next[state + letter_of[bytes[at++]]];
        if (!(state & AUTOMATON_EVENT))
            continue;
        scan->state = state;
        scan->done = at;
        if (bytes[at - 1] == ESCAPE_BYTE)
            at += log_line_escape_bytes (window_of (scan), at - 1) - 1;
        else
            found_all (scan);
        state &= ~AUTOMATON_EVENT;
    }
    scan->state = state;
    scan->done = at;
}

static void slide (struct signature_scan *scan)
{
    uint32_t drop = scan->done > BACK_BYTES ? scan->done - BACK_BYTES : 0;
    line_number (scan, scan->base + drop);
    memmove (scan->window, scan->window + drop, scan->len - drop);
    scan->base += drop;
    scan->len -= drop;
    scan->done -= drop;
}

void signature_scan_bytes (struct signature_scan *scan, struct text bytes)
{
    while (bytes.len) {
        uint32_t room = scan->room - scan->len, take = bytes.len < room ? bytes.len : room;
        memcpy (scan->window + scan->len, bytes.ptr, take);
        scan->len += take;
        bytes.ptr += take;
        bytes.len -= take;
        if (scan->len < scan->room || scan->room < WINDOW_BYTES)
            return;
        read_to (scan, WINDOW_BYTES - AHEAD_BYTES);
        slide (scan);
    }
}

/* ---- what came of it: which of the known texts are told ---- */

/* LONG: tracebacks in two parts and stacks of aborts have fewer lines. PEERS: who else is named is told as well. */
enum { LONG_LINES = 64, PEERS_KEPT = 4 };

static int sightings_by_offset (const void *a, const void *b)
{
    const struct signature_progress *left = *(const struct signature_progress *const *) a,
                                    *right = *(const struct signature_progress *const *) b;
    if (left->place->offset != right->place->offset)
        return left->place->offset < right->place->offset ? -1 : 1;
    return left < right ? -1 : left > right;
}

enum { RANK_CAUSE, RANK_PEER, RANK_NOISE, RANKS };

static uint32_t rank_of (const struct signature *signature)
{
    return signature->noise ? RANK_NOISE : signature->peer ? RANK_PEER : RANK_CAUSE;
}

static uint32_t least_of (uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* How many of each rank, so that neither what failed here nor who else is named there is pushed out by the rest. */
static void share_out (const uint32_t had[RANKS], uint32_t kept[RANKS])
{
    uint32_t left = SIGHTINGS_MAX;
    kept[RANK_CAUSE] = least_of (had[RANK_CAUSE], left - least_of (had[RANK_PEER], PEERS_KEPT));
    left -= kept[RANK_CAUSE];
    kept[RANK_PEER] = least_of (had[RANK_PEER], left);
    left -= kept[RANK_PEER];
    kept[RANK_NOISE] = least_of (had[RANK_NOISE], left);
}

static void take_sightings (struct signature_scan *scan, struct arena *arena, struct signature_scan_result *out)
{
    LOCAL_MEM const struct signature_progress **sighted = mem_array (scan->set->n, sizeof *sighted);
    uint32_t n = 0, had[RANKS] = { 0 }, kept[RANKS];
    for (uint32_t i = 0; i < scan->set->n; i++)
        if (scan->watches[i].sighted) {
            sighted[n++] = &scan->watches[i];
            had[rank_of (&scan->set->items[i])]++;
        }
    sort_items (sighted, n, sizeof *sighted, sightings_by_offset);
    share_out (had, kept);
    out->sightings = arena_array (arena, least_of (n, SIGHTINGS_MAX), sizeof *out->sightings);
    for (uint32_t i = 0; i < n; i++) {
        const struct signature *signature = &scan->set->items[sighted[i] - scan->watches];
        const struct scanned_line *place = sighted[i]->place;
        if (kept[rank_of (signature)]-- == 0) {
            kept[rank_of (signature)] = 0;
            continue;
        }
        out->sightings[out->sightings_n++] = (struct sighting){
            .signature = text_copy (arena, signature->id),
            .line = place->line,
            .offset = place->offset,
            .text = text_copy (arena, (struct text){ .ptr = place->text, .len = place->len }),
        };
    }
}

static bool only_noise (const struct signature_scan *scan)
{
    for (uint32_t i = 0; i < scan->set->n; i++)
        if (scan->watches[i].sighted && rank_of (&scan->set->items[i]) != RANK_NOISE)
            return false;
    return true;
}

/* It printed a lot after all that may pass by itself, or may be harmless: it may well have ended of something else. */
static bool went_on (const struct signature_scan *scan, uint32_t end)
{
    bool noise = only_noise (scan);
    uint32_t last = 0;
    for (uint32_t i = 0; i < scan->set->n; i++)
        if (scan->watches[i].sighted && (scan->set->items[i].transient || noise) && scan->watches[i].last_line > last)
            last = scan->watches[i].last_line;
    return last > 0 && end - last > LONG_LINES;
}

/* After the last byte was read and each message is settled. `line`: number of the log's last line, from 1. */
static void sightings_collect (struct signature_scan *scan, uint32_t line, struct arena *arena,
                               struct signature_scan_result *out)
{
    *out = (struct signature_scan_result){ .went_on = went_on (scan, line) };
    take_sightings (scan, arena, out);
}

void signature_scan_end (struct signature_scan *scan, struct arena *arena, struct signature_scan_result *out)
{
    if (!out) {
        scan_free (scan);
        return;
    }
    *out = (struct signature_scan_result){ 0 };
    read_to (scan, scan->len);
    for (uint32_t i = 0; i < scan->set->n; i++)
        scan_settle (scan, i);
    sightings_collect (scan, line_number (scan, scan->base + scan->len), arena, out);
    scan_free (scan);
}

void signature_scan_text (const struct signature_set *set, struct text text, struct arena *arena,
                          struct signature_scan_result *out)
{
    struct signature_scan *scan = scan_make (set, text.len < WINDOW_BYTES ? text.len : WINDOW_BYTES);
    signature_scan_bytes (scan, text);
    signature_scan_end (scan, arena, out);
}
