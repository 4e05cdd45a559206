#include "coordinator/view/receipt_text.h"

#include <stdlib.h>

#include "coordinator/story/frontier.h"
#include "coordinator/verdict/failure.h"
#include "coordinator/verdict/flag_set.h"

enum { CLIPPED_BYTES = 300, VARS_SHOWN = 4, KERNELS_BYTES = 1 << 16 };

/* ---- what is said of whom ---- */

struct asked {
    const struct slice_receipt *receipt;
    const struct run_header *header;
    const struct board *now; /* NULL: only the receipt is known */
    struct text rung;        /* where it ended */
    struct arena *arena;
};
typedef enum explain_mark answer_fn (const struct asked *asked, const struct host_receipt *host, struct text *answer);

static enum explain_mark answer_frontend (const struct asked *asked, const struct host_receipt *host,
                                          struct text *answer)
{
    static const char *const packages[] = { "jax", "torch-xla", "torch-tpu", "torch", "jaxlib", "libtpu" };
    enum { FRONTENDS = 3 };
    struct text said = { 0 };
    for (size_t i = 0; i < sizeof packages / sizeof packages[0] && (i < FRONTENDS || said.len); i++) {
        struct text version = var_value (&host->bundle, packages[i]);
        if (version.len)
            said = text_format (asked->arena, "%.*s%s%s %.*s", TEXT_ARG (said), said.len ? ", " : "", packages[i],
                                TEXT_ARG (version));
    }
    *answer =
        said.len
            ? said
            : TEXT_LIT (
                  "no program reported a frontend version: none ran, or none got past its imports, or they need none");
    return said.len ? EXPLAIN_CLEAR : EXPLAIN_UNKNOWN;
}

static const struct rung_receipt *last_at (const struct asked *asked, const struct host_receipt *host)
{
    const struct rung_receipt *last = NULL;
    for (uint32_t i = 0; i < host->rungs.n; i++) {
        const struct rung_receipt *rung = host->rungs.items[i];
        if (rung->purpose != PURPOSE_ISOLATION && (!asked->rung.len || text_equal (rung->rung, asked->rung)))
            last = rung;
    }
    return last;
}

static bool failed_for_device (const struct asked *asked, const struct host_receipt *host)
{
    const struct rung_receipt *last = asked->rung.len ? last_at (asked, host) : NULL;
    return last && last->outcome != OUTCOME_PASSED && last->outcome != OUTCOME_CASCADE &&
           last->cause.owner == OWNER_DEVICE;
}

/* The facts rung looks at this before anything of a rung runs. */
static enum explain_mark answer_device (const struct asked *asked, const struct host_receipt *host, struct text *answer)
{
    struct text holders = var_value (&host->facts, "device.holders"),
                lock = var_value (&host->facts, "libtpu.lockfile");
    if (text_find (lock, TEXT_LIT ("locked by process"), NULL)) {
        *answer = text_format (asked->arena, "libtpu's lock file is %.*s", TEXT_ARG (lock));
        return EXPLAIN_SUSPECT;
    }
    *answer = !holders.len                    ? TEXT_LIT ("not checked: no facts rung ended on this host")
              : text_starts (holders, "none") ? text_format (asked->arena, "held by %.*s", TEXT_ARG (holders))
                                              : holders;
    if (failed_for_device (asked, host)) {
        *answer = text_format (asked->arena, "%.*s before it failed at rung %.*s", TEXT_ARG (*answer),
                               TEXT_ARG (asked->rung));
        return EXPLAIN_SUSPECT;
    }
    if (!holders.len || text_starts (holders, "none seen"))
        return EXPLAIN_UNKNOWN;
    return text_is (holders, "none") ? EXPLAIN_CLEAR : EXPLAIN_SUSPECT;
}

