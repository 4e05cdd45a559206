#include "coordinator/cli/planning.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cache/storage.h"
#include "common/frontend/frontend.h"
#include "common/model/secret.h"
#include "coordinator/cli/hosts.h"

enum { PLANNING_TEXT_MAX_BYTES = 4 << 20, SLICE_TEXT_MAX_BYTES = 1 << 20 };

/* `made`: the name of a text that nobody wrote, whose lines mean nothing to a reader; NULL: there is none. */
static void print_problems (const struct cli *cli, const struct conf_report *report, bool quiet, const char *made)
{
    LOCAL_BUF line = { .max = 1 << 16 };
    for (uint32_t i = 0; i < report->n; i++) {
        const struct conf_problem *problem = &report->items[i];
        if (problem->warning && quiet)
            continue;
        buf_clear (&line);
        if (!made || strcmp (problem->file, made) != 0) {
            conf_print_problem (problem, &line);
        } else {
            buf_escaped (&line, text_of (made), 0);
            buf_puts (&line, ": ");
            buf_escaped (&line, text_of (problem->text), 0);
        }
        fprintf (cli->log.to, "%s\n", buf_c (&line));
    }
}

static uint32_t count_errors (const struct conf_report *report)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < report->n; i++)
        n += !report->items[i].warning;
    return n;
}

static struct conf_options options_of (const struct cli_arguments *arguments)
{
    const char *const *values = arguments->values;
    struct conf_options options = { .slice_path = arguments->operands[0],
                                    .profile = values[CLI_PROFILE],
                                    .ladder = values[CLI_LADDER],
                                    .pins = values[CLI_PINS],
                                    .hosts = values[CLI_HOSTS],
                                    .exclude = values[CLI_EXCLUDE],
                                    .wheels = values[CLI_WHEELS],
                                    .from = values[CLI_FROM],
                                    .min_hosts = cli_number (arguments, CLI_MIN_HOSTS, 0),
                                    .keep_going = values[CLI_KEEP_GOING],
                                    .fail_fast = values[CLI_FAIL_FAST] };
    cli_list (arguments, CLI_LEAVE_OUT, options.leave_out);
    cli_list (arguments, CLI_ONLY, options.only);
    cli_list (arguments, CLI_ARG, options.args);
    return options;
}

const char *planning_user_home (void)
{
    const char *home = getenv ("HOME");
    if (home && home[0] == '/')
        return home;
    const struct passwd *user = getpwuid (getuid ());
    return user && user->pw_dir && user->pw_dir[0] == '/' ? user->pw_dir : NULL;
}

/* What pages call configs/slices/NAME: a file there, or else the one that came with this program. */
static const char *name_slice (const struct cli *cli, const char *slice, struct arena *arena)
{
    static const char shipped[] = "configs/";
    if (strncmp (slice, shipped, sizeof shipped - 1) != 0 || access (slice, F_OK) == 0)
        return slice;
    const char *path = text_format (arena, "%s/%s", cli->share_dir, slice).ptr;
    return access (path, F_OK) == 0 ? path : slice;
}

static void planning_add_place (const struct cli *cli, struct conf_options *options, struct arena *arena)
{
    const struct passwd *user = getpwuid (getuid ());
    options->share_dir = cli->share_dir;
    options->slice_path = name_slice (cli, options->slice_path, arena);
    options->program = cli->program;
    options->home = cli->home;
    options->home_named = cli->home_named;
    options->user_home = planning_user_home ();
    options->user_name = user ? user->pw_name : NULL;
}

int planning_load_quietly (const struct cli *cli, const struct cli_arguments *arguments, const char *slice,
                           struct arena *arena, struct plan *plan)
{
    struct conf_options options = options_of (arguments);
    struct conf_report report = { 0 };
    struct err ignored = { 0 };
    options.slice_path = slice;
    options.hosts = options.exclude = NULL;
    memset (options.leave_out, 0, sizeof options.leave_out);
    planning_add_place (cli, &options, arena);
    if (!cli->home[0]) /* it is not there yet, and stays so */
        options.home = "/";
    return conf_load (&options, arena, plan, &report, &ignored);
}

