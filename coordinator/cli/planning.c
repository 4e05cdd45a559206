#include "coordinator/cli/planning.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/duration.h"

static void print_problems (const struct cli *cli, const struct conf_report *report)
{
    struct buf line;
    buf_init (&line, 1 << 16);
    for (uint32_t i = 0; i < report->n; i++) {
        const struct conf_problem *problem = &report->items[i];
        buf_clear (&line);
        buf_printf (&line, "%s:%u:%u: %s", problem->file, problem->line, problem->column, problem->warning ? "warning: " : "");
        buf_escaped (&line, text_of (problem->text), 0); /* it quotes the file */
        fprintf (cli->log.to, "%s\n", buf_c (&line));
    }
    buf_release (&line);
}

static uint32_t count_errors (const struct conf_report *report)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < report->n; i++)
        n += !report->items[i].warning;
    return n;
}

static int take_arguments (struct cli *cli, const struct cli_command *command, int argc, char **argv, struct conf_options *options)
{
    static const char *const known[] = { "--profile", "--ladder", "--pins", NULL };
    for (int i = 1; i < argc; i++) {
        if (cli_option (argc, argv, &i, "--profile", &options->profile) || cli_option (argc, argv, &i, "--ladder", &options->ladder) ||
            cli_option (argc, argv, &i, "--pins", &options->pins))
            continue;
        if (argv[i][0] == '-' || options->slice_path)
            return cli_unknown (cli, command, argv[i], known);
        options->slice_path = argv[i];
    }
    if (options->slice_path)
        return EXIT_HOLDS;
    fprintf (cli->log.to, "sliceup %s: which slice? usage: sliceup %s\n", command->name, command->usage);
    return EXIT_USAGE;
}

int planning_load (struct cli *cli, const struct cli_command *command, int argc, char **argv, struct arena *arena, struct plan *plan)
{
    struct conf_options options = { .share_dir = cli->share_dir, .home = cli->home };
    struct conf_report report = { 0 };
    struct err err = { 0 };
    int status = take_arguments (cli, command, argc, argv, &options);
    if (status != EXIT_HOLDS)
        return status;
    int rc = conf_load (&options, arena, plan, &report, &err);
    print_problems (cli, &report);
    if (rc == 0)
        return EXIT_HOLDS;
    if (count_errors (&report) == 0)
        return cli_fail (cli, &err);
    log_say (&cli->log, "%u mistake%s in '%s' and what it names", count_errors (&report), count_errors (&report) == 1 ? "" : "s",
             options.slice_path);
    return EXIT_USAGE;
}

static void print_coordinates (const struct plan *plan, uint32_t rank, FILE *to)
{
    uint32_t per_host = plan->profile.devices_per_host, at[MESH_AXES_MAX];
    for (uint32_t i = 0; i < per_host; i++) {
        mesh_coordinates (&plan->mesh, rank * per_host + i, at);
        fprintf (to, "%s(", i ? " " : "");
        for (uint32_t axis = 0; axis < plan->mesh.n; axis++)
            fprintf (to, "%s%u", axis ? "," : "", at[axis]);
        fputc (')', to);
    }
}

static void print_hosts (const struct plan *plan, FILE *to)
{
    fprintf (to, "mesh    ");
    for (uint32_t i = 0; i < plan->mesh.n; i++)
        fprintf (to, "%s%.*s: %u", i ? ", " : "", TEXT_ARG (plan->mesh.items[i].axis), plan->mesh.items[i].size);
    fprintf (to, "\nhosts   %u, %u device%s each\n", plan->hosts.n, plan->profile.devices_per_host,
             plan->profile.devices_per_host == 1 ? "" : "s");
    enum { SHOWN = 16 };
    for (uint32_t i = 0; i < plan->hosts.n && i < SHOWN; i++) {
        fprintf (to, "  rank %-4u %-20.*s %-16.*s ", i, TEXT_ARG (plan->hosts.items[i].name), TEXT_ARG (plan->hosts.items[i].address));
        print_coordinates (plan, i, to);
        fputc ('\n', to);
    }
    if (plan->hosts.n > SHOWN)
        fprintf (to, "  ... and %u more\n", plan->hosts.n - SHOWN);
}

static const char *passes_of (const struct plan *plan, const struct rung *rung)
{
    if (rung->warm == WARM_NONE || plan->cache.mode != CACHE_SINGLE_WRITER)
        return "once";
    return rung->warm == WARM_SOLO ? "cold on the writer, restored on all" : "cold on all, restored on all";
}

static void print_rungs (const struct plan *plan, FILE *to)
{
    fprintf (to, "ladder  %.*s\n", TEXT_ARG (plan->ladder));
    for (uint32_t i = 0; i < plan->rungs.n; i++) {
        const struct rung *rung = &plan->rungs.items[i];
        char limit[DURATION_TEXT_BYTES];
        fprintf (to, "  %-2u %-18.*s %-6s %-8s %-36s at most %s", i + 1, TEXT_ARG (rung->id), names_of (&scope_names, rung->scope),
                 names_of (&program_kind_names, rung->kind), passes_of (plan, rung), duration_print (rung->timeout_ms, limit));
        for (uint32_t k = 0; k < rung->metrics.n; k++)
            fprintf (to, "%s%.*s", k ? ", " : "; proves ", TEXT_ARG (rung->metrics.items[k]));
        fputc ('\n', to);
    }
}

void planning_print (const struct plan *plan, FILE *to)
{
    fprintf (to, "slice   %.*s (%.*s)\n", TEXT_ARG (plan->slice), TEXT_ARG (plan->source.path));
    print_hosts (plan, to);
    fprintf (to, "policy  profile %.*s: frontend %.*s, backend %.*s\n", TEXT_ARG (plan->profile.name), TEXT_ARG (plan->profile.frontend),
             TEXT_ARG (plan->profile.backend));
    for (uint32_t i = 0; i < plan->profile.env.n; i++)
        fprintf (to, "  %.*s=%.*s\n", TEXT_ARG (plan->profile.env.items[i].name), TEXT_ARG (plan->profile.env.items[i].value));
    if (plan->pins.file.path.len)
        fprintf (to, "pins    %.*s (sha256 %.12s...)\n", TEXT_ARG (plan->pins.name), plan->pins.file.sha256.ptr);
    fprintf (to, "cache   %s", names_of (&cache_mode_names, plan->cache.mode));
    if (plan->cache.mode == CACHE_SINGLE_WRITER)
        fprintf (to, ", written by %.*s, under %.*s", TEXT_ARG (plan->cache.writer), TEXT_ARG (plan->cache.root));
    fputc ('\n', to);
    print_rungs (plan, to);
}
