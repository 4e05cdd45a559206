/* usage.h - what a process has used: time on the clock, CPU, memory. */
#ifndef SLICEUP_TESTS_BENCH_USAGE_H
#define SLICEUP_TESTS_BENCH_USAGE_H
#include <stdint.h>
uint64_t usage_now_ns (void);        /* CLOCK_MONOTONIC: one clock for all processes of the machine */
uint64_t usage_cpu_ns (void);        /* all threads of this process */
uint64_t usage_thread_cpu_ns (void); /* the calling thread alone */
uint64_t usage_rss_kib (void);       /* now */
uint64_t usage_rss_peak_kib (void);
#endif