/* "-": the slice comes on standard input, and what it names lies in the working folder. It is read once. */
static int take_input (struct conf_options *options, struct arena *arena, struct err *err)
{
    LOCAL_BUF input = { .max = SLICE_TEXT_MAX_BYTES };
    if (strcmp (options->slice_path, "-") != 0 || options->slice_text.ptr)
        return 0;
    int rc = host_input_read (options->slice_path, &input, err);
    options->slice_text = text_copy (arena, buf_as_text (&input));
    return rc;
}

/* `made`: the slice is of this program, and was shown to nobody; warnings about it help nobody. */
static int load (struct cli *cli, struct conf_options *options, bool made, struct arena *arena, struct plan *plan)
{
    struct conf_report report = { 0 };
    struct err err = { 0 };
    if (take_input (options, arena, &err) < 0)
        return cli_fail (cli, &err);
    planning_add_place (cli, options, arena);
    options->host_source = host_source_read;
    options->suspects = host_history_suspects;
    options->ssh_answers = planning_ask_ssh;
    options->pack_folder = planning_pack_folder;
    options->packs = &cli->packs;
    int rc = conf_load (options, arena, plan, &report, &err);
    /* Warnings of a rehearsal were printed before. */
    print_problems (cli, &report, options->rehearsal || made, made ? options->slice_path : NULL);
    origin_read (arena, &plan->origin);
    plan->hint = text_copy (arena, text_of (cli->hint));
    if (rc == 0)
        return plan_size_check (plan, &err) == 0 ? EXIT_HOLDS : cli_fail (cli, &err);
    if (count_errors (&report) == 0)
        return cli_fail (cli, &err);
    log_print (&cli->log, "%u mistake%s in '%s' and the files it names", count_errors (&report),
               plural (count_errors (&report)), options->slice_path);
    return EXIT_USAGE;
}

int planning_load (struct cli *cli, const struct cli_arguments *arguments, struct arena *arena, struct plan *plan)
{
    struct conf_options options = options_of (arguments);
    return load (cli, &options, false, arena, plan);
}

int planning_load_quick (struct cli *cli, const struct cli_arguments *arguments, struct arena *arena, struct plan *plan)
{
    struct conf_options options = options_of (arguments);
    options.quick = true;
    return load (cli, &options, false, arena, plan);
}

int planning_load_rehearsal (struct cli *cli, const struct cli_arguments *arguments,
                             const struct rehearsal_options *rehearsal, struct arena *arena, struct plan *plan)
{
    struct conf_options options = options_of (arguments), as_it_is = options;
    struct plan own;
    as_it_is.starts_nothing = true;
    as_it_is.pins = as_it_is.wheels = NULL;
    int status = load (cli, &as_it_is, false, arena, &own);
    if (status != EXIT_HOLDS)
        return status;
    options.slice_text = as_it_is.slice_text;
    options.rehearsal = rehearsal->stand_in;
    options.rehearse_all = rehearsal->all;
    memcpy (options.wrong, rehearsal->wrong, sizeof options.wrong);
    const struct frontend *frontend = frontend_find (own.profile.frontend);
    if (!options.pins && frontend)
        options.pins = frontend->rehearsal_pins;
    return load (cli, &options, false, arena, plan);
}

int planning_load_slice_only (struct cli *cli, const char *slice, struct arena *arena, struct plan *plan)
{
    struct conf_options options = { .slice_path = slice, .starts_nothing = true };
    return load (cli, &options, false, arena, plan);
}

int planning_load_text (struct cli *cli, const char *name, struct text text, struct arena *arena, struct plan *plan)
{
    struct conf_options options = { .slice_path = name, .slice_text = text };
    return load (cli, &options, true, arena, plan);
}

static void print_coordinates (const struct plan *plan, uint32_t rank, FILE *to)
{
    uint32_t per_host = plan->profile.devices_per_host, at[MESH_AXES_MAX];
    uint32_t len = plan->hosts.items[rank].address.len;
    fprintf (to, "%*s", len < 16 ? 17 - (int) len : 1, " ");
    for (uint32_t i = 0; i < per_host; i++) {
        mesh_coordinates (&plan->mesh, rank * per_host + i, at);
        fprintf (to, "%s(", i ? " " : "");
        for (uint32_t axis = 0; axis < plan->mesh.n; axis++)
            fprintf (to, "%s%u", axis ? "," : "", at[axis]);
        fputc (')', to);
    }
}