/* Variables with other words after the imports than before; the drift of the policy compares hosts. */
static struct text edited_vars (const struct asked *asked, const struct policy_changes *changes)
{
    struct text said = { 0 };
    for (uint32_t i = 0; i < changes->edited_n && i < VARS_SHOWN; i++) {
        const struct policy_edit *edit = &changes->edited[i];
        struct text is = text_clip (edit->is, CLIPPED_BYTES), was = text_clip (edit->was, CLIPPED_BYTES);
        said = text_format (asked->arena, "%.*s; %.*s is '%.*s' after the imports, but sliceup had set it to '%.*s'",
                            TEXT_ARG (said), TEXT_ARG (edit->name), TEXT_ARG (is), TEXT_ARG (was));
    }
    if (changes->edited_n > VARS_SHOWN)
        said = text_format (asked->arena, "%.*s; and %u more were changed", TEXT_ARG (said),
                            changes->edited_n - VARS_SHOWN);
    return said;
}

/* Of flags also the words: values of other variables may be a host's own. */
static struct text added_vars (const struct asked *asked, const struct policy_changes *changes)
{
    struct text said = { 0 };
    for (uint32_t i = 0; i < changes->added_n && i < VARS_SHOWN; i++) {
        struct text name = changes->added[i].name, words = { 0 };
        if (text_is (name, "XLA_FLAGS") || text_is (name, "LIBTPU_INIT_ARGS"))
            words = text_clip (flag_set_normalise (changes->added[i].value, asked->arena), CLIPPED_BYTES);
        said = text_format (asked->arena, "%.*s%s%.*s%s%.*s%s", TEXT_ARG (said), i ? ", " : "", TEXT_ARG (name),
                            words.len ? " ('" : "", TEXT_ARG (words), words.len ? "')" : "");
    }
    if (changes->added_n > VARS_SHOWN)
        said = text_format (asked->arena, "%.*s and %u more", TEXT_ARG (said), changes->added_n - VARS_SHOWN);
    return said.len ? text_format (asked->arena, "; sliceup did not set %.*s, which the program saw", TEXT_ARG (said))
                    : said;
}

/* What workers warned of as they started programs (worker/attempt), each once. */
static struct text policy_warnings (const struct asked *asked, const struct host_receipt *host)
{
    struct text said = { 0 };
    for (uint32_t i = 0; i < host->notes.n; i++) {
        struct text note = host->notes.items[i].text;
        if (text_is (host->notes.items[i].source, "launch policy") && !text_find (said, note, NULL))
            said = text_format (asked->arena, "%.*s; %.*s", TEXT_ARG (said), TEXT_ARG (note));
    }
    return said;
}

static enum explain_mark answer_policy (const struct asked *asked, const struct host_receipt *host, struct text *answer)
{
    struct text warned = policy_warnings (asked, host), profile = host->policy.profile;
    struct policy_changes changes;
    policy_changes_find (&host->policy, &host->facts, asked->arena, &changes);
    if (!host->policy.observed.n) {
        *answer = text_format (asked->arena,
                               "profile %.*s sets %u variable%s; the program did not report %s after its imports%.*s",
                               TEXT_ARG (profile), changes.set_n, plural (changes.set_n),
                               changes.set_n == 1 ? "its value"
                               : changes.set_n    ? "their values"
                                                  : "any",
                               TEXT_ARG (warned));
        return EXPLAIN_UNKNOWN;
    }
    struct text edited = edited_vars (asked, &changes), added = added_vars (asked, &changes), kept = { 0 };
    if (changes.edited_n == 0)
        kept = changes.told_n == changes.set_n
                   ? TEXT_LIT (", and the imports changed none of them")
                   : text_format (asked->arena, ", and the imports changed none of the %u that the program reported",
                                  changes.told_n);
    *answer = text_format (asked->arena, "profile %.*s sets %u variable%s%.*s%.*s%.*s%.*s", TEXT_ARG (profile),
                           changes.set_n, plural (changes.set_n), TEXT_ARG (kept), TEXT_ARG (edited), TEXT_ARG (added),
                           TEXT_ARG (warned));
    return warned.len ? EXPLAIN_SUSPECT : EXPLAIN_CLEAR;
}

