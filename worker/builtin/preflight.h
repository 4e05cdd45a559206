/* preflight.h - `sliceup-worker preflight`: checks whether this host has what a worker needs, before a worker is
 * started.
 *
 * One line a check, or JSON; with --brief nothing at all when nothing is missing, and else one line (the bootstrap
 * quotes it). A note does not prevent a start. Judging is pure: a test can give it any host.
 * Exit status: 0 nothing is missing, 1 could not print, 2 usage, 3 something is missing. */
#ifndef SLICEUP_WORKER_BUILTIN_PREFLIGHT_H
#define SLICEUP_WORKER_BUILTIN_PREFLIGHT_H

#include "worker/builtin/host_check.h"

enum { PREFLIGHT_MAX = 8 };
enum preflight_state { PREFLIGHT_NONE = 0, PREFLIGHT_OK, PREFLIGHT_NOTE, PREFLIGHT_MISSING };
extern const struct enum_names preflight_state_names;

struct preflight_check {
    const char *name; /* one word */
    enum preflight_state state;
    struct text found; /* escaped for a terminal */
    struct text next;  /* what to do about it; empty when ok */
};

struct preflight {
    struct arena arena; /* owns the texts */
    struct preflight_check checks[PREFLIGHT_MAX];
    uint32_t n;
};

/* `python_needed`: without a usable one something is missing; else that is a note. */
void preflight_judge (struct preflight *preflight, const struct host_check_results *host, bool python_needed);
bool preflight_is_ready (const struct preflight *preflight);
/* Empty when nothing is missing. */
void preflight_sentence (const struct preflight *preflight, struct buf *out);
void preflight_release (struct preflight *preflight);

int preflight_main (int argc, char **argv);

#endif
