/* tpu_logs.h - names the newest files of libtpu's own log folder.
 *
 * Their contents are not read. One thread. Source: docs.cloud.google.com/tpu/docs/performance-guide (/tmp/tpu_logs). */
#ifndef SLICEUP_WORKER_FACTS_TPU_LOGS_H
#define SLICEUP_WORKER_FACTS_TPU_LOGS_H

#include "worker/facts/host_fact_list.h"

/* One sentence with names, sizes and ages, the newest first; empty: there is no such folder, or nothing in it. */
struct text tpu_logs_newest (struct host_fact_list *list, uint64_t now_wall_ms);

#endif