/* Of the rung that is asked about each host tells apart: who ended early has reported none there. */
static struct text kernels_below (const struct asked *asked, const struct host_receipt *host)
{
    struct buf said = { .max = KERNELS_BYTES };
    receipt_kernels (host, asked->rung, &said);
    return buf_finish (&said, asked->arena);
}

static enum explain_mark answer_backend (const struct asked *asked, const struct host_receipt *host,
                                         struct text *answer)
{
    const struct observed_backend *seen = &host->backend.observed;
    struct text asked_for = host->backend.requested;
    if (!seen->platform.len) {
        *answer = text_format (asked->arena, "asked for %.*s, but the program did not report which one it ran on",
                               TEXT_ARG (asked_for));
        return EXPLAIN_UNKNOWN;
    }
    struct text below = kernels_below (asked, host), here = receipt_kernel_at (host, asked->rung);
    bool silent = asked->rung.len && !here.len && receipt_tells_kernels (host);
    *answer = text_format (
        asked->arena,
        "asked for %.*s, ran on %.*s%s with %u of %u device%s on this host (%.*s), kernels: %.*s%s%.*s%s%.*s",
        TEXT_ARG (asked_for), TEXT_ARG (seen->platform), receipt_backend_remark (seen), seen->local_devices,
        seen->devices, plural (seen->devices), TEXT_ARG (seen->device_kind), TEXT_ARG (below),
        below.len && here.len ? "; " : "", TEXT_ARG (here),
        here.len ? " at "
        : silent ? "; it reported no backend at rung "
                 : "",
        here.len || silent ? (int) asked->rung.len : 0, asked->rung.len ? asked->rung.ptr : "");
    if (!backend_is (seen, asked_for))
        return EXPLAIN_SUSPECT;
    return silent ? EXPLAIN_UNKNOWN : EXPLAIN_CLEAR;
}

/* How the host takes part in the pass that runs now; NULL: it does not, or none runs. */
static const struct board_host *running_part (const struct asked *asked, const struct host_receipt *host)
{
    const struct board *now = asked->now;
    bool runs = now && now->running && now->purpose != PURPOSE_ISOLATION && host->rank < now->plan.hosts.n;
    return runs && now->hosts[host->rank].in_pass ? &now->hosts[host->rank] : NULL;
}

static bool reports_backend (const struct asked *asked)
{
    for (uint32_t i = 0; i < asked->receipt->hosts.n; i++)
        if (asked->receipt->hosts.items[i].backend.observed.platform.len)
            return true;
    return false;
}

/* A command that reports nothing of frontends, variables and backends. Where nothing failed, the whole ladder is asked. */
static bool is_command (const struct asked *asked)
{
    bool all = asked->now && asked->now->plan.rungs.n > 0 && !reports_backend (asked);
    for (uint32_t i = 0; all && i < asked->now->plan.rungs.n; i++) {
        const struct rung *rung = &asked->now->plan.rungs.items[i];
        all = rung->kind == PROGRAM_COMMAND || (asked->rung.len && !text_equal (rung->id, asked->rung));
    }
    return all;
}

/* A receipt alone knows the rung: who has no attempt that is not judged yet still runs it. */
static bool still_runs (const struct asked *asked, const struct host_receipt *host, const struct rung_receipt *last)
{
    const struct board_host *part = running_part (asked, host);
    if (!asked->now)
        return asked->header->running.len && (!last || last->outcome != OUTCOME_NONE);
    return part && !part->ended;
}

static enum explain_mark answer_before_verdict (const struct asked *asked, const struct rung_receipt *rung,
                                                struct text *answer)
{
    struct text phase = rung->phase.len ? rung->phase : TEXT_LIT ("start");
    bool failed = rung->cause.text.len > 0;
    *answer = text_format (asked->arena, "rung %.*s: %s, not judged yet, last in phase %.*s", TEXT_ARG (rung->rung),
                           failed ? "failed" : "ended", TEXT_ARG (phase));
    return failed ? EXPLAIN_SUSPECT : EXPLAIN_UNKNOWN;
}

