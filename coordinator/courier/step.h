/* step.h - the steps of taking a worker to its host, by name. Knows nothing else. Spec: docs/spec/launch.md. */
#ifndef SLICEUP_COORDINATOR_COURIER_STEP_H
#define SLICEUP_COORDINATOR_COURIER_STEP_H

enum step {
    STEP_RESOLVE,
    STEP_CONNECT,
    STEP_HOST_KEY,
    STEP_AUTHENTICATION,
    STEP_ARCHITECTURE,
    STEP_UPLOAD,
    STEP_LIBRARIES,
    STEP_START,
    STEP_JOIN,
    STEPS
};
const char *step_name (enum step step);

#endif