/* What stands for many hosts in one line; cut, for addresses that do not fold. */
static void print_folded (const struct text *names, uint32_t n, FILE *to)
{
    enum { SHOWN_BYTES = 1 << 20, SHOWN_COLUMNS = 160 };
    LOCAL_BUF shown = { .max = SHOWN_BYTES };
    hostset_fold_escaped (names, n, SHOWN_COLUMNS, &shown);
    fputs (buf_c (&shown), to);
}

static struct text ssh_address (const struct plan_host *host)
{
    return host->ssh.address.len ? host->ssh.address : host->address;
}

/* One line says how two hosts are reached when they differ in their address only, and addresses fold as names do. */
static bool same_way (const struct plan_host *a, const struct plan_host *b)
{
    return a == b || (a->ssh.port == b->ssh.port && text_equal (a->ssh.user, b->ssh.user) &&
                      text_equal (a->ssh.jump, b->ssh.jump) && a->ssh.from_config == b->ssh.from_config &&
                      text_equal (a->ssh.command, b->ssh.command) && host_name_valid (ssh_address (a)) &&
                      host_name_valid (ssh_address (b)));
}

static void print_way (const struct ssh_route *route, const struct text *names, const struct text *addresses,
                       uint32_t n, bool sudo, FILE *to)
{
    static const char *const said[SAID_UNCHECKED] = { "address",     "port", "user",    "jump host",    "key alias",
                                                      "known hosts", "keys", "command", "no other keys" };
    fputs ("  ", to);
    print_folded (names, n, to);
    fprintf (to, ": ssh %.*s%s", TEXT_ARG (route->user), route->user.len ? "@" : "");
    if (n == 1)
        fprintf (to, "%.*s", TEXT_ARG (addresses[0]));
    else
        print_folded (addresses, n, to);
    if (route->port != 22) /* what ssh takes when nothing is said */
        fprintf (to, ":%u", route->port);
    fprintf (to, "%s%.*s%s", route->jump.len ? " via " : "", TEXT_ARG (route->jump), sudo ? ", as root by sudo" : "");
    for (uint32_t key = 0, told = 0; key < SAID_UNCHECKED; key++)
        if (route->from_config & 1u << key)
            fprintf (to, "%s%s", told++ ? ", " : "; ~/.ssh/config gives ", said[key]);
    if (route->command.len > 0)
        fprintf (to, "; reached by the command of ~/.ssh/config: %.*s", TEXT_ARG (route->command));
    fputc ('\n', to);
}

/* Hosts that are reached alike are one line. */
static void print_ways (const struct plan *plan, FILE *to)
{
    enum { SHOWN = 16 };
    const struct plan_host *hosts = plan->hosts.items;
    LOCAL_ARENA arena = { 0 };
    uint32_t n = plan->hosts.n, left = n;
    bool *told = arena_array (&arena, n, sizeof (*told));
    struct text *names = arena_array (&arena, n, sizeof (*names));
    struct text *addresses = arena_array (&arena, n, sizeof (*addresses));
    for (uint32_t first = 0, lines = 0; first < n && lines < SHOWN; first++) {
        uint32_t alike = 0;
        if (told[first])
            continue;
        for (uint32_t i = first; i < n; i++) {
            if (told[i] || !same_way (&hosts[first], &hosts[i]))
                continue;
            told[i] = true;
            names[alike] = hosts[i].name;
            addresses[alike++] = ssh_address (&hosts[i]);
        }
        print_way (&hosts[first].ssh, names, addresses, alike, plan->start.ssh.sudo, to);
        left -= alike;
        lines++;
    }
    if (left > 0)
        fprintf (to, "  ... hosts not shown: %u\n", left);
}

static void print_srun (const struct slurm_plan *slurm, FILE *to)
{
    fprintf (to, "  srun%s%.*s%s%.*s", slurm->account.len ? " --account=" : "", TEXT_ARG (slurm->account),
             slurm->partition.len ? " --partition=" : "", TEXT_ARG (slurm->partition));
    for (uint32_t i = 0; i < slurm->options.n; i++)
        fprintf (to, " %.*s", TEXT_ARG (slurm->options.items[i]));
    fprintf (to, ", once for each host\n");
}

static void print_port (const char *what, uint32_t port, FILE *to)
{
    if (port)
        fprintf (to, ", %s port %u", what, port);
    else
        fprintf (to, ", %s any free port", what);
}

