/* scan_state.h - a scan from inside the room: scan.c fills it, sightings.c says what came of it. */
#ifndef SLICEUP_COMMON_LOGS_SCAN_STATE_H
#define SLICEUP_COMMON_LOGS_SCAN_STATE_H

#include "common/logs/log_line.h"
#include "common/logs/set.h"

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

/* After the last byte was read and each message is settled. `line`: number of the log's last line, from 1. */
void sightings_collect (struct signature_scan *scan, uint32_t line, struct arena *arena,
                        struct signature_scan_result *out);

#endif
