#include "common/base/duration.h"
#include "common/model/launch_variables.h"
#include "common/model/secret.h"
#include "coordinator/story/frontier.h"
#include "coordinator/story/receipt_fold_state.h"
#include "coordinator/verdict/going_on.h"
#include "coordinator/verdict/recompile_reason.h"

/* ---- launch description ---- */

/* Where a run went, and how, in one line. Pure. */

enum { SHOWN_BYTES = 512, ATTEMPTS_ALIKE = 1 << 14 };

static struct text addresses_of (const struct plan *plan, struct arena *arena)
{
    struct text *addresses = arena_array (arena, plan->hosts.n, sizeof *addresses);
    bool differ = false;
    for (uint32_t i = 0; i < plan->hosts.n; i++) {
        const struct plan_host *host = &plan->hosts.items[i];
        addresses[i] = host->ssh.address.len ? host->ssh.address : host->address;
        differ |= !text_equal (addresses[i], host->name);
    }
    if (!differ)
        return (struct text){ 0 };
    return text_format (arena, " (%.*s)", TEXT_ARG (hostset_folded (addresses, plan->hosts.n, SHOWN_BYTES, arena)));
}

/* "ssh to node-[0-2] (10.0.0.[5-7])"; addresses where they are no names of hosts. In `arena`. */
static struct text launch_describe (const struct plan *plan, struct arena *arena)
{
    static const char *const ways[] = { [LAUNCHER_LOCAL] = "local: all of them processes of one machine, ",
                                        [LAUNCHER_JOIN] = "workers that join by themselves, expected of ",
                                        [LAUNCHER_SSH] = "ssh to ",
                                        [LAUNCHER_SLURM] = "a job step of Slurm on each of " };
    struct text hosts = plan_fold_all_hosts (plan, SHOWN_BYTES, arena);
    struct text addresses = plan->launcher == LAUNCHER_SSH ? addresses_of (plan, arena) : (struct text){ 0 };
    return plan->launcher
               ? text_format (arena, "%s%.*s%.*s", ways[plan->launcher], TEXT_ARG (hosts), TEXT_ARG (addresses))
               : (struct text){ 0 };
}

/* ---- rung program ---- */

/* What a rung ran, in one line that somebody elsewhere can repeat. Pure. */

enum { DIGITS_SHOWN = 12 };

static struct text digits_of (const struct kit_file *file)
{
    return text_clip (file->file.sha256, DIGITS_SHOWN);
}

/* An error may be raised in any of them, not only in the one that is started. */
static void receipt_fold_add_files (const struct rung *rung, struct buf *line)
{
    enum { FILES_SHOWN = 8 };
    uint32_t n = 0;
    for (uint32_t i = 0; i < rung->files.n; i++) {
        const struct kit_file *file = &rung->files.items[i];
        if (!text_starts (file->name, "sliceup_") && n++ < FILES_SHOWN)
            buf_printf (line, "%s%.*s sha256 %.*s", n > 1 ? ", " : " (", TEXT_ARG (file->name),
                        TEXT_ARG (digits_of (file)));
    }
    if (n > FILES_SHOWN)
        buf_printf (line, " and %u more", n - FILES_SHOWN);
    buf_puts (line, n ? ")" : "");
}

/* "builtin facts", "canary jax/tiny.py (sha256 5f2ac01277d0)", or the words of a command with the files that it takes
 * along: "python3 ./sum.py (sum.py sha256 5f2ac01277d0)". Secrets in words are not shown. In `arena`. */
static struct text rung_program_describe (const struct rung *rung, struct arena *arena)
{
    if (rung->kind == PROGRAM_BUILTIN)
        return text_format (arena, "builtin %.*s", TEXT_ARG (rung->builtin));
    if (rung->kind == PROGRAM_CANARY && rung->files.n)
        return text_format (arena, "canary %.*s (sha256 %.*s)", TEXT_ARG (rung->files.items[0].name),
                            TEXT_ARG (digits_of (&rung->files.items[0])));
    struct buf line = { .max = TEXT_MAX_BYTES };
    for (uint32_t i = 0; i < rung->argv.n; i++)
        shell_word_add (&line, secret_redact_word (arena, rung->argv.items[i]));
    receipt_fold_add_files (rung, &line);
    return buf_finish (&line, arena);
}