static enum explain_mark answer_end (const struct asked *asked, const struct host_receipt *host, struct text *answer)
{
    const struct rung_receipt *last = last_at (asked, host);
    if (still_runs (asked, host, last)) {
        *answer = text_format (asked->arena, "rung %.*s: not ended", TEXT_ARG (asked->rung));
        return EXPLAIN_UNKNOWN;
    }
    if (last && last->outcome == OUTCOME_NONE)
        return answer_before_verdict (asked, last, answer);
    if (!last) {
        *answer = asked->rung.len ? text_format (asked->arena, "did not reach rung %.*s", TEXT_ARG (asked->rung))
                                  : TEXT_LIT ("no rung has ended on this host");
        return EXPLAIN_UNKNOWN;
    }
    const char *pass = last->pass == PASS_ONCE || last->pass == PASS_NONE ? "" : enum_name_of (&pass_names, last->pass);
    const char *remark = receipt_cold_remark (last);
    struct text phase = last->phase.len ? last->phase : TEXT_LIT ("start");
    bool ran = last->outcome != OUTCOME_BLOCKED && last->attempt > 0;
    bool unphased = !last->phase.len &&
                    (last->outcome == OUTCOME_PASSED || !ran || is_command (asked)); /* it names none */
    *answer = text_format (asked->arena, "rung %.*s%s%s: %s%s%.*s%s%s", TEXT_ARG (last->rung), *pass ? " " : "", pass,
                           enum_name_of (&outcome_names, last->outcome), unphased ? "" : ", last in phase ",
                           unphased ? 0 : (int) phase.len, phase.ptr, *remark ? "; " : "", remark);
    if (last->outcome == OUTCOME_PASSED)
        return EXPLAIN_CLEAR;
    return last->outcome == OUTCOME_CASCADE ? EXPLAIN_UNKNOWN : EXPLAIN_SUSPECT;
}

static const struct {
    const char *id, *question;
    answer_fn *answer;
    bool alike;
} questions[EXPLAIN_STEPS] = {
    { "frontend", "which frontend did the program use?", answer_frontend, true },
    { "device", "is the device held by another process?", answer_device, false },
    { "policy", "which launch policy was set before the imports?", answer_policy, true },
    { "backend", "which backend really ran?", answer_backend, true },
    { "end", "where did the program end?", answer_end, false },
};

/* ---- folding ---- */

static bool is_of_run (const struct asked *asked, const struct host_receipt *host)
{
    return text_equal (host->run, asked->header->run);
}

static void explain_add_host (struct explain_host_names *hosts, struct text name, uint32_t most, struct arena *arena)
{
    if (!hosts->items)
        hosts->items = arena_array (arena, most, sizeof (*hosts->items));
    hosts->items[hosts->n++] = name;
}

static struct explain_answer *answer_for (struct explain_question *step, enum explain_mark mark, struct text text)
{
    for (uint32_t i = 0; i < step->answers_n; i++)
        if (step->answers[i].mark == mark && text_equal (step->answers[i].text, text))
            return &step->answers[i];
    step->answers[step->answers_n] = (struct explain_answer){ .mark = mark, .text = text };
    return &step->answers[step->answers_n++];
}

static int suspects_first (const void *a, const void *b)
{
    const struct explain_answer *x = a, *y = b;
    int order = order_u64 (y->mark, x->mark);
    order = order ? order : order_u64 (x->hosts.n, y->hosts.n); /* the minority is what one looks for */
    return order ? order : text_compare (x->text, y->text);
}

