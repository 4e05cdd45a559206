#include "coordinator/cli/exec.h"

#include <string.h>

#include "common/model/hostset.h"
#include "coordinator/cli/planning.h"

/* The configuration is asked as for a slice file of these hosts, so that its rules and messages hold here too. No host
 * connects to this machine: the address is there for hosts behind a jump host. */
enum { SLICE_MAX_BYTES = 1 << 20 };
#define SLICE_TEXT                                                                                                     \
    "slice: exec\nprofile: plain\nladder: plain\nsignatures: []\ncache: {mode: off}\ncoordinator: {address: "          \
    "127.0.0.1, listen: "                                                                                              \
    "127.0.0.1}\n"

struct slice_groups {
    var_list groups;
    struct text everything;
};

static bool find_group (const void *owner, struct text name, struct text *expression)
{
    const struct slice_groups *groups = owner;
    if (var_find (&groups->groups, name, expression))
        return true;
    *expression = groups->everything;
    return text_is (name, "*");
}

static int apply (struct hostset *set, const char *expression, enum hostset_step step, const char *option,
                  struct err *err)
{
    if (!expression || hostset_apply_expression (set, step, text_of (expression), err) == 0)
        return 0;
    (void) err_prefix (err, "%s", option);
    err->code = ERR_USAGE; /* also a set that is too large */
    return -1;
}

/* ---- without a slice file ---- */

static int put_hosts (const struct exec_choice *choice, struct buf *out, struct err *err)
{
    const struct hostset_rules rules = { .max = HOSTS_MAX };
    struct hostset *set = hostset_create (&rules);
    struct arena arena = { 0 };
    int rc = apply (set, choice->hosts, HOSTSET_ADD, "-w", err);
    struct name_list names = hostset_names (set, &arena);
    if (rc == 0 && names.n == 0)
        rc = err_set (err, ERR_USAGE, "-w: the host set is empty, expected hosts such as 'v6e-[0-3]'");
    buf_puts (out, "hosts:\n"); /* a line each: a folded set may be longer than a value of YAML */
    for (uint32_t i = 0; rc == 0 && i < names.n; i++)
        buf_printf (out, "  - '%.*s'\n", TEXT_ARG (names.items[i]));
    arena_release (&arena);
    hostset_destroy (set);
    return rc;
}

static int put_slice (const struct exec_choice *choice, struct buf *out, struct err *err)
{
    const char *launcher = choice->launcher ? choice->launcher : "ssh";
    bool ssh = strcmp (launcher, "ssh") == 0, slurm = strcmp (launcher, "slurm") == 0;
    if (!ssh && !slurm && strcmp (launcher, "local") != 0)
        return err_set (err, ERR_USAGE, "--launcher %s: expected ssh, slurm or local%s", launcher,
                        strcmp (launcher, "join") == 0 ? "; hosts that join by themselves let nobody in" : "");
    if (choice->user && (!ssh || !host_name_valid (text_of (choice->user))))
        return err_set (err, ERR_USAGE, "--user '%s': expected the name of a user, and --launcher ssh", choice->user);
    buf_printf (out, SLICE_TEXT "launcher: %s\n", launcher);
    if (ssh)
        buf_printf (out, "ssh: {config: true%s%s}\n", choice->user ? ", user: " : "", choice->user ? choice->user : "");
    if (choice->directory && (choice->directory[0] != '/' || strpbrk (choice->directory, "'\n") || !(ssh || slurm)))
        return err_set (err, ERR_USAGE, "--directory %s: expected an absolute path on hosts that ssh or Slurm reaches",
                        choice->directory);
    if (ssh || slurm)
        buf_printf (out, "start: {deadline: 30s%s%s%s}\n", choice->directory ? ", directory: '" : "",
                    choice->directory ? choice->directory : "", choice->directory ? "'" : "");
    if (choice->hosts)
        return put_hosts (choice, out, err);
    if (!slurm)
        return err_set (err, ERR_USAGE, "expected hosts: -w SET, or --slice FILE; see sliceup exec --help");
    buf_puts (out, "hosts: {from: slurm}\n");
    return 0;
}

