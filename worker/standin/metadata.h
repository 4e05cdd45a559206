/* metadata.h - asks a TPU VM's metadata server for one attribute, over plain HTTP.
 *
 * The server is at GCE_METADATA_IP ("host" or "host:port", as jax reads it: jax-ml/jax:jax/_src/clusters/cloud_tpu_cluster.py)
 * or at 169.254.169.254. One question has METADATA_DEADLINE_MS. An attribute lives until the process ends, a value until 16 others were asked for. */
#ifndef SLICEUP_WORKER_STANDIN_METADATA_H
#define SLICEUP_WORKER_STANDIN_METADATA_H

enum { METADATA_DEADLINE_MS = 5000, METADATA_MAX_BYTES = 64 << 10 };

/* The whole attribute; with `key` the value of that key in it, a line "KEY: 'value'". NULL: not there. An attribute is
 * asked for once. */
const char *metadata_get (const char *attribute, const char *key);
/* Pure: the value of `key` in a text of such lines, into `value`; false: not there, or too long. */
int metadata_find_key (const char *lines, const char *key, char *value, unsigned size);

#endif
