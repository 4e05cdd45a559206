/* host_filter.h - --hosts and --exclude: which hosts of a run a command is about. */
#ifndef SLICEUP_COORDINATOR_CLI_HOST_FILTER_H
#define SLICEUP_COORDINATOR_CLI_HOST_FILTER_H

#include "common/model/plan.h"
#include "coordinator/cli/arguments.h"

struct host_filter {
    const char *hosts, *exclude;
}; /* as given; NULL: all of them, none of them */

struct host_filter host_filter_of (const struct cli_arguments *arguments);
bool host_filter_is_default (const struct host_filter *filter);
/* chosen[i]: is `all[i]` meant? That none is, is an error, and so is a set that cannot be read. `plan` has the groups
 * that "@name" stands for; NULL: nobody knows them. */
int host_filter_resolve (const struct host_filter *filter, const struct name_list *all, const struct plan *plan,
                         bool *chosen, struct err *err);

#endif
