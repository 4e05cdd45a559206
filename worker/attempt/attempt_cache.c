/* attempt_cache.c - the shared cache of an attempt: `confine` before its program, and findings. */
#include "worker/attempt/attempt_state.h"

#include "worker/builtin/builtin.h"
#include "worker/sandbox/confine_sandbox.h"
#include <inttypes.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

/* A result travels in one message, of which evidence.h leaves some 25 KiB. */
enum { FINDINGS_MAX_BYTES = 5 * 1024 + 512, FINDING_TEXT_BYTES = 255, STAGE_NOTES_MAX = 3 };
#define STAGE_SOURCE "confine"

/* ---- findings ---- */

static size_t cost (const struct finding *finding)
{
    return finding->path.len + finding->detail.len + 32u;
}

void attempt_add_findings (struct attempt *attempt, const struct finding *items, uint32_t n)
{
    struct result *result = attempt_result (attempt);
    struct finding *all = arena_array (&attempt->arena, FINDINGS_MAX, sizeof *all);
    size_t bytes = 0;
    uint32_t kept = result->findings.n, i = 0;
    for (uint32_t k = 0; k < kept; k++) {
        all[k] = result->findings.items[k];
        bytes += cost (&all[k]);
    }
    for (; i < n && kept < FINDINGS_MAX; i++) {
        struct finding one = items[i];
        one.path = text_copy (&attempt->arena, text_clip (one.path, NAME_MAX_BYTES));
        one.detail = text_copy (&attempt->arena, text_clip (one.detail, FINDING_TEXT_BYTES));
        if ((bytes += cost (&one)) > FINDINGS_MAX_BYTES)
            break; /* the first ones say what is wrong */
        all[kept++] = one;
    }
    if (i < n)
        attempt_add_note (attempt, STAGE_SOURCE,
                          text_format (&attempt->arena, "%" PRIu32 " findings about the cache were not kept", n - i));
    result->findings.items = all;
    result->findings.n = kept;
}

/* ---- the stage ---- */

bool attempt_is_confined (const struct attempt *attempt)
{
    enum program_kind kind = attempt->run.rung.kind;
    return attempt->run.cache.frontend_root.len && (kind == PROGRAM_CANARY || kind == PROGRAM_COMMAND);
}

static void on_report (void *owner, int fd, uint32_t events)
{
    struct attempt *attempt = owner;
    bool over, was_ready = attempt->stage.report.ready;
    (void) events;
    attempt->stage.told |= confine_report_receive (fd, &attempt->arena, &attempt->stage.report, &over);
    if (over)
        attempt_close_confine_report (attempt);
    struct text *phase = &attempt_result (attempt)->phase;
    if (!attempt->stage.report.ready || was_ready || !text_is (*phase, ATTEMPT_PHASE_CONFINE))
        return; /* the program may have named a phase of its own already */
    *phase = (struct text){ 0 };
    attempt_enter_own_phase (attempt, attempt_first_phase (attempt));
}

int attempt_open_confine_report (struct attempt *attempt, int *program_fd, struct err *err)
{
    int pair[2];
    if (socketpair (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return err_errno (err, ERR_IO, "cannot make a socket for the report of the sandbox");
    if (loop_watch (attempt->loop, pair[0], EPOLLIN, on_report, attempt, err) < 0) {
        close (pair[0]);
        close (pair[1]);
        return -1;
    }
    attempt->stage.fd = pair[0];
    attempt->stage.watched = true;
    attempt_result (attempt)->phase = TEXT_LIT (ATTEMPT_PHASE_CONFINE);
    *program_fd = pair[1];
    return 0;
}

void attempt_close_confine_report (struct attempt *attempt)
{
    if (!attempt->stage.watched)
        return;
    loop_forget (attempt->loop, attempt->stage.fd);
    close (attempt->stage.fd);
    attempt->stage.watched = false;
}

static void add_broken_promises (struct attempt *attempt)
{
    const struct confine_report *report = &attempt->stage.report;
    for (uint32_t i = 0; i < report->view.open_ways.n; i++) {
        enum probe probe;
        struct finding low = { .kind = FINDING_LEVEL_LOW, .path = report->view.open_ways.items[i] };
        if (!write_probe_find (low.path, &probe) || !write_probe_level_closes (report->reached, probe))
            continue;
        low.detail = text_format (
            &attempt->arena,
            "level %s should prevent this way to write, but did not; the cache counts as protected only at level %s",
            enum_name_of (&enforcement_names, report->reached), enum_name_of (&enforcement_names, report->view.level));
        attempt_add_findings (attempt, &low, 1);
    }
}

static void take_report (struct attempt *attempt)
{
    const struct confine_report *report = &attempt->stage.report;
    struct result *result = attempt_result (attempt);
    struct text storage = result->cache.storage;
    result->cache = report->view;
    result->cache.storage = storage;
    add_broken_promises (attempt);
    for (uint32_t i = 0; i < report->notes.n && i < STAGE_NOTES_MAX; i++)
        attempt_add_note (attempt, STAGE_SOURCE, report->notes.items[i]);
}

static void take_overlay (struct attempt *attempt)
{
    struct confine_overlay_writes overlay;
    struct err err = { 0 };
    if (confine_overlay_collect (attempt->scratch.ptr, &attempt->arena, &overlay, &err) < 0)
        attempt_set_problem (attempt, OWNER_HOST, text_of (err.text));
    if (overlay.files == 0)
        return;
    uint32_t named = overlay.files < CONFINE_LAYER_NAMES ? overlay.files : CONFINE_LAYER_NAMES;
    for (uint32_t i = 0; i < named; i++) {
        struct finding one = {
            .kind = FINDING_WRITE_ATTEMPT,
            .token = attempt->run.cache.token,
            .path = overlay.names[i],
            .detail = TEXT_LIT (
                "the program wrote this file into the scratch layer over the generation; it was discarded")
        };
        attempt_add_findings (attempt, &one, 1);
    }
    attempt_add_note (attempt, STAGE_SOURCE,
                      text_format (&attempt->arena,
                                   "the program wrote %" PRIu32
                                   " files into the scratch layer over the generation; they were discarded",
                                   overlay.files));
}

void attempt_take_confine_report (struct attempt *attempt)
{
    struct result *result = attempt_result (attempt);
    if (!attempt_is_confined (attempt))
        return;
    if (attempt->stage.watched)
        on_report (attempt, attempt->stage.fd, 0);
    attempt_close_confine_report (attempt);
    if (attempt->stage.told)
        take_report (attempt);
    if (attempt->run.cache.overlay)
        take_overlay (attempt);
    if (attempt->stage.report.ready || attempt->stopping)
        return;
    struct text problem = attempt->stage.report.problem;
    if (!attempt->stage.told)
        problem = text_format (&attempt->arena,
                               "the process that sets up the sandbox ended without a report (%s %" PRIu32 ")",
                               result->ending == ENDING_SIGNALLED ? "signal" : "exit status", result->code);
    attempt_set_problem (attempt, attempt->stage.told ? attempt->stage.report.owner : OWNER_SLICEUP, problem);
    result->ending = ENDING_NOT_STARTED;
    result->code = 0;
}

/* ---- the survey ---- */

void attempt_fill_cache_view (struct attempt *attempt)
{
    const struct rung *rung = &attempt->run.rung;
    struct result *result = attempt_result (attempt);
    if (rung_is_builtin (rung, "cache"))
        cache_builtin_view_of_facts (result->facts.items, result->facts.n, &attempt->arena, &result->cache);
}
