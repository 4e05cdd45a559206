/* hosts.h - which hosts a command is about: its options, groups, and files of host sets. */
#ifndef SLICEUP_COORDINATOR_CLI_HOSTS_H
#define SLICEUP_COORDINATOR_CLI_HOSTS_H

#include "common/model/plan.h"
#include "coordinator/cli/arguments.h"
#include "coordinator/story/host_history.h"

enum { HOST_INPUT_MAX_BYTES = 16 << 20 };

/* All of a file, or of standard input for "-", appended to `out`, whose bound holds. */
int host_input_read (const char *path, struct buf *out, struct err *err);

/* The hosts that this machine's job has. Words: "slurm" (SLURM_JOB_NODELIST, else SLURM_NODELIST), "tpu"
 * (TPU_WORKER_HOSTNAMES, else the metadata server at GCE_METADATA_HOST or its usual address), "env" (the first of these
 * variables that is set; asks no server). ERR_USAGE for an unknown word, ERR_STATE if nothing is set. */
enum { HOST_SOURCE_MAX_BYTES = 256 << 10 };
int host_source_read (const char *word, struct buf *expression, struct err *err);

/* ---- host_history.c: how hosts fared in the runs of this home ---- */

/* At the end of a run; `out` gets them, in `arena`. That it is not remembered is said, and changes no run's outcome. */
void host_history_keep (const struct cli *cli, const struct slice_receipt *receipt, struct arena *arena,
                        struct run_hosts *out);
/* conf_options.suspects */
int host_history_suspects (const char *home, struct buf *expression, struct err *err);
/* Prints it of `set`; NULL: of all that are known. Returns the exit status. */
int host_history_show (struct cli *cli, const struct name_list *set, bool json);

/* Groups that "@name" stands for, and what "@*" does; both may lack. For hostset_group_lookup. */
struct host_groups {
    const var_list *named;
    struct text everything;
};
bool host_groups_find (const void *owner, struct text name, struct text *expression);

/* ---- --hosts and --exclude: which hosts of a run a command is about ---- */

struct host_filter {
    const char *hosts, *exclude;
}; /* as given; NULL: all of them, none of them */

struct host_filter host_filter_of (const struct cli_arguments *arguments);
bool host_filter_is_default (const struct host_filter *filter);
/* chosen[i]: is `all[i]` meant? That none is, is an error, and so is a set that cannot be read. `plan` has the groups
 * that "@name" stands for; NULL: nobody knows them. */
int host_filter_resolve (const struct host_filter *filter, const struct name_list *all, const struct plan *plan,
                         bool *chosen, struct err *err);
/* The hosts of the plan that are meant, by rank. Stricter: a name that is none of them is a mistake (`excluded`: also
 * there), because it would be waited for. USER@ before a name is its user in the plan. */
struct host_choice {
    uint32_t *ranks, n;
    struct text *names;
};
int host_filter_choose (const struct host_filter *filter, bool excluded, struct plan *plan, struct arena *arena,
                        struct host_choice *out, struct err *err);

#endif
