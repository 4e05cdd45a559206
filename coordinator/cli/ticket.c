#include <string.h>

#include "coordinator/cli/cli.h"
#include "coordinator/cli/planning.h"
#include "coordinator/io/ticket.h"

struct wish { const char *slice, *out, *hosts; bool renew; };

static int take_arguments (struct cli *cli, int argc, char **argv, struct wish *wish)
{
    static const char *const known[] = { "--out", "--hosts", "--renew", NULL };
    for (int i = 1; i < argc; i++) {
        if (cli_option (argc, argv, &i, "--out", &wish->out) || cli_option (argc, argv, &i, "--hosts", &wish->hosts))
            continue;
        if (strcmp (argv[i], "--renew") == 0)
            wish->renew = true;
        else if (argv[i][0] == '-' || wish->slice)
            return cli_unknown (cli, &ticket_command, argv[i], known);
        else
            wish->slice = argv[i];
    }
    if (wish->slice && wish->out && wish->out[0])
        return EXIT_HOLDS;
    fprintf (cli->log.to, "sliceup ticket: which slice, and where to? usage: sliceup %s\n", ticket_command.usage);
    return EXIT_USAGE;
}

static int all_hosts (const struct plan *plan, struct arena *arena, struct name_list *hosts)
{
    hosts->items = arena_array (arena, plan->hosts.n, sizeof *hosts->items);
    for (hosts->n = 0; hosts->n < plan->hosts.n; hosts->n++)
        hosts->items[hosts->n] = plan->hosts.items[hosts->n].name;
    return 0;
}

static int choose_hosts (const struct plan *plan, const char *expression, struct arena *arena, struct name_list *hosts,
                         struct err *err)
{
    if (!expression)
        return all_hosts (plan, arena, hosts);
    if (hostset_expand (text_of (expression), arena, hosts, err) < 0)
        return err_prefix (err, "--hosts");
    for (uint32_t i = 0; i < hosts->n; i++)
        if (plan_rank (plan, hosts->items[i]) < 0)
            return err_set (err, ERR_USAGE, "--hosts: %.*s is no host of slice %.*s", TEXT_ARG (hosts->items[i]),
                            TEXT_ARG (plan->slice));
    return 0;
}

static void say_made (const struct wish *wish, const struct plan *plan, const struct name_list *hosts)
{
    struct buf folded;
    buf_init (&folded, 1 << 20);
    hostset_fold (hosts->items, hosts->n, &folded);
    printf ("%u ticket%s for %s of slice %.*s in %s\n"
            "Carry each to its host, readable there by its user only, then start there:\n"
            "  sliceup-worker join --ticket FILE --stay\n"
            "and here:\n  sliceup run %s\n", hosts->n, hosts->n == 1 ? "" : "s", buf_c (&folded), TEXT_ARG (plan->slice),
            wish->out, wish->slice);
    buf_release (&folded);
}

static int issue (struct cli *cli, const struct wish *wish, const struct plan *plan, struct arena *arena)
{
    struct name_list hosts = { 0 };
    struct err err = { 0 };
    struct ticket_order order = { .plan = plan, .hosts = &hosts, .folder = wish->out, .renew = wish->renew,
                                  .renew_slice = wish->renew && !wish->hosts };
    if (choose_hosts (plan, wish->hosts, arena, &hosts, &err) < 0 || ticket_issue (&order, &err) < 0)
        return cli_fail (cli, &err);
    say_made (wish, plan, &hosts);
    return EXIT_HOLDS;
}

static int ticket_run (struct cli *cli, int argc, char **argv)
{
    struct arena arena = { 0 };
    struct plan plan = { 0 };
    struct wish wish = { 0 };
    int status = take_arguments (cli, argc, argv, &wish);
    if (status == EXIT_HOLDS) {
        char *words[] = { argv[0], (char *) wish.slice, NULL };
        status = planning_load (cli, &ticket_command, 2, words, &arena, &plan);
    }
    if (status == EXIT_HOLDS)
        status = issue (cli, &wish, &plan, &arena);
    arena_release (&arena);
    return status;
}

const struct cli_command ticket_command = {
    .name = "ticket",
    .usage = "ticket SLICE.yaml --out DIR [--hosts EXPR] [--renew]",
    .summary = "make the files with which workers come by themselves (launcher: join)",
    .help = "Writes DIR/<host>.ticket for every host of the slice: where the coordinator is, its public key, and a key pair of\n"
            "the host's own. Whoever has a ticket is that host for every run of the slice, so it is a secret: mode 0600, carried\n"
            "over a channel that you trust. The slice's own pair is made once and stays under SLICEUP_HOME/slices/<slice>.\n\n"
            "  --out DIR      where to; made with mode 0700 when it is missing\n"
            "  --hosts EXPR   only for these hosts of the slice, such as v6e-[3,7]\n"
            "  --renew        new keys in place of those that there are, without --hosts the slice's own as well; tickets of\n"
            "                 before stop working with the next run\n\n"
            "A changed coordinator address or port in the slice file needs new tickets too.\n\n"
            "Examples:\n  sliceup ticket slice.yaml --out tickets\n  sliceup ticket slice.yaml --out tickets --hosts v6e-3 --renew\n\n"
            "Exit status: 0 they are there; 2 usage or configuration; 3 a host has a ticket already, or they could not be\n"
            "written.\n",
    .run = ticket_run,
};