/* ---- receipt fold ---- */

void receipt_fold_destroy (struct receipt_fold *fold)
{
    if (fold == NULL)
        return;
    arena_release (&fold->arena);
    mem_free (fold);
}

/* ---- one kind of fact each ---- */

/* Receipts are handed on. */
static void fold_origin (struct receipt_fold *fold, struct run_header *header)
{
    text_list *command = &header->origin.command;
    header->origin = fold->board->plan.origin;
    command->items = arena_array (&fold->arena, command->n, sizeof *command->items);
    for (uint32_t i = 0; i < command->n; i++)
        command->items[i] = text_clip (secret_redact_word (&fold->arena, fold->board->plan.origin.command.items[i]),
                                       TEXT_MAX_BYTES);
}

struct receipt_fold *receipt_fold_create (const struct board *board)
{
    struct receipt_fold *fold = mem_alloc (sizeof (*fold));
    const struct plan *plan = &board->plan;
    struct run_header *header = &fold->header;
    fold->board = board;
    arena_share_texts (&fold->arena);
    fold->before = arena_alloc (&fold->arena, sizeof *fold->before);
    fold->alike = arena_array (&fold->arena, ATTEMPTS_ALIKE, sizeof *fold->alike);
    fold->hosts = fold->told_last = arena_array (&fold->arena, plan->hosts.n, sizeof (struct host_fold));
    *header = (struct run_header){ .run = board->run,
                                   .slice = plan->slice,
                                   .ladder = plan->ladder,
                                   .version = board->version,
                                   .mesh = plan->mesh,
                                   .cache_mode = text_of (enum_name_of (&cache_mode_names, plan->cache.mode)),
                                   .cache_writer = plan->cache.writer,
                                   .began_wall_ms = board->opened_wall_ms,
                                   .cache_trust = plan->cache.trust,
                                   .rehearsal = plan->rehearsal.variables.n > 0,
                                   .left_out = plan->left_out,
                                   .home = plan->home,
                                   .cache_root = plan->cache.root,
                                   .slices = plan->slices };
    fold_origin (fold, header);
    header->launch = launch_describe (plan, &fold->arena);
    header->rungs.items = arena_array (&fold->arena, plan->rungs.n, sizeof (struct text));
    header->hosts.items = arena_array (&fold->arena, plan->hosts.n, sizeof (struct text));
    header->programs.items = arena_array (&fold->arena, plan->rungs.n, sizeof (struct text));
    for (header->rungs.n = 0; header->rungs.n < plan->rungs.n; header->rungs.n++) {
        const struct rung *rung = &plan->rungs.items[header->rungs.n];
        header->rungs.items[header->rungs.n] = rung->id;
        header->programs.items[header->programs.n++] = secret_redact_values (
            &fold->arena, &plan->profile, rung_program_describe (rung, &fold->arena));
    }
    for (header->hosts.n = 0; header->hosts.n < plan->hosts.n; header->hosts.n++)
        header->hosts.items[header->hosts.n] = plan->hosts.items[header->hosts.n].name;
    return fold;
}

static void fold_host (struct receipt_fold *fold, uint32_t host, struct text what)
{
    struct text name = board_host_name (fold->board, host);
    if (host < fold->board->plan.hosts.n)
        receipt_fold_add_recovery (fold, text_format (&fold->arena, "%.*s %.*s", TEXT_ARG (name), TEXT_ARG (what)));
}

static void fold_joined (struct receipt_fold *fold, const struct fact_host_joined *joined)
{
    if (fold->board->hosts[joined->host].joins)
        fold_host (fold, joined->host,
                   text_format (&fold->arena, "joined again (session %llu)", (unsigned long long) joined->session));
}

static void fold_returned (struct receipt_fold *fold, const struct fact_host_suspected *silent)
{
    fold_host (fold, silent->host,
               text_format (&fold->arena, "came back after %s of silence%s", DURATION_TEXT (silent->silent_ms),
                            silence_phrase (silent->silence)));
}

