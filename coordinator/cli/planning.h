/* planning.h - options that choose a plan, and loading it: shared by check and run. */
#ifndef SLICEUP_COORDINATOR_CLI_PLANNING_H
#define SLICEUP_COORDINATOR_CLI_PLANNING_H

#include "common/conf/conf.h"
#include "coordinator/cli/cli.h"
#include "coordinator/story/measure_fold.h"

/* Loads the plan that the slice file (the first operand) and the options that choose one make, into `arena`, and prints
 * every problem. EXIT_HOLDS, or the exit status to leave with. */
int planning_load (struct cli *cli, const struct cli_arguments *arguments, struct arena *arena, struct plan *plan);
/* The same, by the quick ladder (conf_options.quick). */
int planning_load_quick (struct cli *cli, const struct cli_arguments *arguments, struct arena *arena,
                         struct plan *plan);
struct rehearsal_options {
    const char *stand_in;                   /* path of the library in place of libtpu */
    bool all;                               /* also the rungs that cannot be rehearsed */
    const char *wrong[WRONG_VARIABLES_MAX]; /* as in conf_options */
};
/* The same for the rehearsal of a slice on this machine; the file itself is checked first. */
int planning_load_rehearsal (struct cli *cli, const struct cli_arguments *arguments,
                             const struct rehearsal_options *rehearsal, struct arena *arena, struct plan *plan);
/* The plan of `slice` by the same options, for completion: nothing is said, and no host is asked. -1: there is none. */
int planning_load_quietly (const struct cli *cli, const struct cli_arguments *arguments, const char *slice,
                           struct arena *arena, struct plan *plan);
/* The plan of a slice file as it stands: for commands that only ask about it. */
int planning_load_slice_only (struct cli *cli, const char *slice, struct arena *arena, struct plan *plan);
/* The plan of a slice that was made by this program: `text`, which problems call `name`. */
int planning_load_text (struct cli *cli, const char *name, struct text text, struct arena *arena, struct plan *plan);
/* Could others change the cache, as far as this machine shares it? ERR_REFUSED (storage.h). Hosts ask for themselves. */
int planning_check_cache_owners (const struct plan *plan, struct err *err);
/* $HOME, else as the system knows it; NULL: nowhere. */
const char *planning_user_home (void);
void planning_print (const struct plan *plan, FILE *to);

/* ssh_answers.c - conf_options.ssh_answers by OpenSSH's client, and pack_folder by git and tar. */
int planning_pack_folder (const char *folder, struct buf *out, struct err *err);
int planning_ask_ssh (const char *file, const struct ssh_route *routes, uint32_t n, ssh_answer_fn *take, void *owner,
                      struct err *err);

/* ---- check.c: a plan fits into the journal's first fact, and the start of each rung into one message ---- */

int plan_size_check (const struct plan *plan, struct err *err); /* ERR_USAGE, with what takes the room */

/* check.c reads the measures of earlier launches for a plan, and adds a run's. docs/spec/calibration.md. */
/* Sets the launch fingerprint of each rung and, unless `again`, why it is known bad. A history that cannot be read is
 * reported, and stops nothing. */
void launch_measures_annotate_plan (const struct cli *cli, bool again, struct arena *arena, struct plan *plan);
/* Keeps what the launches of a run took, and adds to `card` what became larger or slower with its bundle. That it cannot,
 * or why its facts were not read (`unread`), is said, and changes no run's outcome. */
void launch_measures_keep (const struct cli *cli, const struct measure_fold *fold, const struct err *unread,
                           struct buf *card);

/* The signatures of a plan as a file that its workers can fetch: <home>/signatures/<sha256>. Runs
 * with the same lists share it, and a resumed run finds what it was planned with. Knows no worker. */
/* Writes it, unless it is there, and names it in `plan->signature_table`; texts live in `arena`. A plan without
 * signatures names none. -1: it names none either, and failures are recognised by the coordinator alone. */
int signature_table_write (struct plan *plan, struct arena *arena, struct err *err);

/* ---- origin ---- */

/* Who asks for a run: the user, the machine, the folder and the command line of this process. */

/* Within the bounds of its record: what is no UTF-8 is escaped, and what is longer is cut. Lives in the arena. */
void origin_read (struct arena *arena, struct run_origin *out);

/* ---- init.c: what `sliceup init` is made of: a slice as it is found, and the slice file that is written first ---- */

struct first_host {
    struct text name, address, ssh_address, host_key_alias; /* the last two may be empty */
};

struct first_slice {
    struct text name, user, ladder, set, recipe; /* host set; the recipe's own lines; all but the name may be empty */
    struct slice_shape shape;
    struct first_host *hosts; /* of a TPU VM: shape.hosts of them, worker n is hosts[n]. With no set either: by Slurm */
    struct text gcloud, id;   /* the node and the options by which gcloud finds it; digits, or empty */
    struct machine_type machine; /* without an id: not known */
};

/* tpu_node.c - what `gcloud compute tpus tpu-vm describe --format=json` prints: a node of the TPU API v2, whose workers
 * gcloud's tpu_vm/ssh.py finds in this way. Nothing in it is trusted. What the user should know is added to `notes`, a
 * line each; texts live in `arena`. */
/* Hosts are called <name>-<n>, after the node if slice->name is empty. `external`: ssh goes to external addresses.
 * ERR_STATE: no host can be reached now; ERR_USAGE: this is no single node; ERR_PARSE. */
int tpu_node_read (struct text json, bool external, struct arena *arena, struct first_slice *slice, struct buf *notes,
                   struct err *err);
/* Names the keys of the hosts as gcloud does, whose known-hosts file this is. */
void tpu_node_find_aliases (struct text known_hosts, struct arena *arena, struct first_slice *slice, struct buf *notes);

/* init.c - the slice file. Every text was checked, and none holds a quote. */
#define GCLOUD_KNOWN_HOSTS ".ssh/google_compute_known_hosts" /* below the user's home */
void first_slice_write (const struct first_slice *slice, struct buf *out);

#endif