/* Hosts that should be alike and are not make the smaller groups suspect, and all where none is more than half. */
static void suspect_minority (struct explain_question *step)
{
    uint32_t largest = 0, clear = 0, hosts = 0;
    for (uint32_t i = 0; i < step->answers_n; i++) {
        if (step->answers[i].mark != EXPLAIN_CLEAR)
            continue;
        clear++;
        hosts += step->answers[i].hosts.n;
        largest = step->answers[i].hosts.n > largest ? step->answers[i].hosts.n : largest;
    }
    for (uint32_t i = 0; i < step->answers_n && clear > 1; i++)
        if (step->answers[i].mark == EXPLAIN_CLEAR && (step->answers[i].hosts.n < largest || largest * 2 <= hosts))
            step->answers[i].mark = EXPLAIN_SUSPECT;
}

static void explain_ask (const struct asked *asked, size_t at, struct explain_question *step)
{
    const struct slice_receipt *receipt = asked->receipt;
    *step = (struct explain_question){ .id = questions[at].id, .question = questions[at].question };
    step->answers = arena_array (asked->arena, receipt->hosts.n, sizeof (*step->answers));
    for (uint32_t i = 0; i < receipt->hosts.n; i++) {
        struct text text = { 0 };
        if (!is_of_run (asked, &receipt->hosts.items[i]))
            continue;
        enum explain_mark mark = questions[at].answer (asked, &receipt->hosts.items[i], &text);
        explain_add_host (&answer_for (step, mark, text)->hosts, receipt->hosts.items[i].host, receipt->hosts.n,
                          asked->arena);
    }
    if (questions[at].alike)
        suspect_minority (step);
    if (step->answers_n)
        qsort (step->answers, step->answers_n, sizeof (*step->answers), suspects_first);
    step->mark = step->answers_n ? step->answers[0].mark : EXPLAIN_UNKNOWN;
}

/* ---- causes ---- */

static bool explain_same_cause (const struct explain_cause *a, const struct rung_receipt *b, struct text host)
{
    return a->outcome == b->outcome && a->cause.owner == b->cause.owner && a->cause.certainty == b->cause.certainty &&
           text_equal (a->cause.signature, b->cause.signature) &&
           cause_equal (a->cause.text, a->hosts.items[0], b->cause.text, host);
}

static struct explain_cause *cause_for (struct explanation *out, const struct rung_receipt *rung, struct text host,
                                        struct arena *arena)
{
    for (uint32_t i = 0; i < out->causes_n; i++)
        if (explain_same_cause (&out->causes[i], rung, host)) {
            out->causes[i].varies |= !text_equal (out->causes[i].cause.text, rung->cause.text);
            return &out->causes[i];
        }
    out->causes = arena_room (arena, out->causes, out->causes_n, &out->causes_room, 16, sizeof *out->causes);
    out->causes[out->causes_n] = (struct explain_cause){
        .outcome = rung->outcome,
        .pass = rung->pass,
        .cause = rung->cause,
        .recognised = rung->cause.signature.len > 0 ||
                      (rung->cause.owner != OWNER_UNKNOWN && rung->cause.owner != OWNER_NONE),
    };
    return &out->causes[out->causes_n++];
}

/* Evidence may name a pid or a time: it does not separate causes, and is kept with the hosts that printed it. */
static void explain_add_printed (const struct asked *asked, struct explain_cause *cause,
                                 const struct host_receipt *host, struct text evidence)
{
    uint32_t i = 0;
    while (i < cause->printed_n && !text_equal (cause->printed[i].text, evidence))
        i++;
    if (!evidence.len)
        return;
    if (i == EXPLAIN_PRINTED_MAX) {
        cause->printed_more++;
        return;
    }
    if (i == cause->printed_n)
        cause->printed[cause->printed_n++].text = evidence;
    explain_add_host (&cause->printed[i].hosts, host->host, asked->receipt->hosts.n, asked->arena);
}

static void add_failed (const struct asked *asked, struct explanation *out, const struct host_receipt *host,
                        const struct rung_receipt *rung)
{
    struct explain_cause *cause = cause_for (out, rung, host->host, asked->arena);
    explain_add_host (&cause->hosts, host->host, asked->receipt->hosts.n, asked->arena);
    if (!cause->bad_line.len && !text_find (rung->cause.text, rung->bad_line, NULL))
        cause->bad_line = rung->bad_line;
    explain_add_printed (asked, cause, host, rung->cause.evidence);
}

