/* scene_json.h - a scene as JSON: what the page draws, live or from a report. docs/spec/web.md describes each member.
 *
 * Of a scene of all hosts by rank (no filter, SCENE_BY_RANK). Same scene, same bytes. How hosts stand is a letter each,
 * tables are columns, texts are cut, and of groups, metrics, gates and notes there are so many at most; older notes are
 * counted as skipped. So of 4,096 hosts by 12 rungs, gzipped, it is at most 64 KiB, what changed with one rung 32, and an
 * ordinary one 16. Pure. No errors. */
#ifndef SLICEUP_COORDINATOR_PICTURE_SCENE_JSON_H
#define SLICEUP_COORDINATOR_PICTURE_SCENE_JSON_H

#include "coordinator/picture/scene.h"

/* `since` 0: all of it; else what changed after that revision. `boot` names the process that counts revisions; ""
 * in a file. `interrupted`: the run has not ended, and no coordinator holds it. Appends one line. */
void scene_state_json (const struct scene *scene, const char *boot, bool interrupted, uint64_t since, struct buf *out);
/* Which hosts the query of the scene takes. */
void scene_within_json (const struct scene *scene, const char *boot, struct buf *out);
/* One host with its facts, attempts and spans: scene->host, or what scene_open_host made. */
void scene_host_json (const struct scene *scene, const struct scene_host *host, const char *boot, struct buf *out);

#endif
