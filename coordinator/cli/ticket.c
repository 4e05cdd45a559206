#include "coordinator/cli/commands.h"
#include "coordinator/cli/hosts.h"
#include "coordinator/cli/planning.h"
#include "coordinator/monitor/key_file.h"

enum { TICKET_OUT = CLI_OWN, TICKET_RENEW };

struct options {
    const char *slice, *out;
    struct host_filter hosts;
    bool renew;
};

static void say_made (const struct options *options, const struct plan *plan, const struct name_list *hosts,
                      struct arena *arena)
{
    struct text folded = hostset_folded (hosts->items, hosts->n, UINT32_MAX, arena);
    printf ("%u ticket%s for %.*s of slice %.*s in %s\n"
            "Copy each to its host, readable only by the user of the worker. Then start there:\n"
            "  sliceup-worker join --ticket FILE --stay\n"
            "and here:\n"
            "  sliceup run %s\n",
            hosts->n, plural (hosts->n), TEXT_ARG (folded), TEXT_ARG (plan->slice), options->out, options->slice);
}

static int issue (struct cli *cli, const struct options *options, struct plan *plan, struct arena *arena)
{
    struct host_choice chosen;
    struct name_list hosts = { 0 };
    struct err err = { 0 };
    struct ticket_request request = { .plan = plan,
                                      .hosts = &hosts,
                                      .folder = options->out,
                                      .renew = options->renew,
                                      .renew_slice = options->renew && host_filter_is_default (&options->hosts) };
    if (host_filter_choose (&options->hosts, true, plan, arena, &chosen, &err) < 0)
        return cli_fail (cli, &err);
    hosts = (struct name_list){ .items = chosen.names, .n = chosen.n };
    if (ticket_issue_all (&request, &err) < 0)
        return cli_fail (cli, &err);
    say_made (options, plan, &hosts, arena);
    return EXIT_HOLDS;
}

static int ticket_run (struct cli *cli, const struct cli_arguments *arguments)
{
    LOCAL_ARENA arena = { 0 };
    struct plan plan = { 0 };
    const char *const *values = arguments->values;
    struct options options = { arguments->operands[0], values[TICKET_OUT], host_filter_of (arguments),
                               values[TICKET_RENEW] };
    int status = planning_load_slice_only (cli, options.slice, &arena, &plan);
    if (status == EXIT_HOLDS)
        status = issue (cli, &options, &plan, &arena);
    return status;
}

static const struct cli_option options[] = {
    { TICKET_OUT, "--out", .value = "DIR", .help = "folder of the tickets; made with mode 0700 if it is missing",
      .kind = KIND_FOLDER, .is_required = true },
    { OPTION_HOSTS },
    { OPTION_EXCLUDE },
    { TICKET_RENEW, "--renew",
      .help =
          "replace existing keys; for all hosts, also the slice's own. Old tickets stop working with the next run" },
    { 0 },
};

const struct cli_command ticket_command = {
    .name = "ticket",
    .task = TASK_RUN,
    .summary = "make the files with which workers join a run (launcher: join)",
    .help = "Writes DIR/<host>.ticket for every host of the slice: the address of the coordinator, its public key, and "
            "a key pair for the host. A ticket is a secret: a worker with it acts as that host in every run of the "
            "slice. Keep its mode at 0600, and copy it over a channel that you trust. The slice's own key pair is made "
            "once and kept under SLICEUP_HOME/slices/<slice>.\n"
            "\n"
            "After a change of the coordinator's address or port in the slice file, make new tickets too.",
    .examples = "sliceup ticket slice.yaml --out tickets\n"
                "sliceup ticket slice.yaml --out tickets --hosts v6e-3 --renew\n",
    .exit_status =
        "0 written; 2 usage or configuration; 3 a host already has a ticket, or the tickets could not be written.",
    .operands = (const struct cli_operand[]){ { OPERAND_SLICE }, { 0 } },
    .options = options,
    .run = ticket_run,
};