static void print_coordinator (const struct plan *plan, FILE *to)
{
    const struct start_plan *start = &plan->start;
    bool local = plan->launcher == LAUNCHER_LOCAL;
    const char *otherwise = start->reach == LINK_WAY_AUTO ? ", or else through its ssh connection" : "";
    fprintf (to, "  listens at ");
    if (start->listen.len)
        fprintf (to, "%.*s", TEXT_ARG (start->listen));
    else
        fputs (local ? "127.0.0.1" : "all addresses", to);
    print_port ("control", start->control_port, to);
    print_port ("bulk", start->bulk_port, to);
    print_port ("events", start->events_port, to);
    if (start->reach == LINK_WAY_SSH)
        fputs ("; the ssh connections carry the workers' links to it\n", to);
    else if (start->address.len)
        fprintf (to, "; hosts reach it at %.*s%s\n", TEXT_ARG (start->address), otherwise);
    else
        fputs (local                            ? "\n"
               : plan->launcher == LAUNCHER_SSH ? "; hosts reach it at the address from which ssh connects to them"
                                                : "; hosts reach it by this machine's name\n",
               to);
    if (!start->address.len && plan->launcher == LAUNCHER_SSH && start->reach != LINK_WAY_SSH)
        fprintf (to, "%s\n", otherwise);
}

static void print_launch (const struct plan *plan, FILE *to)
{
    const struct start_plan *start = &plan->start;
    char limit[DURATION_TEXT_BYTES];
    fprintf (to, "launch  %s: ", enum_name_of (&launcher_names, plan->launcher));
    if (plan->launcher == LAUNCHER_LOCAL)
        fprintf (to, "processes of this machine\n");
    else if (plan->launcher == LAUNCHER_JOIN)
        fprintf (
            to,
            "a service manager starts each worker with its ticket (sliceup ticket); files below %.*s on the hosts\n",
            TEXT_ARG (start->directory));
    else
        fprintf (to,
                 "starts at most %u host%s at once, each within %s; files below %.*s on the hosts; a worker %s the "
                 "connection that started it\n",
                 start->at_once, plural (start->at_once), duration_print (start->deadline_ms, limit),
                 TEXT_ARG (start->directory), start->tied ? "ends with" : "outlives");
    if (plan->launcher == LAUNCHER_SSH)
        print_ways (plan, to);
    if (plan->launcher == LAUNCHER_SLURM)
        print_srun (&start->slurm, to);
    print_coordinator (plan, to);
}

static bool proves_metrics (const struct plan *plan)
{
    for (uint32_t i = 0; i < plan->rungs.n; i++)
        if (plan->rungs.items[i].metrics.n)
            return true;
    return false;
}

static void print_mesh (const struct plan *plan, FILE *to)
{
    for (uint32_t i = 0; i < plan->mesh.n; i++)
        fprintf (to, "%s%.*s: %u", i ? ", " : "mesh    ", TEXT_ARG (plan->mesh.items[i].axis),
                 plan->mesh.items[i].size);
    fputc ('\n', to);
}

static void print_hosts (const struct plan *plan, FILE *to)
{
    enum { SHOWN = 16 };
    bool devices = plan_has_devices (plan);
    if (devices || proves_metrics (plan)) /* which are reduced over it */
        print_mesh (plan, to);
    fprintf (to, "hosts   %u", plan->hosts.n);
    if (devices)
        fprintf (to, ", %u device%s each", plan->profile.devices_per_host, plural (plan->profile.devices_per_host));
    fputc ('\n', to);
    for (uint32_t i = 0; i < plan->hosts.n && i < SHOWN; i++) {
        fprintf (to, "  rank %-4u %-20.*s %.*s", i, TEXT_ARG (plan->hosts.items[i].name),
                 TEXT_ARG (plan->hosts.items[i].address));
        if (devices)
            print_coordinates (plan, i, to);
        fputc ('\n', to);
    }
    if (plan->hosts.n > SHOWN)
        fprintf (to, "  ... hosts not shown: %u\n", plan->hosts.n - SHOWN);
}

