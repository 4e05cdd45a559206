#include "coordinator/report/report.h"

#include <stdlib.h>

#include "coordinator/report/attempts.h"
#include "coordinator/story/board.h"

/* Fields and values of protos/perfetto/trace of https://github.com/google/perfetto, by message. */
enum { TRACE_PACKET = 1 }; /* trace.proto, Trace */
enum {                     /* trace_packet.proto, TracePacket */
       PACKET_TIMESTAMP = 8,
       PACKET_SEQUENCE_ID = 10,
       PACKET_EVENT = 11,
       PACKET_TRACK = 60
};
enum { /* track_event/track_descriptor.proto, TrackDescriptor */
       TRACK_UUID = 1,
       TRACK_NAME = 2,
       TRACK_PARENT = 5,
       TRACK_COUNTER = 8,
       TRACK_CHILD_ORDERING = 11,
       TRACK_RANK = 12,
       ORDERING_EXPLICIT = 3, /* enum ChildTracksOrdering */
       COUNTER_UNIT = 3,      /* counter_descriptor.proto, CounterDescriptor */
       COUNTER_UNIT_COUNT = 2
};
enum { /* track_event/track_event.proto, TrackEvent */
       EVENT_ANNOTATION = 4,
       EVENT_TYPE = 9,
       EVENT_TRACK = 11,
       EVENT_NAME = 23,
       EVENT_COUNTER = 30,
       EVENT_FLOW = 47,
       EVENT_FLOW_END = 48,
       TYPE_BEGIN = 1, /* enum Type */
       TYPE_END = 2,
       TYPE_INSTANT = 3,
       TYPE_COUNTER = 4,
       ANNOTATION_NUMBER = 3, /* debug_annotation.proto, DebugAnnotation */
       ANNOTATION_TEXT = 6,
       ANNOTATION_NAME = 10
};

/* Tracks are numbered by us: those of hosts by rank. */
enum {
    TRACK_OF_RUN = 1,
    TRACK_JOINED,
    TRACK_AT_GATE,
    TRACKS_OF_AXIS = 1 << 20,
    TRACKS_OF_HOSTS = 1 << 24,
    TRACKS_OF_PHASES = 1 << 28
};
enum { NS_IN_MS = 1000000, CAUSE_COLUMNS = 400 };

struct tracing {
    const struct report *report;
    struct report_attempts attempts;
    struct buf *out;
    size_t packet, event; /* that are open */
    uint64_t flows;
    struct arena arena;
};

/* ---- packets ---- */

static void open_packet (struct tracing *tracing)
{
    tracing->packet = proto_open (tracing->out, TRACE_PACKET);
    proto_number (tracing->out, PACKET_SEQUENCE_ID, 1);
}

/* `name`: of a slice that begins, or an instant. */
static void open_event (struct tracing *tracing, uint64_t type, uint64_t track, uint64_t at_ms, struct text name)
{
    open_packet (tracing);
    proto_number (tracing->out, PACKET_TIMESTAMP, at_ms * NS_IN_MS);
    tracing->event = proto_open (tracing->out, PACKET_EVENT);
    proto_number (tracing->out, EVENT_TYPE, type);
    proto_number (tracing->out, EVENT_TRACK, track);
    if (type == TYPE_BEGIN || type == TYPE_INSTANT)
        proto_text (tracing->out, EVENT_NAME, name.len ? name : TEXT_LIT ("?"));
}

static void close_event (struct tracing *tracing)
{
    proto_close (tracing->out, tracing->event);
    proto_close (tracing->out, tracing->packet);
}

static void annotate (struct tracing *tracing, const char *name, struct text value)
{
    size_t annotation = proto_open (tracing->out, EVENT_ANNOTATION);
    proto_text (tracing->out, ANNOTATION_NAME, text_of (name));
    proto_text (tracing->out, ANNOTATION_TEXT, value);
    proto_close (tracing->out, annotation);
}

static void annotate_number (struct tracing *tracing, const char *name, uint64_t value)
{
    size_t annotation = proto_open (tracing->out, EVENT_ANNOTATION);
    proto_text (tracing->out, ANNOTATION_NAME, text_of (name));
    proto_number (tracing->out, ANNOTATION_NUMBER, value);
    proto_close (tracing->out, annotation);
}

static void annotate_host (struct tracing *tracing, const char *name, uint32_t host)
{
    if (host < tracing->report->scene->hosts_n)
        annotate (tracing, name, tracing->report->hosts[host].name);
}

static void end_slice (struct tracing *tracing, uint64_t track, uint64_t at_ms)
{
    open_event (tracing, TYPE_END, track, at_ms, (struct text){ 0 });
    close_event (tracing);
}

/* ---- tracks ---- */

