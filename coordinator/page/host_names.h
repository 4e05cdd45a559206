/* host_names.h - the names of a scene's hosts, by rank, as runs: [prefix, first and last number, digits to pad to, suffix].
 * docs/spec/web.md. Pure. No errors. */
#ifndef SLICEUP_COORDINATOR_PAGE_HOST_NAMES_H
#define SLICEUP_COORDINATOR_PAGE_HOST_NAMES_H

#include "coordinator/scene/scene.h"
#include "coordinator/view/record_json.h"

json_t *host_names_json (const struct scene *scene);

#endif
