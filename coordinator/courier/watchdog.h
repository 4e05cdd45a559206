/* watchdog.h - ends a courier that waits inside a library, at its deadline or when its coordinator ends.
 *
 * Calls to the name service, an agent or libssh may wait for ever. The watchdog is a thread that says so and ends the
 * process (status 1): there is nothing to tidy that the kernel does not tidy. It knows only the reporter. The owner's
 * thread starts and stops it; in between it must not read from the input. */
#ifndef SLICEUP_COORDINATOR_COURIER_WATCHDOG_H
#define SLICEUP_COORDINATOR_COURIER_WATCHDOG_H

#include "common/base/err.h"
#include "coordinator/courier/reporter.h"
#include <pthread.h>
#include <stdint.h>

struct watchdog {
    struct reporter *reporter;
    uint64_t until_ms;    /* BOOTTIME */
    uint64_t deadline_ms; /* its length, for people */
    int input_fd;         /* borrowed: its end is the coordinator's */
    int wake_fd;
    pthread_t thread;
};

int watchdog_start (struct watchdog *watchdog, struct err *err); /* the first four members are filled in */
void watchdog_stop (struct watchdog *watchdog);

#endif
