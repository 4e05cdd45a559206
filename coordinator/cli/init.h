/* init.h - what `sliceup init` is made of: a slice as it is found, and the slice file that is written first. */
#ifndef SLICEUP_COORDINATOR_CLI_INIT_H
#define SLICEUP_COORDINATOR_CLI_INIT_H

#include "common/conf/conf.h"

struct first_host {
    struct text name, address, ssh_address, host_key_alias; /* the last two may be empty */
};

struct first_slice {
    struct text name, user, ladder, set; /* host set; all but the name may be empty */
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