void receipt_fold_fill_cause (struct receipt_fold *fold, const struct verdict *verdict, struct rung_receipt *rung)
{
    rung->cause.owner = verdict->owner;
    rung->cause.else_owner = verdict->else_owner;
    rung->cause.certainty = certainty_of_owner (verdict->owner, verdict->else_owner, verdict->likely);
    rung->cause.signature = receipt_fold_copy_text (fold, verdict->signature);
    rung->cause.text = receipt_fold_copy_text (fold, verdict->cause);
    rung->cause.next = receipt_fold_copy_text (fold, verdict->next);
    if (verdict->evidence.len)
        rung->cause.evidence = receipt_fold_copy_text (fold, verdict->evidence);
}

/* What others grant is otherwise tomorrow, and nothing of the run shows it. */
static void note_recheck (struct receipt_fold *fold, const struct verdict *verdict, const struct rung_receipt *rung)
{
    const struct signature *known = plan_find_signature (&fold->board->plan, verdict->signature);
    if (known == NULL || !known->recheck)
        return;
    struct text text = text_format (&fold->arena,
                                    "rung %.*s failed by %.*s: what others grant (quota, capacity, credentials, "
                                    "permission) changes at any time",
                                    TEXT_ARG (rung->rung), TEXT_ARG (known->id));
    *GROWING_ADD (fold, &fold->hosts[verdict->host].notes) =
        (struct result_note){ .text = text, .source = TEXT_LIT ("signatures"), .durability = DURABILITY_RECHECK };
}

static void fold_output_lost (struct receipt_fold *fold, const struct fact_output_lost *lost)
{
    *GROWING_ADD (fold, &fold->hosts[lost->host].notes) = (struct result_note){
        .text = text_format (&fold->arena, "output of rung %.*s is lost: %.*s",
                             TEXT_ARG (fold->board->plan.rungs.items[lost->key.rung].id), TEXT_ARG (lost->why)),
        .source = TEXT_LIT ("log"),
        .durability = DURABILITY_STABLE
    };
}

void receipt_fold_keep_cause (struct receipt_fold *fold, const struct attempt_key *key, const struct verdict *verdict)
{
    struct rung_receipt *rung = receipt_rung_own (fold, verdict->host, key);
    if (rung)
        receipt_fold_fill_cause (fold, verdict, rung);
}

static struct rung_receipt **place_alike (struct receipt_fold *fold, const struct result *result)
{
    uint64_t hash = (uint64_t) result->key.rung << 32 ^ result->duration_ms;
    for (uint32_t i = 0; i < result->phases.n; i++)
        hash = (hash ^ result->phases.items[i].value) * 0x9e3779b97f4a7c15u; /* 2^64 over the golden ratio */
    return &fold->alike[(hash ^ hash >> 32) % ATTEMPTS_ALIKE];
}

/* One that is the same in all is kept once. */
static struct rung_receipt *keep_attempt (struct receipt_fold *fold, struct rung_receipt *rung,
                                          struct rung_receipt **alike)
{
    if (*alike && record_equal (&rung_receipt_record, rung, *alike))
        return *alike;
    fold->left_out += record_fit (&rung_receipt_record, rung);
    return *alike = arena_copy (&fold->arena, rung, sizeof *rung);
}

static void fold_ended (struct receipt_fold *fold, const struct fact_attempt_ended *ended)
{
    const struct result *result = &ended->result;
    struct host_fold *host = &fold->hosts[ended->host];
    struct rung_receipt **alike = place_alike (fold, result);
    struct rung_receipt rung = { .rung = fold->board->plan.rungs.items[result->key.rung].id,
                                 .pass = result->key.pass,
                                 .attempt = result->key.attempt,
                                 .duration_ms = result->duration_ms,
                                 .phase = receipt_fold_copy_text (fold, result->phase),
                                 .output_bytes = result->output_bytes,
                                 .dropped_bytes = result->dropped_bytes,
                                 .unsent_bytes = result->unsent_bytes,
                                 .strays = result->strays,
                                 .bad_lines = result->bad_lines };
    fold->before = *alike && text_equal ((*alike)->rung, rung.rung) ? *alike : fold->before;
    receipt_fold_add_cache_view (fold, &rung, result);
    rung.purpose = attempt_key_equal (&fold->board->key, &result->key) ? fold->board->purpose : PURPOSE_CLIMB;
    receipt_fold_fill_recovered (fold, host, &rung);
    receipt_fold_add_evidence (fold, host, &rung, result);
    *GROWING_ADD (fold, &host->rungs) = fold->before = keep_attempt (fold, &rung, alike);
}

