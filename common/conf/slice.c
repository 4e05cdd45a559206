/* slice.c - the slice file itself: its name, mesh and limits. */
#include <string.h>

#include "common/base/digest.h"
#include "common/base/path.h"
#include "common/conf/draft.h"

/* Defaults of `limits.join`, and its maximum. */
enum { JOIN_MS = 30 * 1000, JOIN_BY_ITSELF_MS = 10 * 60 * 1000, JOIN_MOST_MS = 60 * 60 * 1000 };

static const struct conf_file_kind slice_kind = { "slice", "configs/slices", ".yaml" };

int draft_slice (struct draft *draft)
{
    const struct conf_options *options = draft->options;
    struct digest digest = digest_of (options->slice_text.ptr, options->slice_text.len);
    struct source source = { .ref = { text_of (options->slice_path),
                                      text_copy (draft->arena, text_of (DIGEST_TEXT (&digest))) } };
    const struct yaml_node *path = draft_choose_reference (draft, SLICE_SLICE, options->slice_path, "SLICE");
    draft->root = options->slice_text.ptr ? yaml_parse (options->slice_path, options->slice_text, draft->problems)
                                          : draft_parse_referenced_file (draft, &slice_kind, path, &source);
    if (!draft->root || section_read (&slice_section, draft->root, draft->slice, draft->problems) != 0)
        return -1;
    draft->plan.slice = draft->slice[SLICE_SLICE].text;
    draft->plan.source = source.ref;
    draft->plan.home = text_copy (draft->arena, text_of (draft->options->home));
    /* LAUNCHER_NONE: a wrong launcher was reported, and checks that depend on it are skipped. */
    const struct conf_value *launcher = &draft->slice[SLICE_LAUNCHER];
    if (draft->slice[SLICE_SLICES].good && draft->slice[SLICE_SLICES].number > 1)
        draft->plan.slices = (uint32_t) draft->slice[SLICE_SLICES].number;
    draft->plan.launcher = launcher->good ? (enum launcher) launcher->number : LAUNCHER_NONE;
    return 0;
}

static int read_axis (struct draft *draft, const struct yaml_node *key, struct axis *axis)
{
    struct problem_list *problems = draft->problems;
    uint64_t size = 0;
    const struct yaml_node *value = key->value;
    if (!identifier_is_good (key->text, AXIS_NAME_MAX_BYTES))
        return problem_at (problems, key, "%s is not an axis name, expected letters, digits and '_', at most %d bytes",
                           problem_quote (problems, key->text), AXIS_NAME_MAX_BYTES);
    bool good = value->kind == YAML_SCALAR && value->plain && text_to_u64 (value->text, &size) && size > 0;
    if (!good || size > DEVICES_MAX)
        return problem_at (problems, value, "the size of axis %.*s is not usable, expected a whole number from 1 to %d",
                           TEXT_ARG (key->text), DEVICES_MAX);
    *axis = (struct axis){ .axis = key->text, .size = (uint32_t) size };
    return 0;
}

static int read_axes (struct draft *draft, const struct yaml_node *map, struct mesh *mesh)
{
    int result = 0;
    if (map->n == 0 || map->n > MESH_AXES_MAX)
        return problem_at (draft->problems, map, "a mesh of %u axes, expected 1 to %d", map->n, MESH_AXES_MAX);
    mesh->items = arena_array (draft->arena, map->n, sizeof *mesh->items);
    for (const struct yaml_node *key = map->first; key; key = key->next)
        result |= read_axis (draft, key, &mesh->items[mesh->n++]);
    return result;
}

