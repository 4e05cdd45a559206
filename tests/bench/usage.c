#include "usage.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static uint64_t clock_ns (clockid_t clock)
{
    struct timespec at = { 0 };
    if (clock_gettime (clock, &at) != 0)
        return 0;
    return (uint64_t) at.tv_sec * 1000000000u + (uint64_t) at.tv_nsec;
}

uint64_t usage_now_ns (void)
{
    return clock_ns (CLOCK_MONOTONIC);
}

uint64_t usage_cpu_ns (void)
{
    return clock_ns (CLOCK_PROCESS_CPUTIME_ID);
}

uint64_t usage_thread_cpu_ns (void)
{
    return clock_ns (CLOCK_THREAD_CPUTIME_ID);
}

static uint64_t status_kib (const char *name)
{
    char line[256];
    unsigned long long kib = 0;
    FILE *status = fopen ("/proc/self/status", "re");
    while (status && fgets (line, sizeof line, status))
        if (strncmp (line, name, strlen (name)) == 0)
            sscanf (line + strlen (name), " %llu", &kib);
    if (status)
        fclose (status);
    return kib;
}

uint64_t usage_rss_kib (void)
{
    return status_kib ("VmRSS:");
}

uint64_t usage_rss_peak_kib (void)
{
    return status_kib ("VmHWM:");
}