/* All that share it are of this pass, and those that did not pass are told apart next. */
static void pass_rung (struct rung_receipt *rung)
{
    rung->outcome = OUTCOME_PASSED;
    rung->cause = (struct cause){ 0 };
    rung->cache = rung->pass == PASS_COLD       ? cold_pass_cache (&rung->counters)
                  : rung->pass == PASS_RESTORED ? TEXT_LIT ("restored")
                                                : (struct text){ 0 };
}

static void fold_verdict (struct receipt_fold *fold, const struct attempt_key *key, const struct verdict *verdict)
{
    struct rung_receipt *rung = verdict->host < fold->board->plan.hosts.n ? receipt_rung_own (fold, verdict->host, key)
                                                                          : NULL;
    if (rung == NULL)
        return;
    rung->outcome = verdict->outcome;
    rung->cache = receipt_fold_copy_text (fold, verdict->cache);
    receipt_fold_fill_cause (fold, verdict, rung);
    note_recheck (fold, verdict, rung);
}

void receipt_fold_add_absent (struct receipt_fold *fold, uint32_t rung, const struct verdict *verdict)
{
    struct attempt_key key = { rung, PASS_ONCE, 0 };
    if (rung >= fold->board->plan.rungs.n || verdict->host >= fold->board->plan.hosts.n)
        return;
    struct rung_receipt absent = { .rung = fold->board->plan.rungs.items[rung].id, .pass = key.pass };
    *GROWING_ADD (fold, &fold->hosts[verdict->host].rungs) = &absent; /* the verdict makes it its own */
    fold_verdict (fold, &key, verdict);
}

static void add_all_absent (struct receipt_fold *fold, uint32_t rung, const struct verdict *verdicts, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        receipt_fold_add_absent (fold, rung, &verdicts[i]);
}

static void fold_pass_ended (struct receipt_fold *fold, const struct fact_pass_ended *ended)
{
    if (ended->key.attempt == 0) {
        add_all_absent (fold, ended->key.rung, ended->verdicts.items, ended->verdicts.n);
        return;
    }
    for (uint32_t i = 0; i < fold->board->plan.hosts.n; i++) {
        struct rung_receipt **rung = receipt_rung_of (fold, i, &ended->key);
        if (rung)
            pass_rung (*rung);
    }
    for (uint32_t i = 0; i < ended->verdicts.n; i++)
        fold_verdict (fold, &ended->key, &ended->verdicts.items[i]);
    *GROWING_ADD (fold, &fold->times) = (struct rung_time){ fold->header.run,
                                                            fold->board->plan.rungs.items[ended->key.rung].id,
                                                            ended->key.pass, ended->key.attempt, ended->duration_ms };
}

static void fold_conflict (struct receipt_fold *fold, const struct fact_conflict_seen *seen)
{
    receipt_fold_add_recovery (fold,
                               text_format (&fold->arena,
                                            "conflict: %.*s sent two different results for %.*s %s attempt %u; the "
                                            "first counts",
                                            TEXT_ARG (fold->board->plan.hosts.items[seen->host].name),
                                            TEXT_ARG (fold->board->plan.rungs.items[seen->key.rung].id),
                                            enum_name_of (&pass_names, seen->key.pass), seen->key.attempt));
}

static void fold_run_ended (struct receipt_fold *fold, const struct fact *fact)
{
    fold->header.sentence = receipt_fold_copy_text (fold, fact->of.run_ended.sentence);
    fold->header.exit_status = fact->of.run_ended.exit_status;
    fold->header.ended_wall_ms = fold->header.began_wall_ms + fact->at_ms +
                                 fold->board->away_ms; /* as long as it was */
}