/* A mesh to propose: the given axes with one size changed, else a single axis. */
static const char *fitting_mesh (struct draft *draft, const struct mesh *mesh, uint64_t devices)
{
    uint32_t product = mesh_devices (mesh), chosen = mesh->n;
    for (uint32_t i = mesh->n; product > 0 && i-- > 0;)
        if (devices % (product / mesh->items[i].size) == 0 &&
            (i > 0 || devices / (product / mesh->items[i].size) % plan_slices (&draft->plan) == 0))
            chosen = i;
    if (chosen == mesh->n)
        return text_format (draft->arena, "{host: %u}", (uint32_t) devices).ptr;
    struct buf text = { .max = ERR_TEXT_BYTES };
    for (uint32_t i = 0; i < mesh->n; i++)
        buf_printf (&text, "%s%.*s: %u", i ? ", " : "{", TEXT_ARG (mesh->items[i].axis),
                    i == chosen ? (uint32_t) (devices / (product / mesh->items[i].size)) : mesh->items[i].size);
    buf_byte (&text, '}');
    return buf_finish (&text, draft->arena).ptr;
}

/* Of the whole slice, also when the run leaves hosts out. */
static void check_chips (struct draft *draft)
{
    const struct profile *profile = &draft->plan.profile;
    const struct machine_type *machine = &draft->plan.machine;
    const struct conf_value *own = &draft->slice[SLICE_TOPOLOGY];
    const struct yaml_node *of_profile = draft->slice[SLICE_PROFILE].node, *where = own->given ? own->node : of_profile;
    uint32_t chips, slices = plan_slices (&draft->plan), hosts = draft->plan.whole / slices,
                    devices = hosts * profile->devices_per_host;
    bool has_grid = mesh_topology_chips (profile->topology, &chips);
    if (profile->topology.len && !has_grid)
        problem_at (draft->problems, where, "the topology is %.*s, expected sizes such as 4x4",
                    TEXT_ARG (profile->topology));
    else if (has_grid && machine->id.len && chips != hosts * machine->chips)
        problem_at (draft->problems, draft->slice[SLICE_MACHINE].node,
                    "the topology %.*s has %u chips, which are %u hosts of type %.*s, but %s has %u%s",
                    TEXT_ARG (profile->topology), chips, chips / machine->chips, TEXT_ARG (machine->id),
                    slices > 1 ? "each slice" : "the slice", hosts,
                    draft->excluded.n ? " with those that are left out" : "");
    else if (has_grid && !machine->id.len && chips != devices)
        problem_at (draft->problems, where, "the topology %.*s has %u chips, expected %u: hosts times devices_per_host",
                    TEXT_ARG (profile->topology), chips, devices);
    if (!(machine->id.len && has_grid) && accelerator_chips (profile->accelerator, &chips) && chips != devices)
        problem_at (draft->problems, of_profile,
                    "the profile's accelerator %.*s has %u chips, expected %u: hosts times devices_per_host",
                    TEXT_ARG (profile->accelerator), chips, devices);
}

/* " (without n3, which is left out)" */
static const char *without (struct draft *draft)
{
    const text_list *out = &draft->excluded;
    if (out->n == 0)
        return "";
    struct text names = hostset_folded (out->items, out->n, UINT32_MAX, draft->arena);
    return text_format (draft->arena, " (without %.*s, left out)", TEXT_ARG (names)).ptr;
}

/* Hosts are in the order of slices, and devices in that of hosts: only the first axis can run over slices. */
static void check_first_axis (struct draft *draft, const struct mesh *mesh)
{
    uint32_t slices = plan_slices (&draft->plan);
    if (slices > 1 && mesh->n && mesh->items[0].size % slices)
        problem_at (
            draft->problems, draft->slice[SLICE_MESH].node,
            "the first axis of the mesh, %.*s, has %u devices, expected a multiple of %u: it runs over the slices",
            TEXT_ARG (mesh->items[0].axis), mesh->items[0].size, slices);
}

/* Of other hosts no mesh is asked for: none would fit. */
static bool check_slices (struct draft *draft)
{
    const struct yaml_node *given = draft->slice[SLICE_SLICES].node;
    uint32_t slices = plan_slices (&draft->plan), whole = draft->plan.whole;
    if (slices > 1 && whole % slices)
        problem_at (draft->problems, given, "%u hosts are no %u slices of equal size", whole, slices);
    else if (slices > 1 && draft->excluded.n)
        problem_at (draft->problems, given,
                    "hosts are left out%s, expected all of %u slices: the runtime waits for each of them",
                    without (draft), slices);
    else
        return true;
    return false;
}

