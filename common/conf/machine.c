/* machine.c - the machine type of all hosts, and its consequences: number of hosts, devices, and the variables that
 * make a host's runtime take itself for a whole slice. */
#include "common/conf/draft.h"
#include "common/model/launch_variables.h"

enum { MACHINES_MAX = 64 };

static const struct conf_file_kind machines_kind = { "machine file", "configs/machines", ".yaml" };
/* The one table. */
static const char table_name[] = "tpu";

static void read_row (struct problem_list *problems, const struct yaml_node *node, struct machine_type *row)
{
    struct conf_value of[MACHINE_KEYS];
    uint32_t chips;
    if (section_read (&machine_section, node, of, problems) != 0 || !section_is_good (&machine_section, of))
        return;
    if (!mesh_topology_chips (of[MACHINE_BOUNDS].text, &chips) || chips != of[MACHINE_CHIPS].number)
        problem_at (problems, of[MACHINE_BOUNDS].node, "the bounds are %s, expected a grid of %u chips",
                    problem_quote (problems, of[MACHINE_BOUNDS].text), (unsigned) of[MACHINE_CHIPS].number);
    *row = (struct machine_type){ .id = of[MACHINE_ID].text,
                                  .accelerator = of[MACHINE_ACCELERATOR].text,
                                  .counts = (enum type_count) of[MACHINE_COUNTS].number,
                                  .chips = (uint32_t) of[MACHINE_CHIPS].number,
                                  .devices_per_chip = (uint32_t) of[MACHINE_DEVICES].number,
                                  .bounds = of[MACHINE_BOUNDS].text,
                                  .dimensions = (uint32_t) of[MACHINE_DIMENSIONS].number,
                                  .memory_gib = (uint32_t) of[MACHINE_MEMORY].number };
}

static uint32_t read_table (struct problem_list *problems, const struct yaml_node *root,
                            struct machine_type rows[MACHINES_MAX])
{
    struct conf_value file[MACHINES_KEYS];
    uint32_t n = 0;
    if (!root || section_read (&machines_section, root, file, problems) != 0 || !file[MACHINES_LIST].good)
        return 0;
    for (const struct yaml_node *node = file[MACHINES_LIST].node->first; node && n < MACHINES_MAX; node = node->next)
        read_row (problems, node, &rows[n++]);
    return n;
}

static void report_unknown (struct draft *draft, const struct conf_value *wanted, const struct machine_type *rows,
                            uint32_t n)
{
    const char *known[MACHINES_MAX];
    for (uint32_t i = 0; i < n; i++)
        known[i] = text_copy (draft->arena, rows[i].id).ptr;
    problem_unknown (draft->problems, wanted->node, "machine type", "", known, n);
}

void draft_machine (struct draft *draft)
{
    const struct conf_value *wanted = &draft->slice[SLICE_MACHINE];
    struct machine_type *rows = arena_array (draft->arena, MACHINES_MAX, sizeof *rows);
    if (!wanted->given || !wanted->good)
        return;
    struct source source;
    struct yaml_node reference = draft_make_reference (wanted->node, text_of (table_name));
    uint32_t errors = draft->problems->errors;
    const struct yaml_node *root = draft_parse_referenced_file (draft, &machines_kind, &reference, &source);
    uint32_t n = read_table (draft->problems, root, rows);
    for (uint32_t i = 0; i < n; i++)
        if (text_equal (rows[i].id, wanted->text))
            draft->plan.machine = rows[i];
    if (!draft->plan.machine.id.len && draft->problems->errors == errors)
        report_unknown (draft, wanted, rows, n);
}

/* ---- what follows from it ---- */

/* Do hosts with these bounds fill a grid of this shape? */
static bool machine_fits (const struct machine_type *machine, struct text topology)
{
    uint32_t all[MESH_GRID_AXES], host[MESH_GRID_AXES], dimensions = mesh_grid_read (topology, all);
    bool fits = dimensions > 0 && dimensions == machine->dimensions &&
                mesh_grid_read (machine->bounds, host) >= dimensions;
    for (uint32_t i = 0; fits && i < dimensions; i++)
        fits = all[i] % host[i] == 0;
    return fits;
}

