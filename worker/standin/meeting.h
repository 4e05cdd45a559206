/* meeting.h - connects the processes of a slice, each with each, as libtpu's slice builder does.
 *
 * A process listens at its own address and waits, for ever as libtpu does, for those that the bounds and addresses
 * name; its starter bounds that. Two that describe the slice differently refuse each other. One thread. */
#ifndef SLICEUP_WORKER_STANDIN_MEETING_H
#define SLICEUP_WORKER_STANDIN_MEETING_H

#include "worker/standin/place.h"

struct meeting {
    int fds[PLACE_PROCESSES_MAX]; /* to each other process; -1: to itself */
    uint32_t n;
};

int meeting_open (struct meeting *meeting, const struct place *place, struct refusal *refusal);
void meeting_close (struct meeting *meeting);

#endif
