/* start.c - how workers are started on other machines, and reach the coordinator. */
#include <string.h>

#include "common/conf/address.h"
#include "common/conf/draft.h"

#define BIT(LAUNCHER) (1u << (LAUNCHER))

/* Sets of launchers: those whose hosts are other machines, and those that carry the worker to its host. */
static const unsigned elsewhere = BIT (LAUNCHER_SSH) | BIT (LAUNCHER_SLURM) | BIT (LAUNCHER_JOIN),
                      carried = BIT (LAUNCHER_SSH) | BIT (LAUNCHER_SLURM);

bool draft_is_remote (const struct draft *draft)
{
    return (elsewhere & BIT (draft->plan.launcher)) != 0;
}

static void check_sections (struct draft *draft)
{
    static const struct {
        int key;
        enum launcher of;
    } own[] = { { SLICE_SSH, LAUNCHER_SSH }, { SLICE_SLURM, LAUNCHER_SLURM } };
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        draft_check_launcher_key (draft, &slice_section.keys[own[i].key], &draft->slice[own[i].key], BIT (own[i].of));
    draft_check_launcher_key (draft, &slice_section.keys[SLICE_START], &draft->slice[SLICE_START], elsewhere);
}

static void read_outlive (struct draft *draft, const struct conf_value *outlive)
{
    bool is_slurm = draft->plan.launcher == LAUNCHER_SLURM;
    if (is_slurm && outlive->given && outlive->good && outlive->number)
        problem_at (draft->problems, outlive->node,
                    "outlive: true with launcher: slurm, expected the key outlive to be left out: Slurm ends a worker "
                    "with its job step");
    draft->plan.start.tied = is_slurm || (outlive->given && outlive->good && !outlive->number);
}

static void read_start (struct draft *draft)
{
    struct conf_value start[START_KEYS];
    struct start_plan *plan = &draft->plan.start;
    if (!draft_is_remote (draft) ||
        section_read_optional (&start_section, &draft->slice[SLICE_START], start, draft->problems) != 0)
        return;
    if (plan->ssh.sudo && !start[START_DIRECTORY].given)
        start[START_DIRECTORY].text = TEXT_LIT (START_DIRECTORY_OF_ROOT);
    plan->directory = draft_host_path (draft, &start[START_DIRECTORY]);
    for (int i = START_DEADLINE; i <= START_OUTLIVE; i++)
        draft_check_launcher_key (draft, &start_section.keys[i], &start[i], carried);
    if (draft->plan.launcher == LAUNCHER_JOIN)
        return;
    plan->deadline_ms = start[START_DEADLINE].number;
    plan->at_once = (uint32_t) start[START_AT_ONCE].number;
    read_outlive (draft, &start[START_OUTLIVE]);
}

static void check_ports (struct draft *draft, const struct conf_value of[])
{
    for (int i = COORDINATOR_CONTROL; i <= COORDINATOR_EVENTS; i++)
        for (int k = COORDINATOR_CONTROL; k < i; k++)
            if (of[i].good && of[k].good && of[i].number > 0 && of[i].number == of[k].number)
                problem_at (draft->problems, of[i].node, "%s is %u, the same port as %s, expected another port",
                            coordinator_section.keys[i].name, (unsigned) of[i].number,
                            coordinator_section.keys[k].name);
}

/* A ticket is written before the run, so the address and the ports must be fixed. */
static void check_join (struct draft *draft, const struct conf_value of[])
{
    for (int i = COORDINATOR_ADDRESS; i <= COORDINATOR_BULK; i++) {
        bool wanted = i != COORDINATOR_LISTEN,
             missing = !of[i].given || (of[i].good && i >= COORDINATOR_CONTROL && of[i].number == 0);
        if (wanted && missing)
            problem_at (draft->problems, of[i].node,
                        "launcher: join without coordinator.%s, expected %s: every ticket tells it to a worker",
                        coordinator_section.keys[i].name,
                        i == COORDINATOR_ADDRESS ? "the address of this machine" : "a port");
    }
}

static void read_coordinator (struct draft *draft)
{
    struct conf_value of[COORDINATOR_KEYS];
    struct start_plan *plan = &draft->plan.start;
    if (section_read_optional (&coordinator_section, &draft->slice[SLICE_COORDINATOR], of, draft->problems) != 0)
        return;
    const struct conf_value *address = &of[COORDINATOR_ADDRESS], *listen = &of[COORDINATOR_LISTEN];
    if (address->good && (!address_is_good (address->text) || address_is_any (address->text)))
        problem_at (draft->problems, address->node,
                    "the coordinator's address is %s, expected a host name or an IP address that hosts can connect to",
                    problem_quote (draft->problems, address->text));
    if (listen->good && !address_is_ip (listen->text))
        problem_at (
            draft->problems, listen->node,
            "coordinator.listen is %s, expected an IP address of this machine, or 0.0.0.0 for all its addresses",
            problem_quote (draft->problems, listen->text));
    check_ports (draft, of);
    if (draft->plan.launcher == LAUNCHER_JOIN)
        check_join (draft, of);
    plan->listen = listen->text;
    plan->reach = draft->plan.launcher == LAUNCHER_SSH ? (enum link_way) of[COORDINATOR_REACH].number : LINK_WAY_NONE;
    if (of[COORDINATOR_REACH].given && of[COORDINATOR_REACH].good && plan->reach == LINK_WAY_NONE)
        problem_at (draft->problems, of[COORDINATOR_REACH].node,
                    "coordinator.reach is of use only with launcher: ssh, whose connections can carry the link");
    plan->address = address->given || address_is_any (listen->text) ? address->text : listen->text;
    plan->sends_all = of[COORDINATOR_SPREAD].good && !of[COORDINATOR_SPREAD].number;
    plan->control_port = (uint32_t) of[COORDINATOR_CONTROL].number;
    plan->bulk_port = (uint32_t) of[COORDINATOR_BULK].number;
    plan->events_port = (uint32_t) of[COORDINATOR_EVENTS].number;
}

void draft_start (struct draft *draft)
{
    check_sections (draft);
    if (draft->plan.launcher == LAUNCHER_SSH)
        draft_ssh (draft);
    read_start (draft);
    read_coordinator (draft);
    if (draft->plan.launcher == LAUNCHER_SLURM)
        draft_slurm (draft);
}

void draft_check_return_address (struct draft *draft)
{
    const struct conf_value *coordinator = &draft->slice[SLICE_COORDINATOR];
    if (draft->jumps && draft->plan.start.address.len == 0 && draft->plan.start.reach == LINK_WAY_DIRECT &&
        (!coordinator->given || coordinator->good))
        problem_at (draft->problems, coordinator->node,
                    "coordinator.address is missing and hosts are behind a jump host, expected the address by which "
                    "the hosts reach this machine, or reach: auto: their connection comes from the jump host");
}

/* ---- slurm ---- */

/* Reads the user's own options of srun. */

/* sliceup sets these itself, or they change what a worker reads and writes (man srun, Slurm 22.05). srun accepts
 * abbreviated names, so every beginning of one of these is refused as well. */
static const char refused_options[] =
    "account chdir error export export-file help input kill-on-bad-exit label multi-prog nodefile nodelist nodes "
    "ntasks ntasks-per-core ntasks-per-gpu ntasks-per-node ntasks-per-socket ntasks-per-tres output partition pty "
    "test-only usage version wait wrap";

static bool is_refused (struct text name)
{
    for (struct text rest = text_of (refused_options); rest.len;)
        if (text_equal (name, text_clip (text_take_until (&rest, ' '), name.len)))
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