/* Chips of a slice of such hosts; 0: these are not its hosts. */
static uint64_t chips_of (const struct machine_type *row, const struct slice_shape *shape)
{
    uint32_t chips = row->counts == TYPE_COUNT_CORES ? shape->number / 2 : shape->number;
    bool fitting = shape->topology.len == 0 ||
                   (mesh_topology_chips (shape->topology, &chips) && machine_fits (row, shape->topology));
    return fitting && text_equal (row->accelerator, shape->accelerator) ? chips : 0;
}

int conf_find_machine (const char *share_dir, const struct slice_shape *shape, struct arena *arena,
                       struct machine_type *found, struct err *err)
{
    struct problem_list problems = { .arena = arena };
    const struct yaml_node at = { .file = "machine", .kind = YAML_SCALAR, .text = text_of (table_name) };
    struct machine_type *rows = arena_array (arena, MACHINES_MAX, sizeof *rows);
    struct conf_report report;
    struct source source;
    uint32_t n = 0;
    if (source_read (&source, &machines_kind, share_dir, &at, &problems) == 0)
        n = read_table (&problems, yaml_parse (source.shown, source.bytes, &problems), rows);
    for (uint32_t i = 0; i < n; i++)
        if (chips_of (&rows[i], shape) == (uint64_t) shape->hosts * rows[i].chips)
            *found = rows[i];
        else if (text_equal (rows[i].accelerator, shape->accelerator) && !found->id.len)
            found->accelerator = rows[i].accelerator; /* of hosts that do not add up */
    return problems_to_report (&problems, &report, err);
}

struct text machine_host_topology (const struct machine_type *machine, struct arena *arena)
{
    struct text rest = machine->bounds;
    struct buf grid = { .max = ID_MAX_BYTES };
    for (uint32_t i = 0; i < machine->dimensions && rest.len; i++) {
        buf_puts (&grid, i ? "x" : "");
        buf_add_text (&grid, text_take_until (&rest, ','));
    }
    return buf_finish (&grid, arena);
}

static struct text machine_type_of (const struct machine_type *machine, uint32_t chips, struct arena *arena)
{
    uint32_t number = machine->counts == TYPE_COUNT_CORES ? 2 * chips : chips;
    return text_format (arena, "%.*s-%u", TEXT_ARG (machine->accelerator), number);
}

static void take_devices (struct draft *draft, const struct conf_value *given)
{
    const struct machine_type *machine = &draft->plan.machine;
    struct profile *plan = &draft->plan.profile;
    uint32_t has = machine->chips * machine->devices_per_chip;
    if (!given->given && !draft->slice[SLICE_MACHINE].given)
        problem_at (draft->problems, given->node,
                    "the profile has no key devices_per_host, expected it, or a machine in the slice file");
    else if (given->given && given->good && machine->id.len && given->number != has)
        problem_at (draft->problems, given->node,
                    "devices_per_host is %u, but a host of the slice's machine type %.*s has %u, expected the same or "
                    "no key",
                    (unsigned) given->number, TEXT_ARG (machine->id), has);
    plan->devices_per_host = machine->id.len ? has : (uint32_t) given->number;
}

static void take_topology (struct draft *draft, const struct conf_value *of_profile)
{
    const struct conf_value *of_slice = &draft->slice[SLICE_TOPOLOGY];
    struct profile *plan = &draft->plan.profile;
    uint32_t chips;
    if (of_slice->given && of_profile->given && !text_equal (of_slice->text, of_profile->text))
        problem_at (draft->problems, of_slice->node,
                    "the slice's topology is %.*s and that of its profile %.*s, expected one of the two",
                    TEXT_ARG (of_slice->text), TEXT_ARG (of_profile->text));
    plan->topology = of_slice->given ? of_slice->text : of_profile->text;
    const struct machine_type *machine = &draft->plan.machine;
    if (machine->id.len && mesh_topology_chips (plan->topology, &chips) && !machine_fits (machine, plan->topology))
        problem_at (
            draft->problems, of_slice->given ? of_slice->node : of_profile->node,
            "hosts of type %.*s have chips of %.*s, of which no slice of topology %.*s can be made, expected a grid "
            "of %u sizes that are multiples",
            TEXT_ARG (machine->id), TEXT_ARG (machine->bounds), TEXT_ARG (plan->topology), machine->dimensions);
    if (!machine->id.len || !mesh_topology_chips (plan->topology, &chips))
        return;
    struct text type = machine_type_of (machine, chips, draft->arena);
    if (plan->accelerator.len && !text_equal (plan->accelerator, type))
        problem_at (draft->problems, draft->slice[SLICE_MACHINE].node,
                    "the profile's accelerator is %.*s, but a slice of type %.*s with topology %.*s is %.*s",
                    TEXT_ARG (plan->accelerator), TEXT_ARG (machine->id), TEXT_ARG (plan->topology), TEXT_ARG (type));
    plan->accelerator = type;
}