static const char *warmed_by (const struct plan *plan, const struct rung *rung)
{
    static const char *const ways[][2] = {
        [WARM_SOLO] = { "cold on the writer", "cold on each host" },
        [WARM_GANG] = { "cold on all", "cold on all" },
        [WARM_AOT] = { "compiled ahead by the writer", "compiled ahead by each host" },
    };
    return ways[rung->warm][plan->cache.mode == CACHE_PER_HOST];
}

static void print_passes (const struct plan *plan, const struct rung *rung, struct buf *out)
{
    if (rung->warm == WARM_NONE || plan->cache.mode == CACHE_OFF)
        buf_puts (out, "once");
    else if (plan->cache.mode == CACHE_READ_ONLY)
        buf_puts (out, "restored on all, read-only");
    else
        buf_printf (out, "%s, %s", warmed_by (plan, rung),
                    plan->cache.mode == CACHE_WARM_ONLY ? "restored nowhere" : "restored on all");
}

/* "a, b" between the words; nothing at all of none. */
static void print_list (const char *before, const struct text *items, uint32_t n, const char *after, FILE *to)
{
    for (uint32_t i = 0; i < n; i++)
        fprintf (to, "%s%.*s%s", i ? ", " : before, TEXT_ARG (items[i]), i + 1 < n ? "" : after);
}

static void print_cache (const struct plan *plan, FILE *to)
{
    const struct cache_plan *cache = &plan->cache;
    fprintf (to, "cache   %s", enum_name_of (&cache_mode_names, cache->mode));
    if (cache->mode == CACHE_OFF) {
        fputc ('\n', to);
        return;
    }
    if (cache_mode_has_writer (cache->mode))
        print_list (cache->writers.n > 1 ? ", written by one of " : ", written by ", cache->writers.items,
                    cache->writers.n, "", to);
    fprintf (to, ", under %.*s", TEXT_ARG (cache->root));
    if (cache_mode_has_writer (cache->mode))
        fprintf (to, ", lease %s", DURATION_TEXT (plan->limits.lease_ms));
    fprintf (to, "\n  enforcement at least %s%s%s\n", enum_name_of (&enforcement_names, cache->least),
             cache->least == ENFORCEMENT_COOPERATIVE ? " (by file modes only: a program could change them and write)"
                                                     : "",
             cache->overlay ? "; readers see the cache through an overlay" : "");
    for (uint32_t i = 0; i < cache->writable.n; i++)
        fprintf (to, "  programs may write %.*s\n", TEXT_ARG (cache->writable.items[i]));
    print_list ("  programs may not write the files of sliceup: ", cache->protected.items, cache->protected.n, "\n",
                to);
    for (uint32_t i = 0; i < cache->trust.n; i++)
        fprintf (to, "  uid %u may own the cache, and could change what the hosts execute\n",
                 (unsigned) cache->trust.items[i]);
}

/* Of a command: what is asked of it, and what travels. */
static void print_asked (const struct rung *rung, FILE *to)
{
    print_list ("; proves ", rung->metrics.items, rung->metrics.n, "", to);
    for (uint32_t k = 0; k < rung->tolerances.n; k++)
        fprintf (to, "; %.*s within %g%%", TEXT_ARG (rung->tolerances.items[k].what),
                 100 * rung->tolerances.items[k].most);
    for (uint32_t k = 0; k < rung->demands.n; k++)
        fprintf (to, "; %.*s at most %g", TEXT_ARG (rung->demands.items[k].what), rung->demands.items[k].most);
    for (uint32_t k = 0; k < rung->floors.n; k++)
        fprintf (to, "; %.*s at least %g", TEXT_ARG (rung->floors.items[k].name), rung->floors.items[k].least);
    for (uint32_t k = 0; rung->kind == PROGRAM_COMMAND && k < rung->files.n; k++)
        fprintf (to, "%s%.*s", k ? ", " : "\n     takes along ", TEXT_ARG (rung->files.items[k].name));
    if (rung->folder.len)
        fprintf (to, ": the folder %.*s", TEXT_ARG (rung->folder));
}

