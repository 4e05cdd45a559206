#include "coordinator/courier/step.h"

#include <assert.h>

static const char *const names[STEPS] = { [STEP_RESOLVE] = "resolve",
                                          [STEP_CONNECT] = "connect",
                                          [STEP_HOST_KEY] = "host-key",
                                          [STEP_AUTHENTICATION] = "authentication",
                                          [STEP_ARCHITECTURE] = "architecture",
                                          [STEP_UPLOAD] = "upload",
                                          [STEP_LIBRARIES] = "libraries",
                                          [STEP_START] = "start",
                                          [STEP_JOIN] = "join" };

const char *step_name (enum step step)
{
    assert (step < STEPS);
    return names[step];
}
