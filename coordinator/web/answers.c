#include "coordinator/web/server.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/io/atomic_file.h"
#include "common/io/clock.h"
#include "coordinator/picture/metrics.h"
#include "coordinator/picture/page_file.h"
#include "coordinator/picture/scene.h"
#include "coordinator/picture/scene_json.h"
#include "coordinator/view/record_json.h"
#include "coordinator/view/status.h"

enum { OK = 200, NOT_FOUND = 404, TOO_LARGE = 500, NOT_YET = 503 };
enum { JSON_MAX_BYTES = 4 << 20, DRIFT_MAX_BYTES = 8 << 20, BOOT_BYTES = 24, WRITING_MS = 60 * 1000 };
#define JSON_TYPE "application/json"

struct http_answer *answer_refusal (unsigned status, const char *why)
{
    struct buf line;
    buf_init (&line, 16 * ERR_TEXT_BYTES);
    buf_escaped (&line, text_of (why), 0);
    buf_byte (&line, '\n');
    struct http_answer *answer = http_answer_bytes (status, "text/plain; charset=utf-8", buf_as_text (&line));
    buf_release (&line);
    if (status == 503)
        http_answer_add_header (answer, "Retry-After", "1");
    if (status == 401)
        http_answer_add_header (answer, "WWW-Authenticate", "Bearer");
    return answer;
}

struct http_answer *answer_page_file (const char *path)
{
    static const char *const files[][3] = { { "/", "page.html", "text/html; charset=utf-8" },
                                            { "/page.js", "page.js", "text/javascript; charset=utf-8" },
                                            { "/page.css", "page.css", "text/css; charset=utf-8" } };
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        if (strcmp (path, files[i][0]) == 0)
            return http_answer_fixed (OK, files[i][2], page_file (files[i][1]));
    return answer_refusal (NOT_FOUND, "there is no such page");
}

/* Releases `json`. */
static struct http_answer *answer_json (struct buf *json)
{
    struct http_answer *answer = json->overflow ? answer_refusal (TOO_LARGE, "the answer would be larger than 4 MiB")
                                                : http_answer_bytes (OK, JSON_TYPE, buf_as_text (json));
    buf_release (json);
    return answer;
}

struct http_answer *answer_runs (struct served_runs *runs, uint64_t boot_ms)
{
    struct buf json;
    buf_init (&json, JSON_MAX_BYTES);
    json_print_release (served_runs_json (runs, boot_ms), JSON_COMPACT, &json);
    return answer_json (&json);
}

/* `name`: of the counter of revisions: this process, and the feed. */
struct http_answer *answer_scene (const struct served_run *run, const char *boot, const struct web_request *request,
                                  uint64_t boot_ms)
{
    int opened = plan_host_rank (&feed_board (run->feed)->plan, text_of (request->host));
    struct arena arena = { 0 };
    struct scene_query query;
    struct scene scene;
    struct buf json;
    char name[BOOT_BYTES];
    if (request->route == ROUTE_HOST && opened < 0)
        return answer_refusal (NOT_FOUND, "the run has no such host");
    scene_query_init (&query);
    query.opened = opened < 0 ? SCENE_NOBODY : (uint32_t) opened;
    query.since = request->since;
    query.from_ms = request->from_ms;
    query.until_ms = request->until_ms;
    scene_make (run->feed, &query, boot_ms, &arena, &scene);
    snprintf (name, sizeof name, "%s-%u", boot, run->feeds_n);
    buf_init (&json, JSON_MAX_BYTES);
    if (request->route == ROUTE_HOST)
        scene_host_json (&scene, scene.host, name, &json);
    else if (request->route == ROUTE_WITHIN)
        scene_within_json (&scene, name, &json);
    else
        scene_state_json (&scene, name, run->state == SERVED_INTERRUPTED, request->since, &json);
    arena_release (&arena);
    return answer_json (&json);
}

struct http_answer *answer_stacks (const struct served_run *run, uint64_t boot_ms)
{
    struct buf json;
    buf_init (&json, JSON_MAX_BYTES);
    stacks_json (feed_board (run->feed), feed_now_ms (run->feed, boot_ms), ANSWER_STACKS, &json);
    return answer_json (&json);
}

/* ---- files of the run ---- */

/* A coordinator may still write for this long after its run. By the wall clock, since only words depend on it. */
static bool is_written (const struct served_run *run)
{
    return clock_wall_ms () >= run->ended_wall_ms + WRITING_MS;
}