static void print_rungs (const struct plan *plan, FILE *to)
{
    fprintf (to, "ladder  %.*s\n", TEXT_ARG (plan->ladder));
    for (uint32_t i = 0; i < plan->rungs.n; i++) {
        const struct rung *rung = &plan->rungs.items[i];
        LOCAL_BUF passes = { .max = 4 * SENTENCE_MAX_BYTES };
        print_passes (plan, rung, &passes);
        fprintf (to, "  %-2u %-18.*s %-6s %-8s %-36s at most %s", i + 1, TEXT_ARG (rung->id),
                 enum_name_of (&scope_names, rung->scope), enum_name_of (&program_kind_names, rung->kind),
                 buf_c (&passes), DURATION_TEXT (rung->timeout_ms));
        print_asked (rung, to);
        fputc ('\n', to);
        buf_clear (&passes);
        buf_escaped_after (&passes, "     known bad: ", rung->known_bad, 0);
        buf_escaped_after (&passes, "\n     next: ", rung->next_best, 0); /* only of what is known bad */
        if (passes.len)
            fprintf (to, "%s\n", buf_c (&passes));
    }
}

/* What was chosen by name brought these with it. */
static void print_kept (const struct plan *plan, FILE *to)
{
    for (uint32_t i = 0; i < plan->kept.n; i++)
        fprintf (to, "  kept: %.*s, as %.*s\n", TEXT_ARG (plan->kept.items[i].name),
                 TEXT_ARG (plan->kept.items[i].value));
}

static void print_climb (const struct plan *plan, FILE *to)
{
    const struct climb_policy *climb = &plan->climb;
    if (climb->min_hosts)
        fprintf (to,
                 "  goes on while at least %u of %u hosts are up; rungs of scope slice are blocked when one is not\n",
                 climb->min_hosts, plan->hosts.n);
    if (climb->keep_going)
        fputs ("  goes on after a rung that did not pass, without the hosts that did not pass it alone\n", to);
    if (climb->fail_fast)
        fputs ("  stops all hosts of a rung as soon as one of them has failed\n", to);
}

static void print_wrong (const struct plan *plan, FILE *to)
{
    for (uint32_t i = 0; i < plan->rehearsal.wrong.n; i++) {
        const struct wrong_variable *wrong = &plan->rehearsal.wrong.items[i];
        fprintf (to, "  wrong on purpose: %.*s has %.*s%s%.*s\n", TEXT_ARG (plan->hosts.items[wrong->host].name),
                 TEXT_ARG (wrong->name), wrong->unset ? " not set" : "=", TEXT_ARG (wrong->value));
    }
}

static void print_variables (const var_list *vars, FILE *to)
{
    LOCAL_ARENA arena = { 0 };
    var_list shown = secret_redact_vars (&arena, vars);
    for (uint32_t i = 0; i < shown.n; i++)
        fprintf (to, "  %.*s=%.*s\n", TEXT_ARG (shown.items[i].name), TEXT_ARG (shown.items[i].value));
}

static void print_scope (const char *scope, const struct scope_env *env, FILE *to)
{
    if (env->set.n + env->unset.n)
        fprintf (to, "  of programs of scope %s:\n", scope);
    print_variables (&env->set, to);
    for (uint32_t i = 0; i < env->unset.n; i++)
        fprintf (to, "  %.*s not set, not inherited\n", TEXT_ARG (env->unset.items[i]));
}

static void print_shapes (const struct profile *profile, FILE *to)
{
    for (uint32_t i = 0; i < profile->shapes.n; i++) {
        const struct dimension *dimension = &profile->shapes.items[i];
        fprintf (to, "  sizes of %.*s", TEXT_ARG (dimension->name));
        for (uint32_t j = 0; j < dimension->sizes.n; j++)
            fprintf (to, "%s%u", j ? ", " : ": ", dimension->sizes.items[j]);
        fputs (profile->padding ? "; others are padded\n" : "\n", to);
    }
}

int planning_check_cache_owners (const struct plan *plan, struct err *err)
{
    char root[PATH_MAX_BYTES + 1];
    bool here = plan->cache.mode != CACHE_OFF && plan->cache.mode != CACHE_PER_HOST;
    if (!here || !text_to_c (plan->cache.root, root, sizeof (root)))
        return 0;
    return owners_check_root (root, &plan->cache.trust, err);
}

static void print_slices (const struct plan *plan, FILE *to)
{
    uint32_t n = plan_hosts_of_slice (plan);
    LOCAL_MEM struct text *names = mem_array (n, sizeof *names);
    if (plan->slices)
        fprintf (to, "slices  %u, of %u host%s each, over the data-centre network%s\n", plan->slices, n, plural (n),
                 text_is (plan->profile.backend, "tpu") ? "" : "; MEGASCALE_* are set with backend tpu only");
    for (uint32_t slice = 0; slice < plan->slices; slice++) {
        for (uint32_t i = 0; i < n; i++)
            names[i] = plan->hosts.items[slice * n + i].name;
        fprintf (to, "  slice %u  ", slice);
        print_folded (names, n, to);
        fputc ('\n', to);
    }
}

