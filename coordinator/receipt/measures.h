/* measures.h - the run's facts -> what its launches really took: memory, time and outcome, one measure for each launch
 * and pass that ended. A fold like every view. docs/spec/calibration.md. */
#ifndef SLICEUP_COORDINATOR_RECEIPT_MEASURES_H
#define SLICEUP_COORDINATOR_RECEIPT_MEASURES_H

#include "common/model/fact.h"
#include "coordinator/receipt/measure.h"

struct measures;
struct measures *measures_create (void);
void measures_destroy (struct measures *measures);
void measures_apply (struct measures *measures, const struct fact *fact);
/* Those of the facts applied; they live as long as the fold. */
struct measure_list measures_take (const struct measures *measures);

#endif