void draft_mesh (struct draft *draft)
{
    const struct conf_value *given = &draft->slice[SLICE_MESH];
    struct mesh mesh = { 0 };
    if (given->given && (!given->good || read_axes (draft, given->node, &mesh) != 0))
        return;
    if (draft->plan.hosts.n == 0 || !draft->profile_good || !draft->plan.profile.devices_per_host ||
        !check_slices (draft))
        return;
    uint64_t devices = (uint64_t) draft->plan.hosts.n * draft->plan.profile.devices_per_host;
    if (!given->given) {
        mesh = (struct mesh){ .items = arena_alloc (draft->arena, sizeof *mesh.items), .n = 1 };
        mesh.items[0] = (struct axis){ .axis = TEXT_LIT ("host"), .size = (uint32_t) devices };
    }
    if (devices > DEVICES_MAX)
        problem_at (draft->problems, given->node,
                    "the slice has %u hosts with %u devices each, expected at most %d devices in all",
                    draft->plan.hosts.n, draft->plan.profile.devices_per_host, DEVICES_MAX);
    else if (mesh_devices (&mesh) != devices)
        problem_at (draft->problems, given->node,
                    "the sizes of the mesh multiply to %u devices, expected %u: %u host%s%s times %u devices_per_host; "
                    "a mesh of %s would fit",
                    mesh_devices (&mesh), (uint32_t) devices, draft->plan.hosts.n, plural (draft->plan.hosts.n),
                    without (draft), draft->plan.profile.devices_per_host, fitting_mesh (draft, &mesh, devices));
    check_chips (draft);
    check_first_axis (draft, &mesh);
    draft->plan.mesh = mesh;
}

/* Long enough for every host to use its whole deadline. */
static uint64_t usual_join_ms (const struct draft *draft)
{
    const struct plan *plan = &draft->plan;
    if (plan->launcher == LAUNCHER_JOIN)
        return JOIN_BY_ITSELF_MS;
    uint64_t rounds = plan->start.at_once > 0 ? (plan->hosts.n + plan->start.at_once - 1) / plan->start.at_once : 0;
    uint64_t wanted_ms = JOIN_MS + rounds * plan->start.deadline_ms;
    return wanted_ms < JOIN_MOST_MS ? wanted_ms : JOIN_MOST_MS;
}

static void read_join (struct draft *draft, const struct conf_value *join)
{
    uint64_t deadline_ms = draft->plan.start.deadline_ms;
    draft->plan.limits.join_ms = join->given ? join->number : usual_join_ms (draft);
    if (join->given && join->good && join->number < deadline_ms)
        warning_at (draft->problems, join->node,
                    "limits.join is %llu ms, but start.deadline gives one host %llu ms to start; expected a "
                    "limits.join at least as long",
                    (unsigned long long) join->number, (unsigned long long) deadline_ms);
}

void draft_limits (struct draft *draft)
{
    struct conf_value limits[LIMIT_KEYS];
    if (section_read_optional (&limits_section, &draft->slice[SLICE_LIMITS], limits, draft->problems) != 0)
        return;
    draft->plan.limits = (struct limits){ .suspect_ms = limits[LIMIT_SUSPECT].number,
                                          .lost_ms = limits[LIMIT_LOST].number,
                                          .orphan_ms = limits[LIMIT_ORPHAN].number,
                                          .exit_ms = limits[LIMIT_EXIT].number,
                                          .cascade_ms = limits[LIMIT_CASCADE].number,
                                          .stop_ms = limits[LIMIT_STOP].number,
                                          .log_bytes = limits[LIMIT_LOG].number,
                                          .lease_ms = limits[LIMIT_LEASE].number,
                                          .retries = (uint32_t) limits[LIMIT_RETRIES].number,
                                          .retry_wait_ms = limits[LIMIT_RETRY_WAIT].number,
                                          .device_wait_ms = limits[LIMIT_DEVICE_WAIT].number };
    read_join (draft, &limits[LIMIT_JOIN]);
    const struct conf_value *suspect = &limits[LIMIT_SUSPECT], *lost = &limits[LIMIT_LOST];
    if (suspect->good && lost->good && suspect->number >= lost->number)
        problem_at (draft->problems, suspect->given ? suspect->node : lost->node,
                    "limits.suspect is %llu ms and limits.lost is %llu ms, expected suspect to be shorter than lost",
                    (unsigned long long) suspect->number, (unsigned long long) lost->number);
    const struct conf_value *orphan = &limits[LIMIT_ORPHAN], *leave = &limits[LIMIT_EXIT];
    if (orphan->good && leave->good && orphan->number > leave->number)
        problem_at (
            draft->problems, orphan->given ? orphan->node : leave->node,
            "limits.orphan is %llu ms and limits.exit is %llu ms, expected orphan to be at most as long as exit",
            (unsigned long long) orphan->number, (unsigned long long) leave->number);
}