static void print_machine (const struct plan *plan, FILE *to)
{
    const struct machine_type *machine = &plan->machine;
    if (machine->id.len)
        fprintf (to, "machine %.*s: %u chips of %u GiB a host, %.*s, topology %.*s%s\n", TEXT_ARG (machine->id),
                 machine->chips, machine->memory_gib,
                 TEXT_ARG (plan->profile.accelerator.len ? plan->profile.accelerator : machine->accelerator),
                 TEXT_ARG (plan->profile.topology.len ? plan->profile.topology : TEXT_LIT ("not given")),
                 plan->slices ? " each" : "");
    print_slices (plan, to);
}

/* Not its words: they may hold what should not be shown. */
static void print_on_end (const struct plan *plan, FILE *to)
{
    if (plan->on_end.command.n)
        fprintf (to, "at end  %.*s, for at most %s\n", TEXT_ARG (plan->on_end.command.items[0]),
                 DURATION_TEXT (plan->on_end.timeout_ms));
}

static void print_all (const struct plan *plan, FILE *to)
{
    fprintf (to, "slice   %.*s (%.*s)\n", TEXT_ARG (plan->slice), TEXT_ARG (plan->source.path));
    print_hosts (plan, to);
    print_machine (plan, to);
    print_launch (plan, to);
    fprintf (to, "policy  profile %.*s: frontend %.*s, backend %.*s\n", TEXT_ARG (plan->profile.name),
             TEXT_ARG (plan->profile.frontend), TEXT_ARG (plan->profile.backend));
    print_variables (&plan->profile.env, to);
    print_scope ("host", &plan->profile.host_env, to);
    print_scope ("slice", &plan->profile.slice_env, to);
    print_list ("  inherited from the worker, where it has them: ", plan->profile.inherit.items,
                plan->profile.inherit.n, "\n", to);
    print_shapes (&plan->profile, to);
    if (plan->profile.port)
        fprintf (to, "  port %u of the host of rank 0, one more in each further attempt\n", plan->profile.port);
    if (plan->pins.file.path.len)
        fprintf (to, "pins    %.*s (sha256 %.12s...)%s\n", TEXT_ARG (plan->pins.name), plan->pins.file.sha256.ptr,
                 plan->pins.wheels.n ? ", from wheels copied to the hosts" : "");
    print_cache (plan, to);
    print_rungs (plan, to);
    print_list ("  left out: ", plan->left_out.items, plan->left_out.n, "\n", to);
    print_kept (plan, to);
    print_climb (plan, to);
    print_on_end (plan, to);
    print_wrong (plan, to);
}

/* As it may be printed, each in a part of one line. */
static void escape_texts (const struct field *field, void *at, struct arena *arena)
{
    const struct any_list *list = at;
    struct buf safe;
    if (field->kind == FIELD_TEXT) {
        buf_init (&safe, PLANNING_TEXT_MAX_BYTES);
        buf_escaped (&safe, *(struct text *) at, 0);
        *(struct text *) at = buf_finish (&safe, arena);
    }
    for (uint32_t i = 0; field->kind == FIELD_RECORD && i < field->of->fields_n; i++)
        escape_texts (&field->of->fields[i], (char *) at + field->of->fields[i].offset, arena);
    const struct field item = field->kind == FIELD_LIST ? field_describe_item (field) : *field;
    for (uint32_t i = 0; field->kind == FIELD_LIST && i < list->n; i++)
        escape_texts (&item, (char *) list->items + i * field_item_bytes (field), arena);
}

/* Whatever its files and options name is one word of its line, whatever stands in it. */
void planning_print (const struct plan *plan, FILE *to)
{
    static const struct field whole = { .kind = FIELD_RECORD, .of = &plan_record };
    LOCAL_ARENA arena = { 0 };
    struct plan safe;
    record_copy (&plan_record, &safe, plan, &arena);
    escape_texts (&whole, &safe, &arena);
    print_all (&safe, to);
}
