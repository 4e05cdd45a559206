#include "coordinator/picture/metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- families ---- */

/* The tables of docs/spec/metrics.md say the same: tests/unit/test_metrics.c compares them. */
static const struct family families[] = {
    { "sliceup_run", FAMILY_INFO, "", "run ladder version", "The run that all other series are of; always 1" },
    { "sliceup_run_state", FAMILY_GAUGE, "", "state",
      "1 for how the run stands: joining, running, cancelling, interrupted or ended; 0 for the others" },
    { "sliceup_run_outcome", FAMILY_GAUGE, "", "outcome", "1 for how the run ended" },
    { "sliceup_run_exit_status", FAMILY_GAUGE, "", "", "With what sliceup run ended" },
    { "sliceup_run_opened_timestamp_seconds", FAMILY_GAUGE, "seconds", "", "When the run was begun" },
    { "sliceup_run_duration_seconds", FAMILY_GAUGE, "seconds", "",
      "How long the run runs, or ran, without the time in which no coordinator held it" },
    { "sliceup_run_progress_timestamp_seconds", FAMILY_GAUGE, "seconds", "",
      "When a host last began or ended an attempt, or came to a phase" },
    { "sliceup_slice_hosts", FAMILY_GAUGE, "", "", "Hosts of the slice" },
    { "sliceup_hosts", FAMILY_GAUGE, "", "state", "Hosts by how they stand now" },
    { "sliceup_joined_hosts", FAMILY_GAUGE, "", "", "Hosts whose worker is there" },
    { "sliceup_silent_hosts", FAMILY_GAUGE, "", "", "Joined hosts of which nothing was heard lately" },
    { "sliceup_lost_hosts", FAMILY_GAUGE, "", "", "Hosts that were given up" },
    { "sliceup_joins", FAMILY_COUNTER, "", "", "How often workers joined; more than hosts: some came back" },
    { "sliceup_failing_host", FAMILY_GAUGE, "", "host rung state owner",
      "1 for hosts that fail, are lost or silent, or fell with them; at most 64, causes first" },
    { "sliceup_failing_hosts_unnamed", FAMILY_GAUGE, "", "",
      "Hosts that fail beyond those which sliceup_failing_host names" },
    { "sliceup_rungs", FAMILY_GAUGE, "", "", "Rungs of the ladder" },
    { "sliceup_rungs_passed", FAMILY_GAUGE, "", "", "Rungs that passed, from the first" },
    { "sliceup_rung_hosts", FAMILY_GAUGE, "", "rung pass state",
      "Hosts by how their last attempt of a pass of a rung stands" },
    { "sliceup_rung_duration_seconds", FAMILY_GAUGE, "seconds", "rung", "Time spent in all passes of a rung" },
    { "sliceup_pass_duration_seconds", FAMILY_GAUGE, "seconds", "rung pass", "How long the running pass runs" },
    { "sliceup_pass_limit_seconds", FAMILY_GAUGE, "seconds", "rung pass",
      "How long an attempt of the running pass may take" },
    { "sliceup_pass_usual_seconds", FAMILY_GAUGE, "seconds", "rung pass", "How long such a pass took in earlier runs" },
    { "sliceup_pass_left_seconds", FAMILY_GAUGE, "seconds", "rung pass",
      "How long the running pass may still take, by earlier runs" },
    { "sliceup_phase_duration_seconds", FAMILY_HISTOGRAM, "seconds", "phase",
      "How long hosts were in a phase of an attempt that has ended" },
    { "sliceup_gate_wait_seconds", FAMILY_HISTOGRAM, "seconds", "",
      "How long hosts waited at a gate for other hosts, in attempts that have ended" },
    { "sliceup_retries", FAMILY_COUNTER, "", "", "Passes that were run again after a transient failure" },
    { "sliceup_result_conflicts", FAMILY_COUNTER, "", "", "Second results for one attempt that differed" },
    { "sliceup_judged_metrics", FAMILY_GAUGE, "", "proof",
      "Metrics that programs reported, by whether their reduction is proved" },
    { "sliceup_unproved_metric", FAMILY_GAUGE, "", "rung metric proof",
      "1 for metrics that are not proved; at most 8" },
    { "sliceup_compile_seconds", FAMILY_COUNTER, "seconds", "", "Time that hosts spent compiling" },
    { "sliceup_cache_hits", FAMILY_COUNTER, "", "", "Programs that hosts found in the compile cache" },
    { "sliceup_cache_misses", FAMILY_COUNTER, "", "", "Programs that hosts compiled in a pass with a compile cache" },
    { "sliceup_cache_generation", FAMILY_GAUGE, "", "",
      "Token of the generation in use; 0: there is none, or it is not used any more" },
    { "sliceup_cache_entries", FAMILY_GAUGE, "", "", "Files of that generation" },
    { "sliceup_cache_bytes", FAMILY_GAUGE, "bytes", "", "Size of that generation" },
    { "sliceup_cache_adopted", FAMILY_GAUGE, "", "", "1: an earlier run published that generation" },
    { "sliceup_cache_lease", FAMILY_GAUGE, "", "", "Token of the generation that a host may write now; 0: nobody may" },
    { "sliceup_cache_leases_lost", FAMILY_COUNTER, "", "", "Leases that ran out under their writer" },
    { "sliceup_cache_violations", FAMILY_COUNTER, "", "", "Changes of the cache that its single writer did not make" },
    { "sliceup_drift_findings", FAMILY_GAUGE, "", "", "Differences between hosts, as the receipt lists them" },
    { "sliceup_queue_length", FAMILY_GAUGE, "", "queue",
      "What waits in the coordinator: facts for the journal, effects for those facts, work for the disk, "
      "logs" },
    { "sliceup_metrics_timestamp_seconds", FAMILY_GAUGE, "seconds", "",
      "When these series were made; an old time means that nobody writes them any more" },
};

