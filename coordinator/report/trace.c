#include "coordinator/report/report.h"

#include <inttypes.h>
#include <stdlib.h>

#include "coordinator/view/record_json.h"

/* Of the trace, numbered by us; 0 is the idle process of a kernel. A host has two threads: what it did, and its phases.
 */
enum { PROCESS_OF_RUN = 1, PROCESSES_OF_AXIS };
enum { THREAD_OF_RUN = 1, THREADS_OF_HOSTS };
enum { US_IN_MS = 1000, CAUSE_COLUMNS = 400 };

struct track {
    uint32_t process, thread;
};
struct tracing {
    const struct report *report;
    const struct mesh *mesh;
    bool all; /* each host has a place of its own on the first axis of the mesh */
    struct report_attempts attempts;
    struct buf *out;
    struct buf more; /* the members that the next event has beside those of all */
    bool some;       /* events are written */
    struct arena arena;
};

/* ---- tracks ---- */

/* Where the host's first device lies on the first axis of the mesh; 0 without a mesh. */
static uint32_t place_on_axis (const struct mesh *mesh, uint32_t hosts_n, uint32_t rank)
{
    uint32_t at[MESH_AXES_MAX] = { 0 }, devices = mesh_devices (mesh);
    if (devices && hosts_n)
        mesh_coordinates (mesh, (uint32_t) ((uint64_t) rank * devices / hosts_n), at);
    return at[0];
}

static uint32_t trace_place (const struct tracing *tracing, uint32_t host)
{
    return tracing->all ? 0 : place_on_axis (tracing->mesh, tracing->report->scene->hosts_n, host);
}

static struct track track_of (const struct tracing *tracing, uint32_t host, bool phases)
{
    if (host == SCENE_NOBODY)
        return (struct track){ PROCESS_OF_RUN, THREAD_OF_RUN };
    uint32_t process = tracing->mesh->n ? PROCESSES_OF_AXIS + trace_place (tracing, host) : PROCESS_OF_RUN;
    return (struct track){ process, THREADS_OF_HOSTS + 2 * host + phases };
}

/* ---- events: https://github.com/google/trace-viewer, "Trace Event Format" ---- */

static void add_more (struct tracing *tracing, const char *name, struct text value)
{
    buf_puts (&tracing->more, name);
    json_put_text (value, &tracing->more);
}

static void add_event (struct tracing *tracing, const char *type, struct track track, uint64_t at_ms, struct text name)
{
    buf_printf (tracing->out,
                "%s{\"ph\":\"%s\",\"pid\":%u,\"tid\":%u,\"ts\":%" PRIu64 ",\"name\":", tracing->some ? "," : "", type,
                track.process, track.thread, at_ms * US_IN_MS);
    json_put_text (name.len ? name : TEXT_LIT ("?"), tracing->out);
    buf_add_text (tracing->out, buf_as_text (&tracing->more));
    buf_puts (tracing->out, "}\n");
    buf_drain (tracing->out);
    buf_clear (&tracing->more);
    tracing->some = true;
}

static void name_track (struct tracing *tracing, const char *name_event, const char *order_event, struct track track,
                        struct text name, uint32_t order)
{
    add_more (tracing, ",\"args\":{\"name\":", name);
    buf_puts (&tracing->more, "}");
    add_event (tracing, "M", track, 0, text_of (name_event));
    buf_printf (&tracing->more, ",\"args\":{\"sort_index\":%u}", order);
    add_event (tracing, "M", track, 0, text_of (order_event));
}

static void name_process (struct tracing *tracing, uint32_t process, struct text name)
{
    name_track (tracing, "process_name", "process_sort_index", (struct track){ process, THREAD_OF_RUN }, name, process);
}

static void name_thread (struct tracing *tracing, struct track track, struct text name)
{
    name_track (tracing, "thread_name", "thread_sort_index", track, name, track.thread);
}

/* "data=1"; "data" where each host has a place of its own on that axis. */
static void name_axis (struct tracing *tracing, uint32_t place)
{
    struct text axis = scene_text (&tracing->arena, tracing->mesh->items[0].axis, SCENE_WORD_COLUMNS);
    name_process (tracing, PROCESSES_OF_AXIS + place,
                  tracing->all ? axis : text_format (&tracing->arena, "%.*s=%u", TEXT_ARG (axis), place));
}

/* Hosts are in rank order, and so are their places on the first axis. */
static void add_host_tracks (struct tracing *tracing)
{
    uint32_t place = UINT32_MAX;
    for (uint32_t i = 0; i < tracing->report->scene->hosts_n; i++) {
        struct text name = tracing->report->hosts[i].name;
        if (tracing->mesh->n && trace_place (tracing, i) != place)
            name_axis (tracing, place = trace_place (tracing, i));
        name_thread (tracing, track_of (tracing, i, false), name);
        name_thread (tracing, track_of (tracing, i, true),
                     text_format (&tracing->arena, "%.*s phases", TEXT_ARG (name)));
    }
}

