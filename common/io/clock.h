/* clock.h - time, for drivers only. Core code is handed `now_ms`. */
#ifndef SLICEUP_COMMON_IO_CLOCK_H
#define SLICEUP_COMMON_IO_CLOCK_H
#include <stdint.h>
uint64_t clock_boot_ms (void); /* CLOCK_BOOTTIME: counts suspend, never jumps */
uint64_t clock_boot_ns (void);
uint64_t clock_wall_ms (void); /* Unix time; data for people, never compared */
#endif