const struct family *metrics_family (uint32_t i)
{
    return i < sizeof families / sizeof families[0] ? &families[i] : NULL;
}

/* ---- the text ---- */

static const char *const type_names[] = { "gauge", "counter", "info", "histogram" };

static const char *suffix_of (enum family_type type)
{
    return type == FAMILY_COUNTER ? "_total" : type == FAMILY_INFO ? "_info" : "";
}

void exposition_begin_family (struct exposition *exposition, const char *name)
{
    uint32_t i = 0;
    while (strcmp (metrics_family (i)->name, name) != 0)
        i++;
    const struct family *family = metrics_family (i);
    bool open = exposition->form == METRICS_OPENMETRICS;
    const char *suffix = open ? "" : suffix_of (family->type);
    exposition->family = family;
    buf_printf (exposition->out, "# HELP %s%s %s.\n", family->name, suffix, family->help);
    buf_printf (exposition->out, "# TYPE %s%s %s\n", family->name, suffix,
                family->type == FAMILY_INFO && !open ? "gauge" : type_names[family->type]);
    if (open && family->unit[0])
        buf_printf (exposition->out, "# UNIT %s %s\n", family->name, family->unit);
    exposition->family_at = exposition->out->len ? exposition->out->len - 1 : 0;
}

/* The syntax knows three escapes: \\, \" and \n. A newline cannot come here: control characters are visible text. */
static void put_escaped (struct text value, struct buf *out)
{
    LOCAL_BUF safe = { .max = 16 * LABEL_COLUMNS };
    buf_escaped (&safe, value, LABEL_COLUMNS);
    for (size_t i = 0; i < safe.len; i++) {
        if (safe.ptr[i] == '\\' || safe.ptr[i] == '"')
            buf_byte (out, '\\');
        buf_byte (out, safe.ptr[i]);
    }
}

static void add_label (struct buf *out, char before, const char *name, struct text value)
{
    buf_byte (out, (uint8_t) before);
    buf_printf (out, "%s=\"", name);
    put_escaped (value, out);
    buf_puts (out, "\"");
}

/* Hosts may have equal names once made safe or cut: only the first is kept, since a series must be unique. */
static bool is_new (const struct exposition *exposition, size_t from)
{
    const struct buf *out = exposition->out;
    return memmem (out->ptr + exposition->family_at, from - 1 - exposition->family_at, out->ptr + from - 1,
                   out->len - from + 1) == NULL;
}

/* `ms`: the value is printed in seconds. */
static bool add_sample (struct exposition *exposition, const char *suffix, const struct label *labels,
                        const char *bound, uint64_t value, bool ms)
{
    struct buf *out = exposition->out;
    size_t from = out->len;
    buf_printf (out, "%s%s", exposition->family->name, suffix);
    add_label (out, '{', "slice", exposition->slice);
    for (; labels && labels->name; labels++)
        add_label (out, ',', labels->name, labels->value);
    if (bound)
        add_label (out, ',', "le", text_of (bound));
    buf_puts (out, "} ");
    if (out->overflow || !is_new (exposition, from)) {
        out->len = from;
        return false;
    }
    buf_printf (out, "%" PRIu64, ms ? value / 1000 : value);
    if (ms)
        buf_printf (out, ".%03u", (unsigned) (value % 1000));
    buf_byte (out, '\n');
    return true;
}

bool exposition_add (struct exposition *exposition, const struct label *labels, uint64_t value)
{
    return add_sample (exposition, suffix_of (exposition->family->type), labels, NULL, value, false);
}

void exposition_add_ms (struct exposition *exposition, const struct label *labels, uint64_t ms)
{
    add_sample (exposition, suffix_of (exposition->family->type), labels, NULL, ms, true);
}

void exposition_add_bucket (struct exposition *exposition, const struct label *labels, uint64_t bound_ms,
                            uint64_t value)
{
    char bound[32] = "+Inf";
    if (bound_ms != UINT64_MAX)
        snprintf (bound, sizeof (bound), "%" PRIu64 ".%u", bound_ms / 1000, (unsigned) (bound_ms % 1000 / 100));
    add_sample (exposition, "_bucket", labels, bound, value, false);
}

void exposition_add_sum (struct exposition *exposition, const struct label *labels, uint64_t ms, uint64_t count)
{
    add_sample (exposition, "_count", labels, NULL, count, false);
    add_sample (exposition, "_sum", labels, NULL, ms, true);
}

void exposition_end (struct exposition *exposition)
{
    if (exposition->form == METRICS_OPENMETRICS)
        buf_puts (exposition->out, "# EOF\n");
}
