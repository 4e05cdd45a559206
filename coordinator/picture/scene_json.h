/* scene_json.h - a scene as JSON: what the page draws, live or from a report. docs/spec/web.md describes each member.
 *
 * For a scene of all hosts by rank (no filter, SCENE_BY_RANK). Same scene, same bytes. A mark is one letter, tables are
 * columns, texts are cut, and groups, metrics, gates and notes are limited; older notes are counted as skipped. So with
 * 4,096 hosts and 12 rungs it is at most 64 KiB gzipped, the changes of one rung 32 KiB, and an ordinary scene 16 KiB.
 * Pure. No errors. */
#ifndef SLICEUP_COORDINATOR_PICTURE_SCENE_JSON_H
#define SLICEUP_COORDINATOR_PICTURE_SCENE_JSON_H

#include "coordinator/picture/scene.h"

/* `since` 0: the whole scene; else changes after that revision. `boot` names the process that counts revisions; "" in a
 * file. `interrupted`: the run has not ended, and no coordinator holds it. Appends one line. */
void scene_state_json (const struct scene *scene, const char *boot, bool interrupted, uint64_t since, struct buf *out);
/* Lists the hosts of the scene's query. */
void scene_within_json (const struct scene *scene, const char *boot, struct buf *out);
/* How long each host was in each pass and phase, the last that ended, and numbers that hosts told. */
void scene_numbers_json (const struct scene *scene, struct buf *out);
/* One host with its facts, attempts and spans: scene->host, or one made by scene_open_host. */
void scene_host_json (const struct scene *scene, const struct scene_host *host, const char *boot, struct buf *out);

/* ---- the page's files, as bytes of the program. Pure; any thread ---- */

/* "page.html", "page.css" or "page.js"; empty: no file has that name. UTF-8; lives as long as the program. */
struct text page_file (const char *name);

/* embed.cmake writes the table at build. */
struct embedded_file {
    const char *name;
    const uint8_t *bytes;
    uint32_t n;
};
extern const struct embedded_file embedded_files[]; /* ends with a name of NULL */

#endif
