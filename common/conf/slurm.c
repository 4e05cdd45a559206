/* slurm.c - what srun is told besides what sliceup tells it. */
#include <string.h>

#include "common/conf/draft.h"

/* sliceup sets these itself, or they change what a worker reads and writes (man srun, Slurm 22.05). srun accepts
 * abbreviated names, so every beginning of one of these is refused as well. */
static const char *const refused_options[] = { "account",
                                               "chdir",
                                               "error",
                                               "export",
                                               "export-file",
                                               "help",
                                               "input",
                                               "kill-on-bad-exit",
                                               "label",
                                               "multi-prog",
                                               "nodefile",
                                               "nodelist",
                                               "nodes",
                                               "ntasks",
                                               "ntasks-per-core",
                                               "ntasks-per-gpu",
                                               "ntasks-per-node",
                                               "ntasks-per-socket",
                                               "ntasks-per-tres",
                                               "output",
                                               "partition",
                                               "pty",
                                               "test-only",
                                               "usage",
                                               "version",
                                               "wait",
                                               "wrap" };

static bool is_refused (struct text name)
{
    for (size_t i = 0; i < sizeof refused_options / sizeof refused_options[0]; i++)
        if (name.len <= strlen (refused_options[i]) && memcmp (name.ptr, refused_options[i], name.len) == 0)
            return true;
    return false;
}

static bool is_safe (struct text option)
{
    bool safe = option.len > 2 && option.len <= NAME_MAX_BYTES && text_starts (option, "--");
    for (uint32_t i = 0; safe && i < option.len; i++)
        safe = option.ptr[i] > ' ' && option.ptr[i] < 0x7f && !strchr ("'\"\\$`;|&<>", option.ptr[i]);
    return safe;
}

/* "exclusive" of "--exclusive=user"; empty: no name. */
static struct text slurm_name_of (struct text option)
{
    struct text name = { .ptr = option.ptr + 2 };
    while (name.len + 2 < option.len &&
           ((name.ptr[name.len] >= 'a' && name.ptr[name.len] <= 'z') ||
            (name.ptr[name.len] >= '0' && name.ptr[name.len] <= '9') || name.ptr[name.len] == '-'))
        name.len++;
    if (name.len + 2 < option.len && name.ptr[name.len] != '=')
        name.len = 0;
    return name;
}

static void add_option (struct draft *draft, const struct yaml_node *item)
{
    struct slurm_plan *slurm = &draft->plan.start.slurm;
    if (item->kind == YAML_BAD)
        return;
    const char *shown = problem_quote_value (draft->problems, item);
    bool safe = item->kind == YAML_SCALAR && is_safe (item->text);
    struct text name = safe ? slurm_name_of (item->text) : (struct text){ 0 };
    if (name.len == 0 || name.ptr[0] == '-')
        problem_at (draft->problems, item,
                    "an item of options is %s, expected an option of srun: --name or --name=value, without blanks, "
                    "quotes and other shell characters",
                    shown);
    else if (is_refused (name))
        problem_at (draft->problems, item,
                    "sliceup sets the option %s itself, expected another: it sets nodes, tasks, input and output, "
                    "environment, and account and partition (from slurm.account and slurm.partition)",
                    shown);
    else
        slurm->options.items[slurm->options.n++] = item->text;
}

static void slurm_read_options (struct draft *draft, const struct conf_value *list)
{
    struct slurm_plan *slurm = &draft->plan.start.slurm;
    const struct yaml_node *item;
    (void) section_list (list, SLURM_OPTIONS_MAX, "options names", "options of srun", draft->problems, &item);
    slurm->options.items = arena_array (draft->arena, SLURM_OPTIONS_MAX, sizeof *slurm->options.items);
    for (; item; item = item->next)
        add_option (draft, item);
}

void draft_slurm (struct draft *draft)
{
    struct conf_value slurm[SLURM_KEYS];
    if (section_read_optional (&slurm_section, &draft->slice[SLICE_SLURM], slurm, draft->problems) != 0)
        return;
    draft->plan.start.slurm.account = slurm[SLURM_ACCOUNT].text;
    draft->plan.start.slurm.partition = slurm[SLURM_PARTITION].text;
    slurm_read_options (draft, &slurm[SLURM_OPTIONS]);
}