static void open_track (struct tracing *tracing, uint64_t track, uint64_t parent, struct text name)
{
    open_packet (tracing);
    tracing->event = proto_open (tracing->out, PACKET_TRACK);
    proto_number (tracing->out, TRACK_UUID, track);
    if (parent)
        proto_number (tracing->out, TRACK_PARENT, parent);
    proto_text (tracing->out, TRACK_NAME, name);
    proto_number (tracing->out, TRACK_CHILD_ORDERING, ORDERING_EXPLICIT);
    proto_number (tracing->out, TRACK_RANK, track);
}

static void add_counter_track (struct tracing *tracing, uint64_t track, struct text name)
{
    open_track (tracing, track, TRACK_OF_RUN, name);
    size_t counter = proto_open (tracing->out, TRACK_COUNTER);
    proto_number (tracing->out, COUNTER_UNIT, COUNTER_UNIT_COUNT);
    proto_close (tracing->out, counter);
    close_event (tracing);
}

/* Where the host's first device lies on the first axis of the mesh; 0 without a mesh. */
static uint32_t place_on_axis (const struct mesh *mesh, uint32_t hosts_n, uint32_t rank)
{
    uint32_t at[MESH_AXES_MAX] = { 0 }, devices = mesh_devices (mesh);
    if (devices && hosts_n)
        mesh_coordinates (mesh, (uint32_t) ((uint64_t) rank * devices / hosts_n), at);
    return at[0];
}

/* "data=1"; "data" where each host has a place of its own on that axis. */
static void add_axis_track (struct tracing *tracing, struct text axis, uint32_t place, bool all)
{
    struct buf name;
    buf_init (&name, 1024);
    buf_escaped (&name, axis, 0);
    if (!all)
        buf_printf (&name, "=%u", place);
    open_track (tracing, TRACKS_OF_AXIS + place, TRACK_OF_RUN, buf_as_text (&name));
    close_event (tracing);
    buf_release (&name);
}

/* Hosts are in rank order, and so are their places on the first axis. */
static void add_host_tracks (struct tracing *tracing)
{
    static const struct mesh no_mesh = { 0 };
    const struct slice_receipt *receipt = tracing->report->receipt;
    const struct mesh *mesh = receipt->headers.n ? &receipt->headers.items[0].mesh : &no_mesh;
    uint32_t hosts_n = tracing->report->scene->hosts_n, place = UINT32_MAX;
    bool all = hosts_n > 1 && place_on_axis (mesh, hosts_n, 1) != 0;
    for (uint32_t i = 0; i < hosts_n; i++) {
        uint32_t at = all ? 0 : place_on_axis (mesh, hosts_n, i);
        if (mesh->n && at != place)
            add_axis_track (tracing, mesh->items[0].axis, at, all);
        place = at;
        open_track (tracing, TRACKS_OF_HOSTS + (uint64_t) i, mesh->n ? TRACKS_OF_AXIS + at : TRACK_OF_RUN,
                    tracing->report->hosts[i].name);
        close_event (tracing);
        open_track (tracing, TRACKS_OF_PHASES + (uint64_t) i, TRACKS_OF_HOSTS + (uint64_t) i, TEXT_LIT ("phases"));
        close_event (tracing);
    }
}

