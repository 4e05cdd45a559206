/* metadata.h - what the metadata server of a Google virtual machine tells about this host and its slice.
 *
 * The questions are sent at once; the caller waits for the answers at the end, within a bound. A server that is not
 * there is an answer, not an error. Values are bounded and otherwise unchanged: the code that shows them cleans them.
 * It knows nothing of facts. One thread. Sources: docs.cloud.google.com/tpu/docs,
 * jax-ml/jax:jax/_src/clusters/cloud_tpu_cluster.py, cloud.google.com/compute/docs/metadata. */
#ifndef SLICEUP_WORKER_FACTS_METADATA_H
#define SLICEUP_WORKER_FACTS_METADATA_H

#include "common/base/text.h"
#include <stdbool.h>

enum { METADATA_WAIT_MS = 100, METADATA_LEAST_WAIT_MS = 50, METADATA_MOST_WAIT_MS = 10000 };

enum metadata_key {
    METADATA_ACCELERATOR_TYPE,
    METADATA_WORKER_NUMBER,
    METADATA_ENDPOINTS,
    METADATA_TPU_ENV,
    METADATA_MAINTENANCE,
    METADATA_IMAGE,
    METADATA_MACHINE_TYPE,
    METADATA_ZONE,
    METADATA_INSTANCE,
    METADATA_PREEMPTIBLE,
    METADATA_KEYS
};

struct metadata;
/* `google`: this is such a machine. Never NULL: it may have been decided not to ask. */
struct metadata *metadata_ask (bool google);
void metadata_poll (struct metadata *metadata);
void metadata_wait (struct metadata *metadata); /* METADATA_WAIT_MS from the asking on, LEAST_WAIT from now on */
const char *metadata_state (const struct metadata *metadata); /* docs/spec/facts.md, metadata.state */
/* The answer as it came, blanks at its ends gone; empty: there is none. Lives as long as `metadata`. */
struct text metadata_value (const struct metadata *metadata, enum metadata_key key);
bool metadata_is_late (const struct metadata *metadata, enum metadata_key key); /* asked, and not answered in time */
void metadata_release (struct metadata *metadata);

#endif
