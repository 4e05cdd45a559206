/* known_launches.h - reads the measures of earlier launches for a plan, and adds those of a run.
 * docs/spec/calibration.md. */
#ifndef SLICEUP_COORDINATOR_CLI_KNOWN_LAUNCHES_H
#define SLICEUP_COORDINATOR_CLI_KNOWN_LAUNCHES_H

#include "common/model/plan.h"
#include "coordinator/cli/cli.h"
#include "coordinator/home/run_dir.h"

/* Sets the launch fingerprint of each rung and, unless `again`, why it is known bad. A history that cannot be read is
 * reported, and stops nothing. */
void known_launches_annotate_plan (const struct cli *cli, bool again, struct arena *arena, struct plan *plan);
/* Keeps what the launches of a run took. That it cannot is said, and changes no run's outcome. */
void known_launches_keep (const struct cli *cli, const struct run_dir *dir);

#endif
