#include "coordinator/cli/cache.h"

#include "common/cache/storage.h"
#include "common/io/clock.h"
#include <inttypes.h>

enum { SAY_AFTER_MS = 2000 };

struct verification {
    struct cli *cli;
    const struct cache_request *request;
    const struct cache_location *target;
    char storage[STORAGE_ID_BYTES];
    struct cache_audit_result looked;
    struct arena *arena;
    uint64_t sent_ms;
};

static void on_progress (void *owner, const struct cache_audit_progress *progress)
{
    struct verification *run = owner;
    uint64_t now_ms = clock_boot_ms ();
    if (now_ms - run->sent_ms < SAY_AFTER_MS)
        return;
    run->sent_ms = now_ms;
    log_print (&run->cli->log, "verifying generation %" PRIu64 " of %.*s, %u of %u", progress->token,
               TEXT_ARG (progress->bundle), progress->done + 1, progress->all);
}

/* ---- the storage, as the hosts of a run saw it ---- */

struct views {
    struct text *storage;
    uint32_t n;
    struct arena *arena;
};

static void cache_verify_on_fact (void *owner, const struct fact *fact)
{
    struct views *views = owner;
    const struct fact_attempt_ended *ended = &fact->of.attempt_ended;
    if (fact->kind == FACT_ATTEMPT_ENDED && ended->host < views->n && ended->result.cache.storage.len)
        views->storage[ended->host] = text_copy (views->arena, ended->result.cache.storage);
}

static void add_other (struct verification *run, struct text host, struct text storage)
{
    struct cache_root_finding *other = list_append (&run->looked.found, sizeof *other, run->arena);
    *other = (struct cache_root_finding){
        .finding = { .kind = FINDING_NOT_SAME_STORAGE,
                     .path = TEXT_LIT ("storage"),
                     .detail = text_format (
                         run->arena, "host %.*s sees storage %.*s under this path, but this machine sees %s there",
                         TEXT_ARG (host), TEXT_ARG (storage), run->storage) }
    };
}

static int compare_hosts (struct verification *run, struct err *err)
{
    const struct plan *plan = &run->target->plan;
    struct views views = { .n = plan->hosts.n, .arena = run->arena };
    if (run->target->dir.id[0] == '\0')
        return 0;
    views.storage = arena_array (run->arena, views.n, sizeof *views.storage);
    if (run_facts_each (&run->target->dir, cache_verify_on_fact, &views, err) != 0)
        return -1;
    for (uint32_t i = 0; i < views.n; i++)
        if (views.storage[i].len && !text_is (views.storage[i], run->storage))
            add_other (run, plan->hosts.items[i].name, views.storage[i]);
    return 0;
}

/* ---- looking ---- */

static int take_tokens (struct verification *run, uint64_t *tokens, struct err *err)
{
    const struct cache_request *request = run->request;
    for (uint32_t i = 0; i < request->operands_n; i++)
        if (!text_to_u64 (text_of (request->operands[i]), &tokens[i]) || tokens[i] == 0)
            return err_set (err, ERR_USAGE, "'%.60s' is not a generation number", request->operands[i]);
    return 0;
}

/* Where nothing can be written all is looked at the same, only what is seen cannot be remembered. */
static struct catalogue *open_catalogue (const char *root, struct err *err)
{
    struct catalogue *catalogue = catalogue_open_read_only (root, err);
    if (!catalogue)
        return NULL;
    struct catalogue *writable = catalogue_open (root, NULL);
    if (!writable)
        return catalogue;
    catalogue_close (catalogue);
    return writable;
}

static int cache_verify_look (struct verification *run, struct err *err)
{
    uint64_t *tokens = arena_array (run->arena, run->request->operands_n, sizeof *tokens);
    if (take_tokens (run, tokens, err) != 0 || storage_id (run->target->root, false, run->storage, err) != 0)
        return -1;
    struct catalogue *catalogue = open_catalogue (run->target->root, err);
    if (!catalogue)
        return -1;
    struct cache_audit_options audit = { .catalogue = catalogue,
                                         .root = run->target->root,
                                         .trust = &run->target->trust,
                                         .every_byte = !run->request->quick,
                                         .tokens = tokens,
                                         .tokens_n = run->request->operands_n,
                                         .progress = on_progress,
                                         .owner = run };
    int rc = cache_audit (&audit, run->arena, &run->looked, err);
    catalogue_close (catalogue);
    return rc == 0 ? compare_hosts (run, err) : -1;
}

/* ---- JSON ---- */