static void add_tracks (struct tracing *tracing)
{
    const struct board *board = tracing->report->scene->board;
    struct text slice = scene_text (&tracing->arena, board->plan.slice, SCENE_WORD_COLUMNS),
                ladder = scene_text (&tracing->arena, board->plan.ladder, SCENE_WORD_COLUMNS);
    const char *state = board->ended ? enum_name_of (&outcome_names, board->outcome) : "not ended";
    open_track (tracing, TRACK_OF_RUN, 0,
                text_format (&tracing->arena, "%.*s/%.*s, run %.*s: %s", TEXT_ARG (slice), TEXT_ARG (ladder),
                             TEXT_ARG (board->run), state));
    close_event (tracing);
    add_counter_track (tracing, TRACK_JOINED, TEXT_LIT ("joined"));
    add_counter_track (tracing, TRACK_AT_GATE, TEXT_LIT ("at a gate"));
    add_host_tracks (tracing);
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

static void annotate_cause (struct tracing *tracing, const struct report_attempt *attempt)
{
    struct buf cause;
    if (!attempt->receipt || !attempt->receipt->cause.text.len)
        return;
    buf_init (&cause, 8 * CAUSE_COLUMNS);
    buf_escaped (&cause, attempt->receipt->cause.text, CAUSE_COLUMNS);
    annotate (tracing, "owner", text_of (enum_name_of (&owner_names, attempt->receipt->cause.owner)));
    annotate (tracing, "cause", buf_as_text (&cause));
    buf_release (&cause);
}

/* Which attempt it is, for queries over slices. */
static void annotate_of (struct tracing *tracing, const struct report_attempt *attempt)
{
    annotate (tracing, "rung", trace_rung_id (tracing, attempt->of->key.rung));
    annotate (tracing, "pass", text_of (enum_name_of (&pass_names, attempt->of->key.pass)));
    annotate_number (tracing, "attempt", attempt->of->key.attempt);
}

static void add_phases (struct tracing *tracing, const struct report_attempt *attempt)
{
    uint64_t at_ms = attempt->phases_ms, track = TRACKS_OF_PHASES + (uint64_t) attempt->host;
    for (uint32_t i = 0; i < attempt->of->spans_n; i++) {
        const struct scene_span *span = &attempt->of->spans[i];
        open_event (tracing, TYPE_BEGIN, track, at_ms, span->name);
        if (span->gate)
            annotate_host (tracing, "last", span->awaited);
        annotate_of (tracing, attempt);
        close_event (tracing);
        at_ms += report_phase_ms (attempt, i);
        end_slice (tracing, track, at_ms);
    }
}

static void trace_add_attempt (struct tracing *tracing, const struct report_attempt *attempt)
{
    uint64_t track = TRACKS_OF_HOSTS + (uint64_t) attempt->host;
    open_event (tracing, TYPE_BEGIN, track, attempt->began_ms, attempt_name (tracing, attempt->of));
    annotate_of (tracing, attempt);
    annotate (tracing, "purpose", text_of (enum_name_of (&purpose_names, attempt->of->purpose)));
    annotate (tracing, "outcome", text_of (scene_mark_word (attempt->of->mark)));
    annotate_cause (tracing, attempt);
    close_event (tracing);
    add_phases (tracing, attempt);
    end_slice (tracing, track, attempt->ended_ms);
    arena_reset (&tracing->arena);
}

/* ---- flows: before the slices, so that at the same time they stand within them ---- */

static void add_instant (struct tracing *tracing, uint32_t host, uint64_t at_ms, const char *name)
{
    uint64_t track = host == SCENE_NOBODY ? TRACK_OF_RUN : TRACKS_OF_HOSTS + (uint64_t) host;
    open_event (tracing, TYPE_INSTANT, track, at_ms, text_of (name));
}

static void add_flows_of (struct tracing *tracing, const struct report_attempt *cause)
{
    const struct report_attempt *items = tracing->attempts.items;
    add_instant (tracing, cause->host, cause->followed_ms, cause->of ? "cause" : "cause of no host's");
    for (uint32_t i = cause->follower; i != SCENE_NOBODY; i = items[i].next)
        proto_fixed64 (tracing->out, EVENT_FLOW, (uint64_t) i + 1);
    close_event (tracing);
    for (uint32_t i = cause->follower; i != SCENE_NOBODY; i = items[i].next) {
        uint64_t at_ms = items[i].ended_ms > cause->followed_ms ? items[i].ended_ms : cause->followed_ms;
        add_instant (tracing, items[i].host, at_ms, "cascade");
        proto_fixed64 (tracing->out, EVENT_FLOW_END, (uint64_t) i + 1);
        annotate_host (tracing, "cause", cause->host);
        close_event (tracing);
    }
}

static void add_flows (struct tracing *tracing)
{
    for (uint32_t i = 0; i <= tracing->attempts.n; i++)
        if (tracing->attempts.items[i].follower != SCENE_NOBODY)
            add_flows_of (tracing, &tracing->attempts.items[i]);
}

/* ---- counters ---- */

static void add_count (struct tracing *tracing, uint64_t track, uint64_t at_ms, uint64_t count)
{
    open_event (tracing, TYPE_COUNTER, track, at_ms, (struct text){ 0 });
    proto_number (tracing->out, EVENT_COUNTER, count);
    close_event (tracing);
}

struct change {
    uint64_t at_ms;
    int64_t by;
};

static int by_time (const void *a, const void *b)
{
    const struct change *x = a, *y = b;
    return x->at_ms < y->at_ms ? -1 : x->at_ms > y->at_ms;
}

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
        add_count (tracing, TRACK_JOINED, tracing->report->joined[i].at_ms, tracing->report->joined[i].n);
    uint32_t n = gate_changes (&tracing->attempts, NULL);
    struct change *changes = mem_array (n, sizeof (*changes));
    gate_changes (&tracing->attempts, changes);
    qsort (changes, n, sizeof (*changes), by_time);
    int64_t count = 0;
    for (uint32_t i = 0; i < n; i++) {
        count += changes[i].by;
        if (i + 1 == n || changes[i + 1].at_ms != changes[i].at_ms)
            add_count (tracing, TRACK_AT_GATE, changes[i].at_ms, (uint64_t) count);
    }
    mem_free (changes);
}

void trace_perfetto (const struct report *report, struct buf *out)
{
    struct arena arena = { 0 };
    struct tracing tracing = { .report = report, .out = out };
    tracing.attempts = report_attempts_of (report, &arena);
    add_tracks (&tracing);
    add_counters (&tracing);
    add_flows (&tracing);
    for (uint32_t i = 0; i < tracing.attempts.n; i++)
        trace_add_attempt (&tracing, &tracing.attempts.items[i]);
    arena_release (&tracing.arena);
    arena_release (&arena);
}