static void add_tracks (struct tracing *tracing)
{
    const struct board *board = tracing->report->scene->board;
    struct text slice = scene_text (&tracing->arena, board->plan.slice, SCENE_WORD_COLUMNS),
                ladder = scene_text (&tracing->arena, board->plan.ladder, SCENE_WORD_COLUMNS);
    const char *state = board->ended ? enum_name_of (&outcome_names, board->outcome) : "not ended";
    name_process (tracing, PROCESS_OF_RUN,
                  text_format (&tracing->arena, "%.*s/%.*s, run %.*s: %s", TEXT_ARG (slice), TEXT_ARG (ladder),
                               TEXT_ARG (board->run), state));
    name_thread (tracing, track_of (tracing, SCENE_NOBODY, false), TEXT_LIT ("run"));
    add_host_tracks (tracing);
    arena_reset (&tracing->arena);
}

/* ---- slices ---- */

static struct text trace_rung_id (struct tracing *tracing, uint32_t rung)
{
    return scene_text (&tracing->arena, board_rung_id (tracing->report->scene->board, rung), SCENE_WORD_COLUMNS);
}

/* "dense restored, attempt 2" */
static struct text attempt_name (struct tracing *tracing, const struct scene_attempt *attempt)
{
    struct text rung = trace_rung_id (tracing, attempt->key.rung);
    const char *pass = attempt->key.pass == PASS_ONCE ? "" : enum_name_of (&pass_names, attempt->key.pass);
    struct text name = text_format (&tracing->arena, "%.*s%s%s", TEXT_ARG (rung), *pass ? " " : "", pass);
    if (attempt->key.attempt > 1)
        name = text_format (&tracing->arena, "%.*s, attempt %u", TEXT_ARG (name), attempt->key.attempt);
    if (attempt->purpose == PURPOSE_ISOLATION)
        name = text_format (&tracing->arena, "%.*s, a part", TEXT_ARG (name));
    return name;
}

/* How long it took, and which attempt it is, for queries over slices; open, for more of `args`. */
static void begin_slice (struct tracing *tracing, uint64_t ms, const struct report_attempt *attempt)
{
    buf_printf (&tracing->more, ",\"dur\":%" PRIu64, ms * US_IN_MS);
    add_more (tracing, ",\"args\":{\"rung\":", trace_rung_id (tracing, attempt->of->key.rung));
    buf_printf (&tracing->more, ",\"pass\":\"%s\",\"attempt\":%u", enum_name_of (&pass_names, attempt->of->key.pass),
                attempt->of->key.attempt);
}

static void end_slice (struct tracing *tracing, struct track track, uint64_t at_ms, struct text name)
{
    buf_puts (&tracing->more, "}");
    add_event (tracing, "X", track, at_ms, name);
}

static void set_cause (struct tracing *tracing, const struct report_attempt *attempt)
{
    if (!attempt->receipt || !attempt->receipt->cause.text.len)
        return;
    add_more (tracing, ",\"owner\":", text_of (enum_name_of (&owner_names, attempt->receipt->cause.owner)));
    add_more (tracing, ",\"cause\":", scene_text (&tracing->arena, attempt->receipt->cause.text, CAUSE_COLUMNS));
}

static void set_host (struct tracing *tracing, const char *name, uint32_t host)
{
    if (host < tracing->report->scene->hosts_n)
        add_more (tracing, name, tracing->report->hosts[host].name);
}

static void add_phases (struct tracing *tracing, const struct report_attempt *attempt)
{
    uint64_t at_ms = attempt->phases_ms;
    for (uint32_t i = 0; i < attempt->of->spans_n; i++) {
        const struct scene_span *span = &attempt->of->spans[i];
        uint64_t spent_ms = report_phase_ms (attempt, i);
        begin_slice (tracing, spent_ms, attempt);
        if (span->gate)
            set_host (tracing, ",\"last\":", span->awaited);
        end_slice (tracing, track_of (tracing, attempt->host, true), at_ms, span->name);
        at_ms += spent_ms;
    }
}

static void trace_add_attempt (struct tracing *tracing, const struct report_attempt *attempt)
{
    begin_slice (tracing, attempt->ended_ms - attempt->began_ms, attempt);
    buf_printf (&tracing->more, ",\"purpose\":\"%s\",\"outcome\":\"%s\"",
                enum_name_of (&purpose_names, attempt->of->purpose), scene_mark_word (attempt->of->mark));
    set_cause (tracing, attempt);
    end_slice (tracing, track_of (tracing, attempt->host, false), attempt->began_ms,
               attempt_name (tracing, attempt->of));
    add_phases (tracing, attempt);
    arena_reset (&tracing->arena);
}

/* ---- flows: each end belongs to the instant in front of it, on the same track at the same time ---- */

static void add_instant (struct tracing *tracing, struct track track, uint64_t at_ms, const char *name)
{
    buf_puts (&tracing->more, "}");
    add_event (tracing, "i", track, at_ms, text_of (name));
}