static int cache_verify_show_json (const struct verification *run)
{
    const struct cache_audit_result *looked = &run->looked;
    json_t *found = json_array (), *problems = json_array ();
    for (uint32_t i = 0; i < looked->found.n; i++) {
        const struct cache_root_finding *at = &looked->found.items[i];
        const struct finding *finding = &at->finding;
        json_array_append_new (
            found,
            json_pack ("{s:s, s:o, s:o, s:o, s:o, s:o}", "finding", enum_name_of (&finding_kind_names, finding->kind),
                       "bundle", text_or_null_json (at->bundle), "generation", number_or_null_json (finding->token),
                       "path", text_or_null_json (finding->path), "detail", text_or_null_json (finding->detail), "run",
                       text_or_null_json (at->run)));
    }
    for (uint32_t i = 0; i < looked->problems.n; i++) {
        const struct cache_audit_problem *problem = &looked->problems.items[i];
        json_array_append_new (problems,
                               json_pack ("{s:o, s:I, s:o}", "bundle", escaped_json (problem->bundle), "generation",
                                          (json_int_t) problem->token, "why", escaped_json (problem->why)));
    }
    return cli_print_json (run->cli, "sliceup.cache-verify/1",
                           json_pack ("{s:s, s:s, s:b, s:i, s:I, s:o, s:o}", "root", run->target->root, "storage",
                                      run->storage, "every_byte", !run->request->quick, "generations",
                                      (int) looked->generations, "bytes", (json_int_t) looked->bytes, "findings", found,
                                      "problems", problems));
}

/* ---- text ---- */

static void add_found (struct buf *out, const struct style *style, const struct cache_root_finding *found)
{
    struct line line = line_begin (out, style);
    const struct finding *finding = &found->finding;
    line_painted (&line, PAINT_BAD, text_of (enum_name_of (&finding_kind_names, finding->kind)));
    if (found->bundle.len)
        line_printf (&line, "  %.*s generation %" PRIu64, TEXT_ARG (found->bundle), finding->token);
    line_puts (&line, "  ");
    line_text (&line, finding->path);
    if (finding->detail.len) {
        line_puts (&line, ": ");
        line_text (&line, finding->detail);
    }
    if (found->run.len)
        line_printf (&line, " (its token was granted to run %.8s)", found->run.ptr);
    line_end (&line);
}

static void add_problem (struct buf *out, const struct style *style, const struct cache_audit_problem *problem)
{
    struct line line = line_begin (out, style);
    line_painted (&line, PAINT_WARN, TEXT_LIT ("not verified"));
    line_puts (&line, "  ");
    line_text (&line, problem->why);
    line_end (&line);
}

static int cache_verify_show_text (const struct verification *run)
{
    struct style style = cli_detect_style (run->cli);
    const struct cache_audit_result *looked = &run->looked;
    struct buf out = { .max = CLI_ANSWER_MAX_BYTES };
    style.columns = 0; /* findings are for tickets: never cut */
    for (uint32_t i = 0; i < looked->found.n; i++)
        add_found (&out, &style, &looked->found.items[i]);
    for (uint32_t i = 0; i < looked->problems.n; i++)
        add_problem (&out, &style, &looked->problems.items[i]);
    buf_printf (&out,
                "%s (storage %s): %u sealed generation%s, %s, compared with %s manifest%s %s: ", run->target->root,
                run->storage, looked->generations, plural (looked->generations), SIZE_TEXT (looked->bytes),
                looked->generations == 1 ? "its" : "their", plural (looked->generations),
                run->request->quick ? "by names, sizes and modes" : "byte by byte");
    if (looked->found.n)
        buf_printf (&out, "%u finding%s\n", looked->found.n, plural (looked->found.n));
    else
        buf_puts (&out, looked->problems.n ? "some could not be verified\n" : "unchanged since they were sealed\n");
    return cli_write_stdout (run->cli, &out);
}

int cache_verify (struct cli *cli, const struct cache_request *request, struct cache_location *target)
{
    struct verification run = {
        .cli = cli, .request = request, .target = target, .arena = &target->arena, .sent_ms = clock_boot_ms ()
    };
    struct err err = { 0 };
    if (cache_verify_look (&run, &err) != 0)
        return cli_fail (cli, &err);
    int status = request->json ? cache_verify_show_json (&run) : cache_verify_show_text (&run);
    if (status != EXIT_HOLDS)
        return status;
    return run.looked.found.n ? EXIT_CACHE : run.looked.problems.n ? EXIT_COULD_NOT : EXIT_HOLDS;
}
