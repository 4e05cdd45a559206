#include "coordinator/cli/cache.h"

#include "coordinator/story/drift.h"
#include "coordinator/verdict/recompile_reason.h"
#include <string.h>

/* One host of one run: the last result of each rung, one that told keys before one that did not. */
struct side {
    struct text host;
    struct run_dir dir;
    struct plan plan;
    uint32_t rank;
    struct result *rungs; /* of the plan's rungs; ending none: it has none */
    struct result known;  /* what any of them told of the host: bundle, policy, facts, backend */
    struct arena *arena;
};

struct explained {
    struct text rung;
    bool both;                /* ran on both */
    uint32_t here_n, there_n; /* keys that were told */
    struct cache_key_difference_list keys;
    struct cache_key_cause_list causes;
};

struct explanation {
    struct cli *cli;
    struct arena *arena;
    struct side here, there;
    struct explained *rungs;
    uint32_t n;
};

/* ---- reading ---- */

static void keep_known (struct result *known, const struct result *result)
{
    if (result->bundle.n)
        known->bundle = result->bundle;
    if (result->policy.n)
        known->policy = result->policy;
    if (result->facts.n)
        known->facts = result->facts;
    if (!record_is_empty (&backend_record, &result->backend))
        known->backend = result->backend;
}

static void cache_explain_on_fact (void *owner, const struct fact *fact)
{
    struct side *side = owner;
    const struct fact_attempt_ended *ended = &fact->of.attempt_ended;
    if (fact->kind != FACT_ATTEMPT_ENDED || ended->host != side->rank || ended->result.key.rung >= side->plan.rungs.n)
        return;
    struct result *kept = &side->rungs[ended->result.key.rung];
    if (kept->keys.n && !ended->result.keys.n)
        return;
    record_copy (&result_record, kept, &ended->result, side->arena);
    keep_known (&side->known, kept);
}

/* ---- what keys were made of ---- */

/* Who finds an entry does not tell what its key was made of; who compiled it did, and equal keys have equal parts. */
static void fill_from (struct result *result, const struct cache_key *told, uint32_t n, struct arena *arena)
{
    for (uint32_t i = 0; i < result->keys.n; i++) {
        struct cache_key *key = &result->keys.items[i];
        for (uint32_t k = 0; k < n && !key->parts.n; k++)
            if (told[k].parts.n && text_equal (key->key, told[k].key) && text_equal (key->program, told[k].program)) {
                struct cache_key copy;
                record_copy (&cache_key_record, &copy, &told[k], arena);
                key->parts = copy.parts;
            }
    }
}

static void on_told (void *owner, const struct fact *fact)
{
    struct side *side = owner;
    const struct result *result = &fact->of.attempt_ended.result;
    const struct fact_generation *generation = &fact->of.generation;
    if (fact->kind == FACT_ATTEMPT_ENDED && result->key.rung < side->plan.rungs.n)
        fill_from (&side->rungs[result->key.rung], result->keys.items, result->keys.n, side->arena);
    if (fact->kind != FACT_GENERATION_ADOPTED && fact->kind != FACT_GENERATION_PUBLISHED)
        return;
    for (uint32_t i = 0; i < side->plan.rungs.n; i++)
        fill_from (&side->rungs[i], generation->keys.items, generation->keys.n, side->arena);
}

/* ---- the hosts that were named ---- */

static int cache_explain_take_host (struct side *side, struct text host, struct err *err)
{
    int rank = plan_host_rank (&side->plan, host);
    if (rank < 0)
        return err_set (err, ERR_USAGE, "run %.8s has no host '%.*s'; sliceup status %.8s lists them", side->dir.id,
                        TEXT_ARG (text_clip (host, 64)), side->dir.id);
    side->rank = (uint32_t) rank;
    side->host = side->plan.hosts.items[rank].name;
    return 0;
}

/* HOST, or HOST@RUN. */
static int read_side (struct explanation *all, struct side *side, const char *operand, const char *run, struct err *err)
{
    const char *at = strrchr (operand, '@');
    struct text host = at ? (struct text){ operand, (uint32_t) (at - operand) } : text_of (operand);
    side->arena = all->arena;
    if (cache_find_run (all->cli, at ? at + 1 : run, &side->dir, side->arena, &side->plan, err) != 0 ||
        cache_explain_take_host (side, host, err) != 0)
        return -1;
    side->rungs = arena_array (side->arena, side->plan.rungs.n, sizeof *side->rungs);
    return run_facts_each (&side->dir, cache_explain_on_fact, side, err) == 0
               ? run_facts_each (&side->dir, on_told, side, err)
               : -1;
}

/* ---- comparing ---- */

/* What a rung told of its host, and where it told nothing what any other did. */
static struct result whole (const struct side *side, const struct result *rung)
{
    struct result result = side->known;
    keep_known (&result, rung);
    result.programs = rung->programs;
    return result;
}