static int load_hosts (struct cli *cli, struct exec_choice *choice)
{
    struct buf text;
    struct err err = { 0 };
    buf_init (&text, SLICE_MAX_BYTES);
    int status = put_slice (choice, &text, &err) < 0
                     ? cli_fail (cli, &err)
                     : planning_load_text (cli, "command line", text_copy (&choice->arena, buf_as_text (&text)).ptr,
                                           &choice->arena, &choice->plan);
    buf_release (&text);
    return status;
}

/* ---- of a slice file ---- */

static int load_slice (struct cli *cli, struct exec_choice *choice, var_list *groups)
{
    struct err err = { 0 };
    if (choice->launcher || choice->user || choice->directory)
        err_set (&err, ERR_USAGE, "--launcher, --user and --directory: with --slice the slice file says these");
    int status = err.code ? cli_fail (cli, &err)
                          : planning_load_slice_only (cli, choice->slice, &choice->arena, &choice->plan, groups);
    if (status == EXIT_HOLDS && choice->plan.launcher == LAUNCHER_JOIN) {
        err_set (&err, ERR_USAGE,
                 "'%s' has launcher: join, whose hosts let nobody in: name those that ssh reaches with -w SET",
                 choice->slice);
        return cli_fail (cli, &err);
    }
    return status;
}

/* ---- the ones that are meant ---- */

static int read_sets (const struct exec_choice *choice, const struct slice_groups *groups, struct arena *arena,
                      struct name_list *names, struct err *err)
{
    const struct hostset_group_lookup lookup = { find_group, groups };
    const struct hostset_rules rules = { .max = HOSTS_MAX, .groups = choice->slice ? &lookup : NULL };
    struct hostset *set = hostset_create (&rules);
    int rc = choice->hosts ? apply (set, choice->hosts, HOSTSET_ADD, "-w", err)
                           : hostset_apply_expression (set, HOSTSET_ADD, groups->everything, err);
    if (rc == 0)
        rc = apply (set, choice->exclude, HOSTSET_TAKE, "-x", err);
    if (rc == 0)
        *names = hostset_names (set, arena);
    hostset_destroy (set);
    return rc;
}

static int choose (struct exec_choice *choice, const struct slice_groups *groups, struct err *err)
{
    const struct plan *plan = &choice->plan;
    struct name_list names = { 0 };
    if (read_sets (choice, groups, &choice->arena, &names, err) < 0)
        return -1;
    for (uint32_t i = 0; i < names.n; i++)
        if (plan_host_rank (plan, names.items[i]) < 0)
            return err_set (err, ERR_USAGE, "-w: %.*s is no host of '%s'", TEXT_ARG (names.items[i]), choice->slice);
    if (names.n == 0)
        return err_set (err, ERR_USAGE, "-w and -x leave no host");
    choice->ranks = arena_array (&choice->arena, names.n, sizeof *choice->ranks);
    choice->names = arena_array (&choice->arena, names.n, sizeof *choice->names);
    for (uint32_t rank = 0; rank < plan->hosts.n; rank++) {
        if (!name_list_has (&names, plan->hosts.items[rank].name))
            continue;
        choice->ranks[choice->n] = rank;
        choice->names[choice->n++] = plan->hosts.items[rank].name;
    }
    return 0;
}

int exec_choice_load (struct cli *cli, struct exec_choice *choice)
{
    struct slice_groups groups = { 0 };
    struct err err = { 0 };
    int status = choice->slice ? load_slice (cli, choice, &groups.groups) : load_hosts (cli, choice);
    if (status != EXIT_HOLDS)
        return status;
    struct text *names = arena_array (&choice->arena, choice->plan.hosts.n, sizeof *names);
    for (uint32_t i = 0; i < choice->plan.hosts.n; i++)
        names[i] = choice->plan.hosts.items[i].name;
    groups.everything = hostset_folded (names, choice->plan.hosts.n, UINT32_MAX, &choice->arena);
    return choose (choice, &groups, &err) < 0 ? cli_fail (cli, &err) : EXIT_HOLDS;
}
