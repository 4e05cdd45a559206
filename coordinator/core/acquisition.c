#include "coordinator/core/acquisition.h"

#include <stddef.h>

static const struct {
    enum acquisition from;
    enum acquisition_event event;
    enum acquisition to;
} moves[] = { { ACQUISITION_UNKNOWN, ACQUISITION_FIND, ACQUISITION_FINDING },
              { ACQUISITION_FINDING, ACQUISITION_ANSWER, ACQUISITION_FOUND },
              { ACQUISITION_FINDING, ACQUISITION_FAIL, ACQUISITION_GIVEN_UP },
              { ACQUISITION_FOUND, ACQUISITION_AUDIT, ACQUISITION_AUDITING },
              { ACQUISITION_AUDITING, ACQUISITION_AUDITED, ACQUISITION_READY },
              { ACQUISITION_READY, ACQUISITION_USED, ACQUISITION_FOUND },
              { ACQUISITION_READY, ACQUISITION_ASK, ACQUISITION_ASKING },
              { ACQUISITION_READY, ACQUISITION_FAIL, ACQUISITION_READY },
              { ACQUISITION_ASKING, ACQUISITION_GRANTED, ACQUISITION_READY },
              { ACQUISITION_ASKING, ACQUISITION_TAKEN, ACQUISITION_OWNED },
              { ACQUISITION_ASKING, ACQUISITION_FAIL, ACQUISITION_READY },
              { ACQUISITION_OWNED, ACQUISITION_LOOK, ACQUISITION_LOOKING },
              { ACQUISITION_OWNED, ACQUISITION_FAIL, ACQUISITION_READY },
              { ACQUISITION_LOOKING, ACQUISITION_ANSWER, ACQUISITION_FOUND },
              { ACQUISITION_LOOKING, ACQUISITION_NOTHING_NEW, ACQUISITION_READY },
              { ACQUISITION_LOOKING, ACQUISITION_FAIL, ACQUISITION_READY } };

bool acquisition_next (enum acquisition from, enum acquisition_event event, enum acquisition *to)
{
    for (size_t i = 0; i < sizeof moves / sizeof moves[0]; i++)
        if (moves[i].from == from && moves[i].event == event) {
            *to = moves[i].to;
            return true;
        }
    return false;
}