/* What GKE's JobSet sets, and nobody on TPU VMs: without it each slice comes up for itself
 * (docs.cloud.google.com/tpu/docs/multislice-introduction). A profile's own win. */
static void add_megascale (struct draft *draft)
{
    static const struct var all[] = { { TEXT_LIT ("MEGASCALE_COORDINATOR_ADDRESS"), TEXT_LIT ("{address0}") },
                                      { TEXT_LIT ("MEGASCALE_NUM_SLICES"), TEXT_LIT ("{slices}") },
                                      { TEXT_LIT ("MEGASCALE_SLICE_ID"), TEXT_LIT ("{slice}") } };
    struct profile *profile = &draft->plan.profile;
    struct text value;
    for (size_t i = 0; i < sizeof all / sizeof all[0] && draft->plan.slices; i++)
        if (!var_find (&profile->env, all[i].name, &value) && !var_find (&profile->slice_env.set, all[i].name, &value))
            *(struct var *) list_append (&profile->slice_env.set, sizeof all[i], draft->arena) = all[i];
}

/* A profile's own MEGASCALE_* win; what they say of the slices is in the slice file as well, and a runtime that waits for other
 * slices waits for ever. */
void draft_check_megascale (struct draft *draft)
{
    static const char *const names[] = { "MEGASCALE_NUM_SLICES", "MEGASCALE_SLICE_ID" };
    const struct plan *plan = &draft->plan;
    LOCAL_ARENA arena = { 0 };
    for (uint32_t rank = 0; rank < plan->hosts.n && plan->slices && draft->profile_good; rank++, arena_reset (&arena)) {
        const struct launch_place place = launch_place_of (plan, NULL, 0, rank);
        for (uint32_t i = 0; i < 2; i++) {
            struct text name = text_of (names[i]), value = launch_variable_of (&plan->profile, name, &place, &arena);
            uint32_t wanted = i == 0 ? plan->slices : plan_slice_of (plan, rank);
            uint64_t number = 0;
            if (value.len == 0 || (text_to_u64 (value, &number) && number == wanted))
                continue;
            problem_at (draft->problems, draft->slice[SLICE_PROFILE].node,
                        "the profile gives %.*s the variable %s with value %s, expected %u by the slice file's "
                        "slices, or none",
                        TEXT_ARG (plan->hosts.items[rank].name), names[i], problem_quote (draft->problems, value),
                        wanted);
            return;
        }
    }
}

void draft_take_machine (struct draft *draft, const struct conf_value profile[PROFILE_KEYS])
{
    const struct machine_type *machine = &draft->plan.machine;
    take_devices (draft, &profile[PROFILE_DEVICES]);
    take_topology (draft, &profile[PROFILE_TOPOLOGY]);
    if (text_is (draft->plan.profile.backend, "tpu"))
        add_megascale (draft);
    if (!machine->id.len || !draft->frontend || !text_is (draft->plan.profile.backend, "tpu"))
        return;
    const struct frontend_alone alone = { .bounds = machine->bounds,
                                          .chips = machine->chips,
                                          .topology = machine_host_topology (machine, draft->arena),
                                          .type = machine_type_of (machine, machine->chips, draft->arena) };
    frontend_alone_env (draft->frontend, &alone, draft->arena, &draft->plan.profile.host_env);
}
