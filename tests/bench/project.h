/* project.h - both sides of the comparison, each measured once in a process of its own. */
#ifndef SLICEUP_TESTS_BENCH_PROJECT_H
#define SLICEUP_TESTS_BENCH_PROJECT_H

#include "crowd.h"

#define BENCH_VERSION "0.3.0"
#define BENCH_HOST_FORMAT "v6e-pod-host-%04u"
enum { BENCH_ROUNDS_MAX = RUNGS_MAX };

struct bench_options {
    uint32_t hosts, rounds;
    const char *home;     /* project: where the run and its journal lie */
    struct frames frames; /* bare */
    bool bulk;
};
struct bench_figures {
    uint64_t released_ns, joined_ns, join_cpu_ns; /* joined: the last hello was taken */
    uint64_t rounds_ns[BENCH_ROUNDS_MAX];
    uint32_t rounds_n;
    uint64_t rounds_cpu_ns;         /* of this process, over all rounds */
    uint64_t loop_cpu_ns;           /* the part of the thread that owns the sockets */
    uint64_t rss_kib, rss_peak_kib; /* after the last round */
    struct crowd_report crowd;
};
/* The real coordinator: driver, core, journal on disk. */
void project_measure (const struct bench_options *options, struct bench_figures *out);
/* A ROUTER with CURVE and a ZAP handler that looks keys up in memory; frames of the same sizes, nothing in them. */
void bare_measure (const struct bench_options *options, struct bench_figures *out);

#endif