static uint32_t worth_of (const struct explain_cause *cause)
{
    return failure_worth (cause->outcome, cause->cause.owner, cause->cause.certainty == CERTAINTY_LIKELY);
}

static int most_first (const void *a, const void *b)
{
    const struct explain_cause *x = a, *y = b;
    int order = order_u64 (worth_of (y), worth_of (x));
    order = order ? order : order_u64 (y->hosts.n, x->hosts.n);
    return order ? order : text_compare (x->cause.text, y->cause.text);
}

static void find_causes (const struct asked *asked, struct explanation *out)
{
    const struct slice_receipt *receipt = asked->receipt;
    for (uint32_t i = 0; i < receipt->hosts.n; i++) {
        const struct host_receipt *host = &receipt->hosts.items[i];
        const struct rung_receipt *rung = is_of_run (asked, host) ? last_at (asked, host) : NULL;
        bool runs = is_of_run (asked, host) && still_runs (asked, host, rung);
        if (runs)
            explain_add_host (&out->running, host->host, receipt->hosts.n, asked->arena);
        if (!rung || rung->outcome == OUTCOME_NOT_REACHED || runs)
            continue;
        if (rung->outcome == OUTCOME_PASSED || rung->outcome == OUTCOME_CASCADE)
            explain_add_host (rung->outcome == OUTCOME_PASSED ? &out->passed : &out->cascades, host->host,
                              receipt->hosts.n, asked->arena);
        else if (rung->outcome == OUTCOME_NONE && !rung->cause.text.len)
            explain_add_host (&out->ended, host->host, receipt->hosts.n, asked->arena);
        else
            add_failed (asked, out, host, rung);
    }
    for (uint32_t i = 0; i < out->causes_n; i++)
        if (out->causes[i].varies)
            out->causes[i].cause.text = text_format (asked->arena, "%.*s: %.*s",
                                                     TEXT_ARG (out->causes[i].hosts.items[0]),
                                                     TEXT_ARG (out->causes[i].cause.text));
    if (out->causes_n)
        qsort (out->causes, out->causes_n, sizeof (*out->causes), most_first);
}

static void take_metrics (const struct asked *asked, struct explanation *out)
{
    const struct slice_receipt *receipt = asked->receipt;
    out->metrics = arena_array (asked->arena, receipt->reductions.n, sizeof (*out->metrics));
    for (uint32_t i = 0; i < receipt->reductions.n; i++) {
        const struct reduction_receipt *metric = &receipt->reductions.items[i];
        bool failed = metric->proof != PROOF_PROVED && text_equal (metric->rung, asked->rung);
        if (text_equal (metric->run, asked->header->run) && (failed || metric->contradicted.n))
            out->metrics[out->metrics_n++] = metric;
    }
}

static void add_history (struct explanation *out, struct text what)
{
    if (out->history_n < EXPLAIN_HISTORY_MAX)
        out->history[out->history_n++] = what;
    else
        out->history_more++;
}

static void add_note (const struct asked *asked, const struct host_receipt *host, struct text text,
                      struct explain_question *notes, struct explanation *out)
{
    struct explain_host_names *hosts = &answer_for (notes, EXPLAIN_NONE, text)->hosts;
    if (out->history_n + notes->answers_n > EXPLAIN_HISTORY_MAX) {
        notes->answers_n--;
        out->history_more++;
    } else if (hosts->n == 0 || !text_equal (hosts->items[hosts->n - 1], host->host))
        explain_add_host (hosts, host->host, asked->receipt->hosts.n, asked->arena);
}

