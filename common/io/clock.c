#include "common/io/clock.h"

#include <assert.h>
#include <time.h>

static uint64_t read_ns (clockid_t id)
{
    struct timespec now;
    int rc = clock_gettime (id, &now);
    assert (rc == 0); /* both clocks exist since Linux 2.6.39 */
    return (uint64_t) now.tv_sec * 1000000000u + (uint64_t) now.tv_nsec;
}

uint64_t clock_boot_ns (void)
{
    return read_ns (CLOCK_BOOTTIME);
}

uint64_t clock_boot_ms (void)
{
    return read_ns (CLOCK_BOOTTIME) / 1000000u;
}

uint64_t clock_wall_ms (void)
{
    return read_ns (CLOCK_REALTIME) / 1000000u;
}