struct http_answer *answer_file (const struct served_run *run, const struct web_request *request)
{
    static const struct kept {
        const char *file, *type, *ending;
    } receipts[] = { [FORM_JSON] = { RUN_FILE_RECEIPT, JSON_TYPE, "json" },
                     [FORM_MARKDOWN] = { RUN_FILE_MARKDOWN, "text/markdown; charset=utf-8", "md" },
                     [FORM_JUNIT] = { RUN_FILE_JUNIT, "application/xml", "junit.xml" },
                     [FORM_TRACE] = { RUN_FILE_TRACE, "application/json", "perfetto.json" } },
      drift = { RUN_FILE_DRIFT, JSON_TYPE, "" };
    const struct kept *kept = request->route == ROUTE_DRIFT ? &drift : &receipts[request->form];
    char path[RUN_PATH_BYTES], name[96];
    int fd = plain_file_open (run_dir_path (&run->dir, kept->file, path), O_RDONLY, NULL);
    if (fd < 0 && run->state == SERVED_ENDED && !is_written (run))
        return answer_refusal (NOT_YET, "the run has ended, and this is not written yet: ask again");
    if (fd < 0)
        return answer_refusal (NOT_FOUND,
                               "a coordinator writes this file at the end of its run; until then, or if it could not, "
                               "use the commands receipt, drift and report of sliceup");
    struct http_answer *answer = http_answer_file (OK, kept->type, fd);
    snprintf (name, sizeof name, "attachment; filename=\"sliceup-%.8s.%s\"", run->dir.id, kept->ending);
    if (request->route == ROUTE_RECEIPT)
        http_answer_add_header (answer, "Content-Disposition", name);
    return answer;
}

/* ---- metrics ---- */

/* Reads the counts of `drift.json`. Without the pin file's versions some differences may be missing. */
static void read_drift (struct served_run *run)
{
    char path[RUN_PATH_BYTES];
    struct buf bytes;
    buf_init (&bytes, DRIFT_MAX_BYTES);
    int rc = file_read (run_dir_path (&run->dir, RUN_FILE_DRIFT, path), &bytes, NULL);
    run->drift_read = rc == 0 || is_written (run);
    json_t *json = rc == 0 ? json_loadb ((const char *) bytes.ptr, bytes.len, 0, NULL) : NULL;
    const json_t *counts = json_object_get (json, "counts");
    run->drift_known = counts && !json_is_true (json_object_get (json, "pins_missing"));
    run->drift = (uint32_t) (json_integer_value (json_object_get (counts, "findings")) +
                             json_integer_value (json_object_get (counts, "left_out")));
    json_decref (json);
    buf_release (&bytes);
}

struct http_answer *answer_metrics (struct served_run *run, uint64_t boot_ms, uint64_t wall_ms)
{
    struct buf text;
    if (run->state == SERVED_ENDED && !run->drift_read)
        read_drift (run);
    const struct metrics_beside beside = { .form = METRICS_OPENMETRICS,
                                           .boot_ms = boot_ms,
                                           .wall_ms = wall_ms,
                                           .interrupted = run->state == SERVED_INTERRUPTED,
                                           .drift_known = run->drift_known,
                                           .drift = run->drift };
    buf_init (&text, METRICS_MAX_BYTES);
    metrics_print_run (run->feed, &beside, &text);
    struct http_answer *answer = http_answer_bytes (OK, METRICS_CONTENT_TYPE, buf_as_text (&text));
    buf_release (&text);
    return answer;
}

/* ---- logs ---- */

/* The file of an attempt below the run's folder: by the plan's own names, never by those of a request. -1: none. */
static int answers_open_log (const struct served_run *run, const struct web_request *request)
{
    const struct plan *plan = &feed_board (run->feed)->plan;
    int host = plan_host_rank (plan, text_of (request->host)), rung = plan_rung_index (plan, text_of (request->rung));
    char path[RUN_PATH_BYTES];
    if (host < 0 || rung < 0 || !run_dir_names_path_safe (plan))
        return -1;
    const struct attempt_key key = { (uint32_t) rung, request->pass, (uint32_t) request->attempt };
    return plain_file_open (run_dir_log_path (&run->dir, plan, (uint32_t) host, &key, path), O_RDONLY, NULL);
}

struct http_answer *answer_log (const struct served_run *run, const struct web_request *request)
{
    static char piece[ANSWER_LOG_BYTES];
    char next[24];
    int fd = answers_open_log (run, request);
    if (fd < 0)
        return answer_refusal (NOT_FOUND, "nothing was printed there yet, or there is no such host, rung or attempt");
    off_t end = lseek (fd, 0, SEEK_END), last = end > ANSWER_LOG_BYTES ? end - ANSWER_LOG_BYTES : 0;
    off_t from = request->from >= 0 ? (off_t) request->from : last;
    ssize_t n = from < end ? pread (fd, piece, sizeof piece, from) : 0; /* behind its end: nothing yet */
    close (fd);
    if (n < 0)
        return answer_refusal (TOO_LARGE, "the log cannot be read");
    struct http_answer *answer = http_answer_bytes (OK, "application/octet-stream",
                                                    (struct text){ piece, (uint32_t) n });
    snprintf (next, sizeof next, "%" PRId64, (int64_t) from + n);
    http_answer_add_header (answer, "X-Sliceup-Next", next);
    return answer;
}