/* What of its outputs is cut or lost, and which of its programs could be no copies of an interpreter. */
static void add_notes_of (const struct asked *asked, const struct host_receipt *host, struct explain_question *notes,
                          struct explanation *out)
{
    struct buf executed = { .max = SENTENCE_MAX_BYTES };
    if (!is_of_run (asked, host))
        return;
    for (uint32_t i = 0; i < host->notes.n; i++)
        if (text_is (host->notes.items[i].source, "log"))
            add_note (asked, host, host->notes.items[i].text, notes, out);
    receipt_executed (host, &executed);
    struct text said = buf_finish (&executed, asked->arena);
    if (said.len)
        add_note (asked, host, said, notes, out);
}

static void take_history (const struct asked *asked, struct explanation *out)
{
    struct explain_question notes = { .answers = arena_array (asked->arena, EXPLAIN_HISTORY_MAX + 1,
                                                              sizeof (*notes.answers)) };
    out->history = arena_array (asked->arena, EXPLAIN_HISTORY_MAX, sizeof (*out->history));
    for (uint32_t i = 0; i < asked->receipt->recoveries.n; i++)
        if (text_equal (asked->receipt->recoveries.items[i].run, asked->header->run))
            add_history (out, asked->receipt->recoveries.items[i].what);
    for (uint32_t i = 0; i < asked->receipt->hosts.n; i++)
        add_notes_of (asked, &asked->receipt->hosts.items[i], &notes, out);
    for (uint32_t i = 0; i < notes.answers_n; i++) {
        const struct explain_host_names *hosts = &notes.answers[i].hosts;
        struct text names = hostset_folded (hosts->items, hosts->n, UINT32_MAX, asked->arena);
        add_history (out, text_format (asked->arena, "%.*s: %.*s", TEXT_ARG (names), TEXT_ARG (notes.answers[i].text)));
    }
}

/* What nobody said is left out: it explains nothing. */
static void ask_all (const struct asked *asked, struct explanation *out)
{
    bool command = is_command (asked);
    for (size_t i = 0; i < EXPLAIN_STEPS; i++) {
        struct explain_question *step = &out->steps[out->steps_n];
        if (command && questions[i].answer != answer_end && questions[i].answer != answer_device)
            continue;
        explain_ask (asked, i, step);
        bool said = step->answers_n &&
                    (step->mark != EXPLAIN_UNKNOWN || step->answers[step->answers_n - 1].mark != EXPLAIN_UNKNOWN);
        out->steps_n += said || questions[i].answer == answer_end;
    }
}

static struct text program_of (const struct run_header *header, struct text rung)
{
    for (uint32_t i = 0; i < header->rungs.n && i < header->programs.n; i++)
        if (text_equal (header->rungs.items[i], rung))
            return header->programs.items[i];
    return (struct text){ 0 };
}

/* The rung that runs now, or where the run stands. */
static struct text rung_asked (const struct slice_receipt *receipt, struct explanation *out, const struct board *now)
{
    struct frontier frontier = frontier_of_slice (out->header, receipt);
    out->preliminary = now ? now->running && now->purpose != PURPOSE_ISOLATION : out->header->running.len > 0;
    if (out->preliminary)
        return now ? board_rung_id (now, now->key.rung) : out->header->running;
    return frontier.next_failing >= 0 ? out->header->rungs.items[frontier.next_failing] : (struct text){ 0 };
}

void explain_make (const struct slice_receipt *receipt, const struct board *now, const struct drift_query *drift,
                   struct arena *arena, struct explanation *out)
{
    *out = (struct explanation){ 0 };
    if (receipt->headers.n == 0)
        return;
    out->header = &receipt->headers.items[0];
    out->rung = rung_asked (receipt, out, now);
    struct asked asked = { receipt, out->header, now, out->rung, arena };
    out->program = program_of (out->header, out->rung);
    if (drift) /* first: what it needs only meanwhile, the others have then */
        drift_sentence_list_make (receipt, drift, EXPLAIN_DIFFERENCES_MAX, arena, &out->differences);
    if (out->rung.len)
        find_causes (&asked, out);
    ask_all (&asked, out);
    take_metrics (&asked, out);
    take_history (&asked, out);
}
