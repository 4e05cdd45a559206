/* cascade_cause.h - whose failure a cascade followed: for groups of a scene, and for the flows of a trace. Pure. */
#ifndef SLICEUP_COORDINATOR_SCENE_CASCADE_CAUSE_H
#define SLICEUP_COORDINATOR_SCENE_CASCADE_CAUSE_H

#include "coordinator/scene/scene.h"

/* A host in one attempt of a pass. */
struct pass_host {
    struct text name;
    enum scene_mark mark;
    uint64_t ended_ms; /* struct scene_attempt */
};
/* The host that the cascade's sentence names, if it failed; else the one that failed first, and where none did, that was
 * told to stop first; of two the lower. Index in `hosts`, which stand by rank; n: there is none. */
uint32_t cascade_cause_find (const struct pass_host *hosts, uint32_t n, struct text sentence);

#endif