/* Facts also come from a disk: what the plan does not have is nobody's. */
static bool is_of_nobody (const struct receipt_fold *fold, const struct fact *fact)
{
    uint32_t hosts = fold->board->plan.hosts.n, rungs = fold->board->plan.rungs.n;
    switch (fact->kind) {
    case FACT_HOST_JOINED: return fact->of.host_joined.host >= hosts;
    case FACT_ATTEMPT_ENDED:
        return fact->of.attempt_ended.host >= hosts || fact->of.attempt_ended.result.key.rung >= rungs;
    case FACT_PASS_ENDED: return fact->of.pass_ended.key.rung >= rungs;
    case FACT_OUTPUT_LOST: return fact->of.output_lost.host >= hosts || fact->of.output_lost.key.rung >= rungs;
    case FACT_CONFLICT_SEEN: return fact->of.conflict_seen.host >= hosts || fact->of.conflict_seen.key.rung >= rungs;
    default: return false; /* looks for itself */
    }
}

void receipt_fold_apply (struct receipt_fold *fold, const struct fact *fact)
{
    if (is_of_nobody (fold, fact))
        return;
    switch (fact->kind) {
    case FACT_EPOCH_BEGAN:
        if (fact->of.epoch_began.epoch > 1)
            receipt_fold_add_recovery (fold, text_format (&fold->arena, "the coordinator was restarted (epoch %llu)",
                                                          (unsigned long long) fact->of.epoch_began.epoch));
        break;
    case FACT_HOST_JOINED: fold_joined (fold, &fact->of.host_joined); break;
    case FACT_HOST_LOST:
        fold_host (fold, fact->of.host_lost.host,
                   text_format (&fold->arena, "was lost: %.*s", TEXT_ARG (fact->of.host_lost.why)));
        break;
    case FACT_HOST_ASKED:
        fold_host (fold, fact->of.host_asked.host, host_asked_text (&fact->of.host_asked, true, &fold->arena));
        break;
    case FACT_HOST_RETURNED: fold_returned (fold, &fact->of.host_suspected); break;
    case FACT_GENERATION_ADOPTED: receipt_fold_add_generation (fold, &fact->of.generation, true); break;
    case FACT_GENERATION_PUBLISHED: receipt_fold_add_generation (fold, &fact->of.generation, false); break;
    case FACT_GENERATION_DROPPED: receipt_fold_note_dropped (fold, &fact->of.generation_dropped); break;
    case FACT_LEASE_LOST: receipt_fold_note_lease_lost (fold, &fact->of.lease_lost); break;
    case FACT_CACHE_VIOLATED: receipt_fold_add_violation (fold, fact); break;
    case FACT_PASS_BEGAN:
        if (fact->of.pass_began.purpose != PURPOSE_ISOLATION)
            receipt_fold_forget_metrics (fold, &fact->of.pass_began.key);
        break;
    case FACT_RETRY_PLANNED: receipt_fold_add_retry (fold, fact); break;
    case FACT_SUSPECTS_NAMED: receipt_fold_apply_suspects (fold, &fact->of.suspects_named); break;
    case FACT_ATTEMPT_ENDED: fold_ended (fold, &fact->of.attempt_ended); break;
    case FACT_METRIC_JUDGED: receipt_fold_add_metric (fold, &fact->of.metric_judged); break;
    case FACT_PASS_ENDED: fold_pass_ended (fold, &fact->of.pass_ended); break;
    case FACT_OUTPUT_LOST: fold_output_lost (fold, &fact->of.output_lost); break;
    case FACT_CONFLICT_SEEN: fold_conflict (fold, &fact->of.conflict_seen); break;
    case FACT_HOSTS_LEFT_BEHIND:
        add_all_absent (fold, fact->of.hosts_left_behind.rung, fact->of.hosts_left_behind.verdicts.items,
                        fact->of.hosts_left_behind.verdicts.n);
        break;
    case FACT_RUN_ENDED: fold_run_ended (fold, fact); break;
    default: break; /* what the receipt does not tell */
    }
}

/* ---- taking the receipt ---- */

