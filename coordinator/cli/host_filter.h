/* host_filter.h - --hosts and --exclude: which hosts of a run a command is about. */
#ifndef SLICEUP_COORDINATOR_CLI_HOST_FILTER_H
#define SLICEUP_COORDINATOR_CLI_HOST_FILTER_H

#include "common/model/hostset.h"

struct host_filter {
    const char *hosts, *exclude;
}; /* as given; NULL: all of them, none of them */

#define HOST_CHOICE_USAGE "[--hosts SET] [--exclude SET]"
#define HOST_CHOICE_HELP                                                                                               \
    "  --hosts SET    only these hosts, e.g. v6e-[0-3,7] (sliceup hosts --help; also --host)\n"                        \
    "  --exclude SET  without these\n"

bool host_filter_is_default (const struct host_filter *filter);
/* "--hosts VALUE", "--exclude=VALUE" at argv[*i]; see cli_read_option. */
bool host_filter_read_option (struct host_filter *filter, int argc, char **argv, int *i);
/* chosen[i]: is `all[i]` meant? That none is, is an error, and so is a set that cannot be read. */
int host_filter_resolve (const struct host_filter *filter, const struct name_list *all, bool *chosen, struct err *err);

#endif
