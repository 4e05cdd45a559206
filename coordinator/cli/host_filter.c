#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/io/fd.h"
#include "common/io/metadata.h"
#include "common/model/host_source.h"
#include "coordinator/cli/hosts.h"

#define ENDPOINTS_PATH "/computeMetadata/v1/instance/attributes/worker-network-endpoints"
enum { METADATA_MS = 2000 };

int host_input_read (const char *path, struct buf *out, struct err *err)
{
    bool is_stdin = strcmp (path, "-") == 0;
    const char *name = is_stdin ? "standard input" : path;
    int fd = is_stdin ? STDIN_FILENO : open (path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_errno (err, ERR_USAGE, "'%s' cannot be opened", path);
    int rc = fd_read_all (fd, out);
    if (rc < 0)
        err_errno (err, ERR_IO, "cannot read %s", name);
    else if (out->overflow)
        rc = err_set (err, ERR_LIMIT, "%s has more than %zu bytes, the limit", name, out->max);
    if (!is_stdin)
        close (fd);
    return rc;
}

bool host_filter_is_default (const struct host_filter *filter)
{
    return !filter->hosts && !filter->exclude;
}

struct host_filter host_filter_of (const struct cli_arguments *arguments)
{
    return (struct host_filter){ arguments->values[CLI_HOSTS], arguments->values[CLI_EXCLUDE] };
}

bool host_groups_find (const void *owner, struct text name, struct text *expression)
{
    const struct host_groups *groups = owner;
    if (groups->named && var_find (groups->named, name, expression))
        return true;
    *expression = groups->everything;
    return groups->everything.len && text_is (name, "*");
}

static int read_set (const char *option, const char *set, const struct host_groups *known, struct arena *arena,
                     struct name_list *names, struct err *err)
{
    const struct hostset_group_lookup groups = { host_groups_find, known };
    const struct hostset_rules rules = { .max = HOSTS_MAX, .groups = &groups };
    return !set || hostset_read (text_of (set), &rules, arena, names, err) == 0 ? 0 : err_prefix (err, "%s", option);
}

static int none_left (const struct host_filter *filter, struct text everything, struct err *err)
{
    bool both = filter->hosts && filter->exclude;
    return err_set (err, ERR_USAGE, "%s%s%s%s%s: this selects none of the hosts %.*s", filter->hosts ? "--hosts " : "",
                    filter->hosts ? filter->hosts : "", both ? " " : "", filter->exclude ? "--exclude " : "",
                    filter->exclude ? filter->exclude : "", TEXT_ARG (everything));
}

int host_filter_resolve (const struct host_filter *filter, const struct name_list *all, const struct plan *plan,
                         bool *chosen, struct err *err)
{
    LOCAL_ARENA arena = { 0 };
    struct name_list with = { 0 }, without = { 0 };
    uint32_t n = 0;
    const struct host_groups known = { plan ? &plan->groups : NULL,
                                       hostset_folded (all->items, all->n, UINT32_MAX, &arena) };
    int rc = read_set ("--hosts", filter->hosts, &known, &arena, &with, err);
    if (rc == 0)
        rc = read_set ("--exclude", filter->exclude, &known, &arena, &without, err);
    for (uint32_t i = 0; rc == 0 && i < all->n; i++)
        n += chosen[i] = (!filter->hosts || name_list_has (&with, all->items[i])) &&
                         !name_list_has (&without, all->items[i]);
    if (rc == 0 && n == 0 && !host_filter_is_default (filter))
        rc = none_left (filter, known.everything, err);
    return rc;
}

static int check_known (const char *option, const char *set, struct plan *plan, struct arena *arena, struct err *err)
{
    struct name_list names = { 0 };
    const struct host_groups known = { &plan->groups, plan_fold_all_hosts (plan, UINT32_MAX, arena) };
    if (read_set (option, set, &known, arena, &names, err) < 0)
        return -1;
    for (uint32_t i = 0; i < names.n; i++) {
        int rank = plan_host_rank (plan, names.items[i]);
        if (rank < 0)
            return err_set (err, ERR_USAGE, "%s: %.*s is no host of slice %.*s", option, TEXT_ARG (names.items[i]),
                            TEXT_ARG (plan->slice));
        if (names.users[i].len)
            plan->hosts.items[rank].ssh.user = names.users[i];
    }
    return 0;
}

int host_filter_choose (const struct host_filter *filter, bool excluded, struct plan *plan, struct arena *arena,
                        struct host_choice *out, struct err *err)
{
    uint32_t n = plan->hosts.n;
    struct name_list all = { arena_array (arena, n, sizeof *all.items), n, NULL };
    bool *chosen = arena_array (arena, n, sizeof *chosen);
    for (uint32_t i = 0; i < n; i++)
        all.items[i] = plan->hosts.items[i].name;
    if (check_known ("--hosts", filter->hosts, plan, arena, err) < 0 ||
        (excluded && check_known ("--exclude", filter->exclude, plan, arena, err) < 0) ||
        host_filter_resolve (filter, &all, plan, chosen, err) < 0) {
        err->code = ERR_USAGE; /* also a set that is too large */
        return -1;
    }
    *out = (struct host_choice){ .ranks = arena_array (arena, n, sizeof *out->ranks), .names = all.items };
    for (uint32_t i = 0; i < n; i++)
        if (chosen[i]) {
            out->names[out->n] = all.items[i];
            out->ranks[out->n++] = i;
        }
    return 0;
}

/* ---- the hosts that this machine's job has ---- */

static const char *host_variable (const char *name)
{
    const char *value = getenv (name);
    return value && value[0] ? value : NULL;
}

static bool host_is_good (const char *host)
{
    return host[0] && host[0] != '-' && host[0] != ':' &&
           strspn (host, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-:[]") == strlen (host);
}

static int read_metadata (struct buf *expression, struct err *err)
{
    const char *set = host_variable ("GCE_METADATA_HOST");
    const struct metadata_question question = { set ? set : METADATA_ADDRESS, true, ENDPOINTS_PATH, METADATA_MS };
    struct metadata_answer answer;
    int rc = -1;
    if (!host_is_good (question.server))
        return err_set (err, ERR_USAGE, "GCE_METADATA_HOST is not a host name, expected host or host:port");
    LOCAL_BUF bytes = { .max = HOST_SOURCE_MAX_BYTES };
    bool answered = metadata_ask (&question, &bytes, &answer, err) == METADATA_ANSWERED;
    if (answered && answer.status == 404)
        err_set (err, ERR_STATE,
                 "the metadata server at %s has no worker-network-endpoints: this machine is not a TPU VM",
                 question.server);
    else if (answered && answer.status != 200)
        err_set (err, ERR_IO, "the metadata server at %s answered with status %u, expected 200", question.server,
                 (unsigned) answer.status);
    else if (answered)
        rc = host_source_tpu_endpoints (answer.body, expression, err);
    return rc;
}

static const char *slurm_nodes (void)
{
    const char *value = host_variable ("SLURM_JOB_NODELIST");
    return value ? value : host_variable ("SLURM_NODELIST");
}

static int read_slurm (struct buf *expression, struct err *err)
{
    const char *value = slurm_nodes ();
    if (!value)
        return err_set (err, ERR_STATE,
                        "SLURM_JOB_NODELIST is not set: this is not a Slurm allocation (salloc or sbatch makes one)");
    return host_source_slurm (text_of (value), expression, err);
}

static int read_tpu (struct buf *expression, struct err *err)
{
    const char *value = host_variable ("TPU_WORKER_HOSTNAMES");
    return value ? host_source_tpu_names (text_of (value), expression, err) : read_metadata (expression, err);
}

static int read_any (struct buf *expression, struct err *err)
{
    if (slurm_nodes ())
        return read_slurm (expression, err);
    if (host_variable ("TPU_WORKER_HOSTNAMES"))
        return read_tpu (expression, err);
    return err_set (err, ERR_STATE,
                    "neither SLURM_JOB_NODELIST nor TPU_WORKER_HOSTNAMES is set: name the hosts in the slice file");
}

int host_source_read (const char *word, struct buf *expression, struct err *err)
{
    if (strcmp (word, "slurm") == 0)
        return read_slurm (expression, err);
    if (strcmp (word, "tpu") == 0)
        return read_tpu (expression, err);
    if (strcmp (word, "env") == 0)
        return read_any (expression, err);
    return err_set (err, ERR_USAGE, "source of hosts '%s': expected slurm, tpu or env", word);
}