static void receipt_fold_take_host (const struct receipt_fold *fold, uint32_t i, struct arena *arena,
                                    struct host_receipt *out)
{
    const struct host_fold *host = &fold->hosts[i];
    const struct profile *profile = &fold->board->plan.profile;
    *out = (struct host_receipt){
        .run = fold->header.run, .host = fold->board->plan.hosts.items[i].name, .rank = i, .setup = host->setup
    };
    out->bundle = (var_list){ host->bundle.items, host->bundle.n };
    out->policy.profile = profile->name;
    struct launch_place place = launch_place_of (&fold->board->plan, NULL, 0, i), alone = place;
    place.port = launch_port_of (profile, host->attempts[SCOPE_SLICE], 0);
    alone.port = launch_port_of (profile, host->attempts[SCOPE_HOST], i);
    var_list launched = launch_variables_of (&(struct profile){ .env = profile->env }, SCOPE_HOST,
                                             host->attempts[SCOPE_SLICE] ? &place : &alone, arena),
             host_scope = launch_variables_of_scope (profile, SCOPE_HOST, &alone, arena),
             slice_scope = launch_variables_of_scope (profile, SCOPE_SLICE, &place, arena);
    out->policy.launched = secret_redact_vars (arena, &launched); /* receipts are handed on */
    out->policy.by_host = launch_differing_by_host (&fold->board->plan, arena);
    out->policy.host_scope = secret_redact_vars (arena, &host_scope);
    out->policy.slice_scope = secret_redact_vars (arena, &slice_scope);
    out->policy.inherited = profile->inherit;
    out->policy.observed = (var_list){ host->observed.items, host->observed.n };
    out->backend.requested = profile->backend;
    out->backend.observed = host->backend;
    out->facts = (var_list){ host->facts.items, host->facts.n };
    out->notes.items = host->notes.items;
    out->notes.n = host->notes.n;
    out->rungs.items = host->rungs.items;
    out->rungs.n = host->rungs.n;
    receipt_fold_add_unheard (fold, out, arena);
}

/* Sorted by the taker: the fold keeps its own order. */
#define COPY_LIST(to, from, arena)                                                                                     \
    do {                                                                                                               \
        (to)->items = arena_copy (arena, (from)->items, (from)->n * sizeof *(from)->items);                            \
        (to)->n = (from)->n;                                                                                           \
    } while (0)

static void say_left_out (const struct receipt_fold *fold, uint64_t n, struct arena *arena, struct slice_receipt *out)
{
    if (out->recoveries.n == RECEIPT_LISTED_MAX) { /* its place */
        out->recoveries.n--;
        n++;
    }
    struct recovery_receipt *last = list_append (&out->recoveries, sizeof (*last), arena);
    *last = (struct recovery_receipt){
        fold->header.run,
        text_format (
            arena, "the lists of this receipt are full, and %llu more entries are left out: the run's journal has them",
            (unsigned long long) n)
    };
}

void board_make_receipt (const struct board *board, struct arena *arena, struct slice_receipt *out)
{
    const struct receipt_fold *fold = board->evidence;
    *out = (struct slice_receipt){ 0 };
    if (fold == NULL)
        return;
    out->headers.items = arena_copy (arena, &fold->header, sizeof (fold->header));
    out->headers.n = 1;
    if (board->running && board->purpose != PURPOSE_ISOLATION)
        out->headers.items[0].running = board_rung_id (board, board->key.rung);
    out->hosts.items = arena_array (arena, fold->board->plan.hosts.n, sizeof (struct host_receipt));
    for (out->hosts.n = 0; out->hosts.n < fold->board->plan.hosts.n; out->hosts.n++)
        receipt_fold_take_host (fold, out->hosts.n, arena, &out->hosts.items[out->hosts.n]);
    COPY_LIST (&out->times, &fold->times, arena);
    COPY_LIST (&out->reductions, &fold->reductions, arena);
    COPY_LIST (&out->generations, &fold->generations, arena);
    COPY_LIST (&out->recoveries, &fold->recoveries, arena);
    COPY_LIST (&out->violations, &fold->violations, arena);
    uint64_t left_out = fold->left_out + record_fit (&slice_receipt_record, out);
    if (left_out > 0)
        say_left_out (fold, left_out, arena, out);
    merge_normalise (out);
}