/* `flow`: the index of the cascade; `bp`: an end binds to what encloses it, as a begin does. */
static void add_flow_event (struct tracing *tracing, const char *type, struct track track, uint64_t at_ms,
                            uint32_t flow)
{
    buf_printf (&tracing->more, ",\"cat\":\"cascade\",\"id\":%" PRIu64 ",\"bp\":\"e\"", (uint64_t) flow + 1);
    add_event (tracing, type, track, at_ms, TEXT_LIT ("cascade"));
}

static void add_flows_of (struct tracing *tracing, const struct report_attempt *cause)
{
    static const char args[] = ",\"s\":\"t\",\"args\":{";
    const struct report_attempt *items = tracing->attempts.items;
    struct track from = track_of (tracing, cause->host, false);
    buf_puts (&tracing->more, args);
    add_instant (tracing, from, cause->followed_ms, cause->of ? "cause" : "cause of no host's");
    for (uint32_t i = cause->follower; i != SCENE_NOBODY; i = items[i].next)
        add_flow_event (tracing, "s", from, cause->followed_ms, i);
    for (uint32_t i = cause->follower; i != SCENE_NOBODY; i = items[i].next) {
        struct track track = track_of (tracing, items[i].host, false);
        uint64_t at_ms = items[i].ended_ms > cause->followed_ms ? items[i].ended_ms : cause->followed_ms;
        buf_puts (&tracing->more, args);
        set_host (tracing, "\"cause\":", cause->host);
        add_instant (tracing, track, at_ms, "cascade");
        add_flow_event (tracing, "f", track, at_ms, i);
    }
}

static void add_flows (struct tracing *tracing)
{
    for (uint32_t i = 0; i <= tracing->attempts.n; i++)
        if (tracing->attempts.items[i].follower != SCENE_NOBODY)
            add_flows_of (tracing, &tracing->attempts.items[i]);
}

/* ---- counters ---- */

static void add_count (struct tracing *tracing, const char *name, uint64_t at_ms, uint64_t count)
{
    buf_printf (&tracing->more, ",\"args\":{\"hosts\":%" PRIu64 "}", count);
    add_event (tracing, "C", track_of (tracing, SCENE_NOBODY, false), at_ms, text_of (name));
}

struct change {
    uint64_t at_ms;
    int64_t by;
};

/* Two for each wait at a gate. */
static uint32_t gate_changes (const struct report_attempts *attempts, struct change *out)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < attempts->n; i++) {
        const struct report_attempt *attempt = &attempts->items[i];
        uint64_t at_ms = attempt->phases_ms;
        for (uint32_t k = 0; k < attempt->of->spans_n; k++) {
            uint64_t spent_ms = report_phase_ms (attempt, k);
            if (attempt->of->spans[k].gate && out) {
                out[n] = (struct change){ at_ms, 1 };
                out[n + 1] = (struct change){ at_ms + spent_ms, -1 };
            }
            n += attempt->of->spans[k].gate ? 2 : 0;
            at_ms += spent_ms;
        }
    }
    return n;
}

static void add_counters (struct tracing *tracing)
{
    for (uint32_t i = 0; i < tracing->report->joined_n; i++)
        add_count (tracing, "joined", tracing->report->joined[i].at_ms, tracing->report->joined[i].n);
    uint32_t n = gate_changes (&tracing->attempts, NULL);
    LOCAL_MEM struct change *changes = mem_array (n, sizeof (*changes));
    gate_changes (&tracing->attempts, changes);
    qsort (changes, n, sizeof (*changes), u64_order);
    int64_t count = 0;
    for (uint32_t i = 0; i < n; i++) {
        count += changes[i].by;
        if (i + 1 == n || changes[i + 1].at_ms != changes[i].at_ms)
            add_count (tracing, "at a gate", changes[i].at_ms, (uint64_t) count);
    }
}

void trace_perfetto (const struct report *report, struct buf *out)
{
    static const struct mesh no_mesh = { 0 };
    const struct slice_receipt *receipt = report->receipt;
    LOCAL_ARENA arena = { 0 };
    struct tracing tracing = { .report = report,
                               .mesh = receipt->headers.n ? &receipt->headers.items[0].mesh : &no_mesh,
                               .out = out,
                               .more = { .max = out->max } };
    uint32_t hosts_n = report->scene->hosts_n;
    tracing.all = hosts_n > 1 && place_on_axis (tracing.mesh, hosts_n, 1) != 0;
    tracing.attempts = report_attempts_of (report, &arena);
    buf_puts (out, "[\n");
    add_tracks (&tracing);
    add_counters (&tracing);
    add_flows (&tracing);
    for (uint32_t i = 0; i < tracing.attempts.n; i++)
        trace_add_attempt (&tracing, &tracing.attempts.items[i]);
    buf_puts (out, "]\n");
    arena_release (&tracing.arena);
    buf_release (&tracing.more);
}
