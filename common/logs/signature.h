/* signature.h - known texts, found in what a program printed.
 *
 * A set is one automaton over the texts of all signatures; a scan reads a log of any size through it, piece by piece,
 * in one pass and bounded memory. Texts are looked for as written, but for what logs do to lines: colours and other
 * terminal sequences are not there, and blanks, tabs and line ends count as one blank. docs/spec/signatures.md has the
 * rules.
 *
 * Knows neither files nor hosts, and judges nothing: common/logs does. A set is not changed by scans, so several may
 * use it, also on several threads; a scan belongs to one. What a log holds never fails, and never decides an
 * allocation. */
#ifndef SLICEUP_COMMON_LOGS_SIGNATURE_H
#define SLICEUP_COMMON_LOGS_SIGNATURE_H

#include "common/model/result.h"

/* How much text one set may hold: bounds the memory of the automaton, which may be built of a file from elsewhere. */
enum { SIGNATURE_SET_TEXT_BYTES = 64 << 10 };

/* A list of signatures as a file for workers: one record. */
struct signature_table {
    LIST_OF (struct signature) signatures;
};
extern const struct record signature_table_record;

/* What it adds to a set: rules are not in the automaton. */
uint64_t signature_text_bytes (const struct signature *item);
/* `items` are borrowed and must outlive the set. NULL: more than SIGNATURES_MAX or SIGNATURE_SET_TEXT_BYTES. */
struct signature_set;
struct signature_set *signature_set_build (const struct signature *items, uint32_t n);
void signature_set_free (struct signature_set *set); /* NULL is fine */

/* What was found; all of it in the arena given to signature_scan_end, and within the bounds of struct result. */
struct signature_scan_result {
    struct sighting *sightings; /* the first of each signature, in the order of the log; at most SIGHTINGS_MAX */
    uint32_t sightings_n;
    bool went_on; /* for long, behind all that passes by itself or is noise: it may have ended of something else */
    struct text *shown; /* by common/logs: the lines that look most like an error and are not known, in the order
                         * of the log; only those before what is said of peers when nothing else is known; then the
                         * last ones, when there are none or the log went on; at most SHOWN_MAX. A scan leaves it. */
    uint32_t shown_n;
    struct text *frames; /* by common/logs: of the exception that decides, else of the last one (traceback.h) */
    uint32_t frames_n;
};

struct signature_scan;
struct signature_scan *signature_scan_begin (const struct signature_set *set);
void signature_scan_bytes (struct signature_scan *scan, struct text bytes); /* any piece of the log, in order */
/* Also frees the scan. `out` may be NULL: the scan is given up. */
void signature_scan_end (struct signature_scan *scan, struct arena *arena, struct signature_scan_result *out);

/* All of the above for a text in memory. */
void signature_scan_text (const struct signature_set *set, struct text text, struct arena *arena,
                          struct signature_scan_result *out);

#endif