/* ---- on end ---- */

/* Reads the command of a run's end (words, limit, program on this machine), and when the climb goes on despite
 * failures. */

/* Absolute; empty: there is none. */
static struct text find_program (struct draft *draft, const struct yaml_node *at)
{
    const char *word = text_copy (draft->arena, at->text).ptr;
    if (strchr (word, '/'))
        word = source_own_path (at, at->text, draft->arena);
    struct text file = text_of (path_find_program (word, true, draft->arena, NULL));
    return text_starts (file, "/") ? file : (struct text){ 0 };
}

static bool on_end_is_word (const struct yaml_node *node)
{
    return node->kind == YAML_SCALAR && !yaml_is_null (node) && !memchr (node->text.ptr, '\0', node->text.len);
}

static void on_end_read_words (struct draft *draft, const struct yaml_node *list, text_list *words)
{
    if (list->n == 0 || list->n > ARGV_MAX) {
        problem_at (draft->problems, list, "on_end has %u words, expected 1 to %d", list->n, ARGV_MAX);
        return;
    }
    words->items = arena_array (draft->arena, list->n, sizeof *words->items);
    for (const struct yaml_node *word = list->first; word; word = word->next)
        if (on_end_is_word (word) && (word->text.len || word != list->first))
            words->items[words->n++] = word->text;
        else
            problem_at (draft->problems, word, "a word of on_end is no single value, or names no program");
    if (words->n < list->n)
        return;
    struct text program = find_program (draft, list->first);
    if (program.len == 0)
        problem_at (draft->problems, list->first,
                    "the program %s of on_end is not there, or cannot be executed; expected a name on the PATH, an "
                    "absolute path, or a file beside the slice file as ./NAME",
                    problem_quote (draft->problems, words->items[0]));
    else
        draft_note_path (draft, (words->items[0] = program).ptr);
}

void draft_on_end (struct draft *draft)
{
    const struct conf_value *given = &draft->slice[SLICE_ON_END];
    struct conf_value of[ON_END_KEYS];
    if (!given->given || !given->good || draft->options->rehearsal)
        return;
    struct on_end *on_end = &draft->plan.on_end;
    on_end->timeout_ms = ON_END_MS;
    if (given->node->kind == YAML_LIST) {
        on_end_read_words (draft, given->node, &on_end->command);
    } else if (section_read (&on_end_section, given->node, of, draft->problems) == 0) {
        on_end->timeout_ms = of[ON_END_TIMEOUT].number;
        if (of[ON_END_COMMAND].good)
            on_end_read_words (draft, of[ON_END_COMMAND].node, &on_end->command);
    }
}

/* ---- when the climb goes on although something does not hold, and when it stops the sooner ---- */

void draft_climb (struct draft *draft)
{
    const struct conf_options *options = draft->options;
    draft->plan.climb = (struct climb_policy){ options->min_hosts, options->keep_going, options->fail_fast };
    if (draft->plan.hosts.n && options->min_hosts > draft->plan.hosts.n)
        problem_add (draft->problems, "--min-hosts", 0, 0,
                     "it asks for %u hosts, expected at most %u, those of this run", options->min_hosts,
                     draft->plan.hosts.n);
}
