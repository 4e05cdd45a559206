/* drift_side.h - one side of a comparison: a run's receipt, built from its journal, or a file. */
#ifndef SLICEUP_COORDINATOR_CLI_DRIFT_SIDE_H
#define SLICEUP_COORDINATOR_CLI_DRIFT_SIDE_H

#include "coordinator/cli/cli.h"
#include "coordinator/cli/host_filter.h"
#include "coordinator/receipt/receipt_fold.h"
#include "coordinator/verdict/topology.h"

struct drift_side {
    struct slice_receipt receipt;
    const struct plan *plan;   /* NULL: of a file nobody knows it */
    struct receipt_fold *fold; /* keeps the texts */
    bool file;
    struct text name, slice; /* "run 3f2a91c0", or the path */
};

/* `word`: a path (it has a '/' or ends in .json), or a run as everywhere. Release it also when this failed. */
int drift_side_open (struct drift_side *side, const struct cli *cli, const char *word, struct arena *arena,
                     struct err *err);
void drift_side_release (struct drift_side *side);
int drift_side_keep_chosen_hosts (struct drift_side *side, const struct host_filter *filter, struct arena *arena,
                                  struct err *err);
/* Leaves only hosts that the other has as well. */
void drift_side_keep_common_hosts (struct drift_side *side, const struct drift_side *other, struct arena *arena);
/* Versions that the run's pins promise; false: there are pins, and the file is not at hand as it was. */
bool drift_side_pins (const struct drift_side *side, struct arena *arena, var_list *pins);
/* What the slice's arithmetic says of the hosts' facts; empty without a plan. */
void drift_side_judge_topology (const struct drift_side *side, struct arena *arena, struct topology_findings *out);

#endif
