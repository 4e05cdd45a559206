#include "coordinator/cli/climb.h"
#include "coordinator/cli/env.h"
#include "coordinator/cli/planning.h"
#include "coordinator/home/run_begun.h"

/* The rung of a slice whose ladder has none. */
enum { RESTORE_TIMEOUT_MS = 60 * 60 * 1000 };

static bool is_builtin (const struct rung *rung, const char *name)
{
    return rung->kind == PROGRAM_BUILTIN && text_is (rung->builtin, name);
}

static const struct rung *find (const struct plan *plan, const char *builtin)
{
    for (uint32_t i = 0; i < plan->rungs.n; i++)
        if (is_builtin (&plan->rungs.items[i], builtin))
            return &plan->rungs.items[i];
    return NULL;
}

static struct rung restoring (const struct plan *plan, bool build, struct arena *arena)
{
    static const struct rung usual = { .id = TEXT_LIT ("environment"),
                                       .kind = PROGRAM_BUILTIN,
                                       .builtin = TEXT_LIT ("restore"),
                                       .scope = SCOPE_HOST,
                                       .timeout_ms = RESTORE_TIMEOUT_MS };
    static const struct var only_look = { TEXT_LIT ("build"), TEXT_LIT ("false") };
    const struct rung *given = find (plan, "restore");
    struct rung rung = given ? *given : usual;
    rung.args.n = build ? 0 : 1;
    rung.args.items = build ? NULL : arena_copy (arena, &only_look, sizeof only_look);
    return rung;
}

/* What the slice would do, without what is not about its environment. */
static int reduce (struct plan *plan, bool build, struct arena *arena, struct err *err)
{
    const struct rung *facts = find (plan, "facts");
    struct rung *rungs = arena_array (arena, 2, sizeof *rungs);
    uint32_t n = 0;
    if (!plan->pins.file.path.len)
        return err_set (err, ERR_CONFIG,
                        "slice %.*s names no pin set, so there is no environment to restore; give it the "
                        "key 'pins', or name one with --pins",
                        TEXT_ARG (plan->slice));
    if (facts)
        rungs[n++] = *facts;
    rungs[n++] = restoring (plan, build, arena);
    plan->rungs.items = rungs;
    plan->rungs.n = n;
    plan->ladder = build ? TEXT_LIT ("env-restore") : TEXT_LIT ("env-check");
    plan->cache = (struct cache_plan){ .mode = CACHE_OFF };
    return 0;
}

static int climb_it (struct cli *cli, struct plan *plan, bool build, struct arena *arena)
{
    struct run_dir dir;
    struct err err = { 0 };
    char heading[256];
    int making_fd = reduce (plan, build, arena, &err) < 0 ? -1 : run_begun_make (&dir, cli->home, &err);
    if (making_fd < 0)
        return cli_fail (cli, &err);
    snprintf (heading, sizeof heading,
              "run %.8s: environment %.*s %s on %u host%s (from another terminal: sliceup watch %.8s)", dir.id,
              TEXT_ARG (plan->pins.name), build ? "restored" : "checked", plan->hosts.n, plan->hosts.n == 1 ? "" : "s",
              dir.id);
    return climb (cli, &dir, plan, making_fd, heading);
}

static int restore (struct cli *cli, int argc, char **argv, bool build)
{
    struct arena arena = { 0 };
    struct plan plan = { 0 };
    int status = planning_load (cli, &env_command, argc, argv, &arena, &plan);
    if (status == EXIT_HOLDS)
        status = climb_it (cli, &plan, build, &arena);
    arena_release (&arena);
    return status;
}

int env_restore (struct cli *cli, int argc, char **argv)
{
    return restore (cli, argc, argv, true);
}

int env_check (struct cli *cli, int argc, char **argv)
{
    return restore (cli, argc, argv, false);
}