static struct text args_of (const struct rung *rung, struct arena *arena)
{
    struct buf out = { .max = 1 << 16 };
    for (uint32_t i = 0; i < rung->args.n; i++)
        buf_printf (&out, "%s%.*s=%.*s", i ? " " : "", TEXT_ARG (rung->args.items[i].name),
                    TEXT_ARG (rung->args.items[i].value));
    for (uint32_t i = 0; i < rung->argv.n; i++)
        buf_printf (&out, "%s%.*s", out.len ? " " : "", TEXT_ARG (rung->argv.items[i]));
    return buf_finish (&out, arena);
}

static struct text mesh_of (const struct plan *plan, struct arena *arena)
{
    struct buf out = { .max = 4096 };
    for (uint32_t i = 0; i < plan->mesh.n; i++)
        buf_printf (&out, "%s%.*s=%u", i ? " " : "", TEXT_ARG (plan->mesh.items[i].axis), plan->mesh.items[i].size);
    return buf_finish (&out, arena);
}

static void cache_explain_add_cause (struct explanation *all, struct cache_key_cause_list *causes, const char *what,
                                     struct text here, struct text there)
{
    if (text_equal (here, there))
        return;
    causes->items[causes->n++] = (struct cache_key_cause){ .what = text_of (what),
                                                           .here = here,
                                                           .there = there,
                                                           .text = text_format (all->arena, "%s: %.*s here, %.*s there",
                                                                                what, TEXT_ARG (text_clip (here, 200)),
                                                                                TEXT_ARG (text_clip (there, 200))) };
}

/* What two runs were asked for, besides what their hosts told. */
static void add_plans (struct explanation *all, uint32_t here, uint32_t there, struct cache_key_cause_list *causes)
{
    enum { OF_PLANS = 4 };
    const struct plan *a = &all->here.plan, *b = &all->there.plan;
    struct cache_key_cause *items = arena_array (all->arena, causes->n + OF_PLANS, sizeof *items);
    if (causes->n)
        memcpy (items, causes->items, causes->n * sizeof *items);
    causes->items = items;
    cache_explain_add_cause (all, causes, "program", text_clip (a->rungs.items[here].program.sha256, 12),
                             text_clip (b->rungs.items[there].program.sha256, 12));
    cache_explain_add_cause (all, causes, "arguments", args_of (&a->rungs.items[here], all->arena),
                             args_of (&b->rungs.items[there], all->arena));
    cache_explain_add_cause (all, causes, "mesh", mesh_of (a, all->arena), mesh_of (b, all->arena));
    cache_explain_add_cause (all, causes, "devices a host", text_format (all->arena, "%u", a->profile.devices_per_host),
                             text_format (all->arena, "%u", b->profile.devices_per_host));
}

static void explain_rung (struct explanation *all, uint32_t here, uint32_t there)
{
    const struct result *a = &all->here.rungs[here], *b = &all->there.rungs[there];
    struct explained *rung = &all->rungs[all->n];
    *rung = (struct explained){ .rung = all->here.plan.rungs.items[here].id,
                                .both = a->ending && b->ending,
                                .here_n = a->keys.n,
                                .there_n = b->keys.n };
    if (!a->keys.n && !b->keys.n)
        return;
    all->n++;
    if (!a->keys.n || !b->keys.n)
        return;
    struct result mine = whole (&all->here, a), theirs = whole (&all->there, b);
    recompiled_compare_keys (a->keys.items, a->keys.n, b->keys.items, b->keys.n, all->arena, &rung->keys);
    if (!rung->keys.n)
        return;
    cache_key_causes_find (&mine, &theirs, all->arena, &rung->causes);
    if (strcmp (all->here.dir.id, all->there.dir.id) != 0)
        add_plans (all, here, there, &rung->causes);
}

static void explain_all (struct explanation *all)
{
    all->rungs = arena_array (all->arena, all->here.plan.rungs.n, sizeof *all->rungs);
    for (uint32_t i = 0; i < all->here.plan.rungs.n; i++) {
        int there = plan_rung_index (&all->there.plan, all->here.plan.rungs.items[i].id);
        if (there >= 0)
            explain_rung (all, i, (uint32_t) there);
    }
}

/* ---- saying it ---- */

static int cache_explain_status_of (const struct explanation *all)
{
    bool compared = false, differ = false;
    for (uint32_t i = 0; i < all->n; i++) {
        compared = compared || (all->rungs[i].here_n && all->rungs[i].there_n);
        differ = differ || all->rungs[i].keys.n;
    }
    return differ ? EXIT_BROKEN : compared ? EXIT_HOLDS : EXIT_COULD_NOT;
}

