/* drift_pins.h - the versions that a pin set promises, to hold what was observed against. Pure. */
#ifndef SLICEUP_COORDINATOR_RECEIPT_DRIFT_PINS_H
#define SLICEUP_COORDINATOR_RECEIPT_DRIFT_PINS_H

#include "common/model/plan.h"

/* The "name==version" lines of a requirements file whose sha256 was checked, so that they are the ones which the hosts
 * verified; everything else is passed over. Names in normal form (PEP 503), in `arena`. */
void drift_pins_read (struct text requirements, struct arena *arena, var_list *pins);

#endif