static json_t *cache_explain_rung_json (const struct explained *rung)
{
    json_t *keys = json_array (), *causes = json_array ();
    for (uint32_t i = 0; i < rung->keys.n; i++) {
        const struct cache_key_difference *key = &rung->keys.items[i];
        json_array_append_new (keys, json_pack ("{s:o, s:o, s:o, s:o}", "program", escaped_json (key->program), "part",
                                                escaped_json (key->part), "here", escaped_json (key->here), "there",
                                                escaped_json (key->there)));
    }
    for (uint32_t i = 0; i < rung->causes.n; i++) {
        const struct cache_key_cause *cause = &rung->causes.items[i];
        json_array_append_new (causes, json_pack ("{s:o, s:o, s:o, s:o}", "what", escaped_json (cause->what), "here",
                                                  escaped_json (cause->here), "there", escaped_json (cause->there),
                                                  "text", escaped_json (cause->text)));
    }
    return json_pack ("{s:o, s:b, s:i, s:i, s:o, s:o}", "rung", escaped_json (rung->rung), "compared",
                      rung->here_n && rung->there_n, "keys_here", (int) rung->here_n, "keys_there", (int) rung->there_n,
                      "differences", keys, "likely_causes", causes);
}

static json_t *side_json (const struct side *side)
{
    return json_pack ("{s:o, s:s}", "host", escaped_json (side->host), "run", side->dir.id);
}

static int cache_explain_show_json (const struct explanation *all)
{
    json_t *rungs = json_array ();
    for (uint32_t i = 0; i < all->n; i++)
        json_array_append_new (rungs, cache_explain_rung_json (&all->rungs[i]));
    return cli_print_json (all->cli, "sliceup.cache-explain/1",
                           json_pack ("{s:o, s:o, s:o}", "here", side_json (&all->here), "there",
                                      side_json (&all->there), "rungs", rungs));
}

static void add_keys (const struct explained *rung, const struct style *style, struct buf *out)
{
    for (uint32_t i = 0; i < rung->keys.n; i++) {
        const struct cache_key_difference *key = &rung->keys.items[i];
        struct line line = line_begin (out, style);
        line_printf (&line, "    %.*s: ", TEXT_ARG (key->program));
        if (text_is (key->part, "program"))
            line_puts (&line, key->here.len ? "requested only here" : "requested only there");
        else
            line_printf (&line, "%.*s differs: %.*s here, %.*s there", TEXT_ARG (key->part), TEXT_ARG (key->here),
                         TEXT_ARG (key->there));
        line_end (&line);
    }
}

static void cache_explain_add_causes (const struct explained *rung, const struct style *style, struct buf *out)
{
    line_print_painted (out, style, PAINT_NONE,
                        text_of (rung->causes.n
                                     ? "    likely because of"
                                     : "    nothing that the hosts reported differs: check the inputs of the program"));
    for (uint32_t i = 0; i < rung->causes.n; i++) {
        struct line line = line_begin (out, style);
        line_puts (&line, "      ");
        line_paint (&line, PAINT_STRONG);
        line_text (&line, rung->causes.items[i].text);
        line_end (&line);
    }
}

static void cache_explain_add_rung (const struct explained *rung, const struct style *style, struct buf *out)
{
    struct line line = line_begin (out, style);
    line_printf (&line, "  %.*s: ", TEXT_ARG (rung->rung));
    line_paint (&line, rung->keys.n ? PAINT_BAD : rung->both ? PAINT_GOOD : PAINT_WARN);
    if (!rung->both)
        line_puts (&line, "the rung ran on only one of the two hosts");
    else if (!rung->here_n || !rung->there_n)
        line_printf (&line, "no cache keys were reported %s", rung->here_n ? "there" : "here");
    else if (rung->keys.n)
        line_puts (&line, "the keys differ");
    else
        line_printf (&line, "equal cache keys for %u program%s", rung->here_n, plural (rung->here_n));
    line_end (&line);
    if (rung->keys.n) {
        add_keys (rung, style, out);
        cache_explain_add_causes (rung, style, out);
    }
}

static int cache_explain_show_text (const struct explanation *all)
{
    struct style style = cli_detect_style (all->cli);
    struct buf out = { .max = CLI_ANSWER_MAX_BYTES };
    style.columns = 0;
    struct line line = line_begin (&out, &style);
    line_printf (&line, "here: %.*s in run %.8s   there: %.*s in run %.8s", TEXT_ARG (all->here.host), all->here.dir.id,
                 TEXT_ARG (all->there.host), all->there.dir.id);
    line_end (&line);
    for (uint32_t i = 0; i < all->n; i++)
        cache_explain_add_rung (&all->rungs[i], &style, &out);
    if (all->n == 0)
        buf_puts (
            &out,
            "no rung reported cache keys on either host: they ran without a cache, or their frontend reports none\n");
    return cli_write_stdout (all->cli, &out);
}

int cache_explain (struct cli *cli, const struct cache_request *request, struct cache_location *target)
{
    struct explanation all = { .cli = cli, .arena = &target->arena };
    struct err err = { 0 };
    const char *run = request->operands_n > 2 ? request->operands[2] : NULL;
    if (read_side (&all, &all.here, request->operands[0], run, &err) != 0 ||
        read_side (&all, &all.there, request->operands[1],
                   run || strchr (request->operands[0], '@') ? run : all.here.dir.id, &err) != 0)
        return cli_fail (cli, &err);
    explain_all (&all);
    int status = request->json ? cache_explain_show_json (&all) : cache_explain_show_text (&all);
    return status == EXIT_HOLDS ? cache_explain_status_of (&all) : status;
}
