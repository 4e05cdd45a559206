/* plan.c - the tables of the plan. Keys are for ever: a new field takes the next free one. */
#include <arpa/inet.h>

#include "common/model/plan.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A year: no wait of a run is longer, and sums of two stay far from the end of 64 bits. */
#define WAIT_MAX_MS (365ull * 24 * 60 * 60 * 1000)
/* Sizes stay within what SQLite and JSON readers hold as a signed number. */
#define BYTES_MAX ((uint64_t) INT64_MAX)

const struct enum_names launcher_names = NAMED ("none", "local", "join", "ssh", "slurm");
const struct enum_names program_kind_names = NAMED ("none", "builtin", "canary", "command");
const struct enum_names scope_names = NAMED ("none", "host", "slice");
const struct enum_names warm_names = NAMED ("none", "solo", "gang", "aot");
const struct enum_names pass_names = NAMED ("none", "once", "cold", "restored");
const struct enum_names cache_mode_names = NAMED ("none", "off", "single-writer", "per-host", "read-only", "warm-only");
const struct enum_names enforcement_names = NAMED ("none", "cooperative", "landlock", "namespace", "namespace+landlock",
                                                   "storage");

static const struct field var_fields[] = { F_TEXT (1, struct var, name, NAME_MAX_BYTES),
                                           F_TEXT (2, struct var, value, TEXT_MAX_BYTES) };
const struct record var_record = RECORD ("var", struct var, var_fields);

static const struct field number_fields[] = { F_TEXT (1, struct named_number, name, NAME_MAX_BYTES),
                                              F_U64 (2, struct named_number, value, BYTES_MAX) };
const struct record number_record = RECORD ("number", struct named_number, number_fields);

static const struct field file_ref_fields[] = { F_TEXT (1, struct file_ref, path, PATH_MAX_BYTES),
                                                F_TEXT (2, struct file_ref, sha256, SHA256_HEX_BYTES) };
const struct record file_ref_record = RECORD ("file", struct file_ref, file_ref_fields);

static const struct field kit_file_fields[] = { F_TEXT (1, struct kit_file, name, NAME_MAX_BYTES),
                                                F_RECORD (2, struct kit_file, file, &file_ref_record) };
static const struct record kit_file_record = RECORD ("file of a kit", struct kit_file, kit_file_fields);

static const struct field ssh_way_fields[] = { F_TEXT (1, struct ssh_route, address, NAME_MAX_BYTES),
                                               F_U32 (2, struct ssh_route, port, UINT16_MAX),
                                               F_TEXT (3, struct ssh_route, user, ID_MAX_BYTES),
                                               F_TEXT (4, struct ssh_route, jump, NAME_MAX_BYTES),
                                               F_TEXT (5, struct ssh_route, host_key_alias, NAME_MAX_BYTES),
                                               F_U32 (6, struct ssh_route, from_config, (1u << SAID_N) - 1),
                                               F_TEXT (7, struct ssh_route, command, PATH_MAX_BYTES) };
static const struct record ssh_way_record = RECORD ("way", struct ssh_route, ssh_way_fields);

static const struct field plan_host_fields[] = { F_TEXT (1, struct plan_host, name, HOST_NAME_MAX_BYTES),
                                                 F_TEXT (2, struct plan_host, address, NAME_MAX_BYTES),
                                                 F_TEXT (3, struct plan_host, env_dir, PATH_MAX_BYTES),
                                                 F_RECORD (4, struct plan_host, ssh, &ssh_way_record),
                                                 F_U32 (5, struct plan_host, place, HOSTS_MAX) };
static const struct record plan_host_record = RECORD ("host", struct plan_host, plan_host_fields);

static const struct field usual_time_fields[] = { F_ENUM (1, struct usual_time, pass, &pass_names),
                                                  F_U64 (2, struct usual_time, ms, INT64_MAX),
                                                  F_U32 (3, struct usual_time, runs, UINT32_MAX) };
static const struct record usual_time_record = RECORD ("usual-time", struct usual_time, usual_time_fields);

static const struct field demand_fields[] = { F_TEXT (1, struct demand, what, WORD_MAX_BYTES),
                                              F_F64 (2, struct demand, most) };
static const struct record demand_record = RECORD ("demand", struct demand, demand_fields);

static const struct field floor_fields[] = { F_TEXT (1, struct floor, name, NAME_MAX_BYTES),
                                             F_F64 (2, struct floor, least),
                                             F_TEXT (3, struct floor, of, SENTENCE_MAX_BYTES),
                                             F_BOOL (4, struct floor, may_be_left) };
static const struct record floor_record = RECORD ("floor", struct floor, floor_fields);

static const struct field rung_fields[] = {
    F_TEXT (1, struct rung, id, ID_MAX_BYTES),
    F_ENUM (2, struct rung, kind, &program_kind_names),
    F_TEXT (3, struct rung, builtin, ID_MAX_BYTES),
    F_RECORD (4, struct rung, program, &file_ref_record),
    F_TEXTS (5, struct rung, argv, ARGV_MAX, TEXT_MAX_BYTES),
    F_LIST (6, struct rung, args, VARS_MAX, &var_record),
    F_ENUM (7, struct rung, scope, &scope_names),
    F_ENUM (8, struct rung, warm, &warm_names),
    F_U64 (9, struct rung, timeout_ms, WAIT_MAX_MS),
    F_TEXT (10, struct rung, backend, ID_MAX_BYTES),
    F_BOOL (11, struct rung, needs_env),
    F_TEXTS (12, struct rung, metrics, METRICS_MAX, WORD_MAX_BYTES),
    F_LIST (13, struct rung, files, KIT_FILES_MAX, &kit_file_record),
    F_TEXT (14, struct rung, parse, ID_MAX_BYTES),
    F_TEXT (15, struct rung, launch, ID_MAX_BYTES),
    F_TEXT (16, struct rung, known_bad, SENTENCE_MAX_BYTES),
    F_LIST (17, struct rung, usual, USUAL_TIMES_MAX, &usual_time_record),
    F_LIST (18, struct rung, demands, DEMANDS_MAX, &demand_record),
    F_LIST (19, struct rung, tolerances, METRICS_MAX, &demand_record),
    F_BOOL (20, struct rung, any_backend),
    F_BOOL (21, struct rung, same_output),
    F_TEXT (22, struct rung, folder, TEXT_MAX_BYTES),
    F_TEXT (23, struct rung, workdir, PATH_MAX_BYTES),
    F_TEXTS (24, struct rung, beside, BESIDE_MAX, ID_MAX_BYTES),
    F_BOOL (25, struct rung, copies),
    F_TEXT (26, struct rung, next_best, SENTENCE_MAX_BYTES),
    F_U64 (27, struct rung, hold_ms, WAIT_MAX_MS),
    F_LIST (28, struct rung, floors, 2 * FLOORS_MAX, &floor_record),
};
const struct record rung_record = RECORD ("rung", struct rung, rung_fields);

static const struct field scope_env_fields[] = { F_LIST (1, struct scope_env, set, VARS_MAX, &var_record),
                                                 F_TEXTS (2, struct scope_env, unset, VARS_MAX, NAME_MAX_BYTES) };
static const struct record scope_env_record = RECORD ("scope environment", struct scope_env, scope_env_fields);

static const struct field dimension_fields[] = { F_TEXT (1, struct dimension, name, AXIS_NAME_MAX_BYTES),
                                                 F_U32S (2, struct dimension, sizes, SHAPE_SIZES_MAX, SHAPE_SIZE_MAX) };
static const struct record dimension_record = RECORD ("dimension", struct dimension, dimension_fields);

static const struct field profile_fields[] = { F_TEXT (1, struct profile, name, ID_MAX_BYTES),
                                               F_TEXT (2, struct profile, frontend, ID_MAX_BYTES),
                                               F_TEXT (3, struct profile, backend, ID_MAX_BYTES),
                                               F_U32 (4, struct profile, devices_per_host, DEVICES_MAX),
                                               F_LIST (5, struct profile, env, VARS_MAX, &var_record),
                                               F_TEXT (6, struct profile, accelerator, ID_MAX_BYTES),
                                               F_TEXT (7, struct profile, topology, ID_MAX_BYTES),
                                               F_BOOL (8, struct profile, splits),
                                               F_RECORD (9, struct profile, host_env, &scope_env_record),
                                               F_RECORD (10, struct profile, slice_env, &scope_env_record),
                                               F_TEXTS (11, struct profile, inherit, VARS_MAX, NAME_MAX_BYTES),
                                               F_LIST (12, struct profile, shapes, SHAPES_MAX, &dimension_record),
                                               F_BOOL (13, struct profile, padding),
                                               F_U32 (14, struct profile, port, UINT16_MAX) };
const struct record profile_record = RECORD ("profile", struct profile, profile_fields);

static const struct field cache_plan_fields[] = {
    F_ENUM (1, struct cache_plan, mode, &cache_mode_names),
    F_TEXT (2, struct cache_plan, root, PATH_MAX_BYTES),
    F_TEXT (3, struct cache_plan, writer, HOST_NAME_MAX_BYTES),
    F_TEXTS (4, struct cache_plan, writers, WRITERS_MAX, HOST_NAME_MAX_BYTES),
    F_ENUM (5, struct cache_plan, least, &enforcement_names),
    F_BOOL (6, struct cache_plan, overlay),
    F_TEXTS (7, struct cache_plan, writable, WRITABLE_MAX, PATH_MAX_BYTES),
    F_TEXTS (8, struct cache_plan, protected, PROTECTED_MAX, PATH_MAX_BYTES),
    F_U32S (9, struct cache_plan, trust, TRUST_MAX, TRUST_UID_MAX),
};
static const struct record cache_plan_record = RECORD ("cache", struct cache_plan, cache_plan_fields);

static const struct field pins_fields[] = {
    F_TEXT (1, struct pins, name, ID_MAX_BYTES),        F_RECORD (2, struct pins, file, &file_ref_record),
    F_RECORD (3, struct pins, setup, &file_ref_record), F_TEXT (4, struct pins, python, PATH_MAX_BYTES),
    F_TEXT (5, struct pins, env_dir, PATH_MAX_BYTES),   F_LIST (6, struct pins, wheels, WHEELS_MAX, &kit_file_record)
};
const struct record pins_record = RECORD ("pins", struct pins, pins_fields);

static const struct field limits_fields[] = {
    F_U64 (1, struct limits, join_ms, WAIT_MAX_MS),        F_U64 (2, struct limits, suspect_ms, WAIT_MAX_MS),
    F_U64 (3, struct limits, lost_ms, WAIT_MAX_MS),        F_U64 (4, struct limits, orphan_ms, WAIT_MAX_MS),
    F_U64 (5, struct limits, exit_ms, WAIT_MAX_MS),        F_U64 (6, struct limits, cascade_ms, WAIT_MAX_MS),
    F_U64 (7, struct limits, stop_ms, WAIT_MAX_MS),        F_U64 (8, struct limits, log_bytes, BYTES_MAX),
    F_U64 (9, struct limits, lease_ms, WAIT_MAX_MS),       F_U32 (10, struct limits, retries, RETRIES_MAX),
    F_U64 (11, struct limits, retry_wait_ms, WAIT_MAX_MS), F_U64 (12, struct limits, device_wait_ms, WAIT_MAX_MS),
};
const struct record limits_record = RECORD ("limits", struct limits, limits_fields);

const struct enum_names rule_weight_names = NAMED ("none", "aftermath", "child", "peer", "vague", "prior", "cause");
static const struct field signature_fields[] = {
    F_TEXT (1, struct signature, id, ID_MAX_BYTES),
    F_TEXT (2, struct signature, text, NAME_MAX_BYTES),
    F_ENUM (3, struct signature, owner, &owner_names),
    F_BOOL (4, struct signature, peer),
    F_BOOL (5, struct signature, transient),
    F_TEXT (6, struct signature, next, SENTENCE_MAX_BYTES),
    F_TEXTS (7, struct signature, also, RULE_WORDS_MAX, NAME_MAX_BYTES),
    F_TEXTS (8, struct signature, unless, RULE_WORDS_MAX, NAME_MAX_BYTES),
    F_BOOL (9, struct signature, noise),
    F_BOOL (10, struct signature, memory),
    F_BOOL (11, struct signature, likely),
    F_BOOL (12, struct signature, always),
    F_TEXTS (13, struct signature, backends, SIGNATURE_TEXTS_MAX, ID_MAX_BYTES),
    F_BOOL (14, struct signature, recheck),
    F_ENUM (15, struct signature, rule, &rule_weight_names),
    F_TEXTS (16, struct signature, types, RULE_WORDS_MAX, NAME_MAX_BYTES),
    F_TEXTS (17, struct signature, any, RULE_WORDS_MAX, NAME_MAX_BYTES),
    F_TEXTS (18, struct signature, raised, RULE_WORDS_MAX, ID_MAX_BYTES),
    F_TEXT (19, struct signature, error, ID_MAX_BYTES),
    F_BOOL (20, struct signature, first_line),
    F_ENUM (21, struct signature, else_owner, &owner_names),
};
const struct record signature_record = RECORD ("signature", struct signature, signature_fields);

const struct enum_names bundle_word_names = NAMED ("none", "good", "bad");
static const struct field bundle_rule_fields[] = {
    F_TEXT (1, struct bundle_rule, id, ID_MAX_BYTES),
    F_ENUM (2, struct bundle_rule, word, &bundle_word_names),
    F_TEXTS (3, struct bundle_rule, backends, BUNDLE_PARTS_MAX, ID_MAX_BYTES),
    F_LIST (4, struct bundle_rule, parts, BUNDLE_PARTS_MAX, &var_record),
    F_TEXT (5, struct bundle_rule, why, SENTENCE_MAX_BYTES),
    F_TEXT (6, struct bundle_rule, source, NAME_MAX_BYTES),
};
static const struct record bundle_rule_record = RECORD ("bundle rule", struct bundle_rule, bundle_rule_fields);

const struct enum_names drift_kind_names = NAMED ("none", "agree", "pinned", "tokens", "tolerance", "expected",
                                                  "ignored", "near_zero");
static const struct field drift_rule_fields[] = { F_TEXT (1, struct drift_rule, fact, NAME_MAX_BYTES),
                                                  F_ENUM (2, struct drift_rule, kind, &drift_kind_names),
                                                  F_F64 (3, struct drift_rule, tolerance),
                                                  F_F64 (4, struct drift_rule, least),
                                                  F_TEXT (5, struct drift_rule, why, SENTENCE_MAX_BYTES),
                                                  F_U64 (6, struct drift_rule, repeats, UINT32_MAX),
                                                  F_BOOL (7, struct drift_rule, rate) };
static const struct record drift_rule_record = RECORD ("drift rule", struct drift_rule, drift_rule_fields);

static const struct field ssh_plan_fields[] = {
    F_TEXTS (1, struct ssh_plan, identities, IDENTITIES_MAX, PATH_MAX_BYTES), F_BOOL (2, struct ssh_plan, agent),
    F_TEXT (3, struct ssh_plan, known_hosts, PATH_MAX_BYTES), F_BOOL (4, struct ssh_plan, sudo)
};
static const struct record ssh_plan_record = RECORD ("ssh", struct ssh_plan, ssh_plan_fields);

static const struct field slurm_plan_fields[] = {
    F_TEXT (1, struct slurm_plan, account, NAME_MAX_BYTES), F_TEXT (2, struct slurm_plan, partition, NAME_MAX_BYTES),
    F_TEXTS (3, struct slurm_plan, options, SLURM_OPTIONS_MAX, NAME_MAX_BYTES)
};
static const struct record slurm_plan_record = RECORD ("slurm", struct slurm_plan, slurm_plan_fields);

const struct enum_names link_way_names = NAMED ("", "direct", "ssh", "auto");

static const struct field start_plan_fields[] = {
    F_TEXT (1, struct start_plan, directory, PATH_MAX_BYTES),
    F_TEXT (2, struct start_plan, address, NAME_MAX_BYTES),
    F_TEXT (3, struct start_plan, listen, NAME_MAX_BYTES),
    F_U32 (4, struct start_plan, control_port, UINT16_MAX),
    F_U32 (5, struct start_plan, bulk_port, UINT16_MAX),
    F_U32 (6, struct start_plan, events_port, UINT16_MAX),
    F_U64 (7, struct start_plan, deadline_ms, WAIT_MAX_MS),
    F_U32 (8, struct start_plan, at_once, HOSTS_MAX),
    F_BOOL (9, struct start_plan, tied),
    F_RECORD (10, struct start_plan, ssh, &ssh_plan_record),
    F_RECORD (11, struct start_plan, slurm, &slurm_plan_record),
    F_ENUM (12, struct start_plan, reach, &link_way_names),
    F_BOOL (13, struct start_plan, sends_all),
};
static const struct record start_plan_record = RECORD ("start", struct start_plan, start_plan_fields);

const struct enum_names type_count_names = NAMED ("none", "chips", "cores");
enum { CHIPS_OF_HOST_MAX = 64, MEMORY_GIB_MAX = 1 << 20, TOPOLOGY_DIMENSIONS_MAX = 3 };
static const struct field machine_fields[] = {
    F_TEXT (1, struct machine_type, id, ID_MAX_BYTES),
    F_TEXT (2, struct machine_type, accelerator, ID_MAX_BYTES),
    F_ENUM (3, struct machine_type, counts, &type_count_names),
    F_U32 (4, struct machine_type, chips, CHIPS_OF_HOST_MAX),
    F_U32 (5, struct machine_type, devices_per_chip, CHIPS_OF_HOST_MAX),
    F_TEXT (6, struct machine_type, bounds, ID_MAX_BYTES),
    F_U32 (7, struct machine_type, dimensions, TOPOLOGY_DIMENSIONS_MAX),
    F_U32 (8, struct machine_type, memory_gib, MEMORY_GIB_MAX),
};
static const struct record machine_record = RECORD ("machine", struct machine_type, machine_fields);

static const struct field wrong_variable_fields[] = {
    F_U32 (1, struct wrong_variable, host, HOSTS_MAX - 1),
    F_TEXT (2, struct wrong_variable, name, NAME_MAX_BYTES),
    F_TEXT (3, struct wrong_variable, value, TEXT_MAX_BYTES),
    F_BOOL (4, struct wrong_variable, unset),
};
static const struct record wrong_variable_record = RECORD ("wrong variable", struct wrong_variable,
                                                           wrong_variable_fields);

static const struct field rehearsal_fields[] = {
    F_LIST (1, struct rehearsal, variables, VARS_MAX, &var_record),
    F_LIST (2, struct rehearsal, wrong, WRONG_VARIABLES_MAX, &wrong_variable_record),
};
static const struct record rehearsal_record = RECORD ("rehearsal", struct rehearsal, rehearsal_fields);

static const struct field run_origin_fields[] = {
    F_TEXT (1, struct run_origin, user, NAME_MAX_BYTES),
    F_U32 (2, struct run_origin, uid, UINT32_MAX),
    F_TEXT (3, struct run_origin, host, NAME_MAX_BYTES),
    F_TEXT (4, struct run_origin, directory, TEXT_MAX_BYTES),
    F_TEXTS (5, struct run_origin, command, ORIGIN_WORDS_MAX, TEXT_MAX_BYTES),
};
const struct record run_origin_record = RECORD ("origin", struct run_origin, run_origin_fields);

static const struct field climb_policy_fields[] = { F_U32 (1, struct climb_policy, min_hosts, HOSTS_MAX),
                                                    F_BOOL (2, struct climb_policy, keep_going),
                                                    F_BOOL (3, struct climb_policy, fail_fast) };
static const struct record climb_policy_record = RECORD ("climb policy", struct climb_policy, climb_policy_fields);

static const struct field on_end_fields[] = {
    F_TEXTS (1, struct on_end, command, ARGV_MAX, TEXT_MAX_BYTES),
    F_U64 (2, struct on_end, timeout_ms, UINT64_MAX),
};
static const struct record on_end_record = RECORD ("on end", struct on_end, on_end_fields);

static const struct field plan_fields[] = {
    F_TEXT (1, struct plan, slice, ID_MAX_BYTES),
    F_ENUM (2, struct plan, launcher, &launcher_names),
    F_LIST (3, struct plan, hosts, HOSTS_MAX, &plan_host_record),
    F_LIST (4, struct plan, mesh, MESH_AXES_MAX, &axis_record),
    F_RECORD (5, struct plan, profile, &profile_record),
    F_RECORD (6, struct plan, pins, &pins_record),
    F_RECORD (7, struct plan, cache, &cache_plan_record),
    F_TEXT (8, struct plan, ladder, ID_MAX_BYTES),
    F_LIST (9, struct plan, rungs, RUNGS_MAX, &rung_record),
    F_RECORD (10, struct plan, limits, &limits_record),
    F_LIST (11, struct plan, signatures, SIGNATURES_MAX, &signature_record),
    F_TEXT (12, struct plan, home, PATH_MAX_BYTES),
    F_RECORD (13, struct plan, source, &file_ref_record),
    F_RECORD (14, struct plan, start, &start_plan_record),
    F_RECORD (15, struct plan, signature_table, &file_ref_record),
    F_LIST (16, struct plan, bundles, BUNDLE_RULES_MAX, &bundle_rule_record),
    F_LIST (17, struct plan, drift, DRIFT_RULES_MAX, &drift_rule_record),
    F_RECORD (18, struct plan, machine, &machine_record),
    F_RECORD (19, struct plan, rehearsal, &rehearsal_record),
    F_TEXTS (20, struct plan, left_out, RUNGS_MAX, ID_MAX_BYTES),
    F_U32 (21, struct plan, whole, HOSTS_MAX),
    F_RECORD (22, struct plan, origin, &run_origin_record),
    F_LIST (23, struct plan, expect, EXPECT_MAX, &var_record),
    F_RECORD (24, struct plan, climb, &climb_policy_record),
    F_LIST (25, struct plan, kept, RUNGS_MAX, &var_record),
    F_RECORD (26, struct plan, on_end, &on_end_record),
    F_LIST (27, struct plan, groups, GROUPS_MAX, &var_record),
    F_U32 (28, struct plan, slices, SLICES_MAX),
    F_TEXT (29, struct plan, hint, HINT_MAX_BYTES),
};
const struct record plan_record = RECORD ("plan", struct plan, plan_fields);

text_list text_list_copy (const text_list *from, struct arena *arena)
{
    text_list copy = { .items = from->n ? arena_array (arena, from->n, sizeof *copy.items) : NULL, .n = from->n };
    for (uint32_t i = 0; i < from->n; i++)
        copy.items[i] = text_copy (arena, from->items[i]);
    return copy;
}

bool cache_mode_has_writer (enum cache_mode mode)
{
    return mode == CACHE_SINGLE_WRITER || mode == CACHE_WARM_ONLY;
}

struct named_number *number_find (const number_list *numbers, struct text name)
{
    return LIST_FIND (*numbers, struct named_number, name, name);
}

bool var_find (const var_list *vars, struct text name, struct text *value)
{
    const struct var *var = LIST_FIND (*vars, struct var, name, name);
    if (var)
        *value = var->value;
    return var != NULL;
}

struct text var_value (const var_list *vars, const char *name)
{
    struct text value = { 0 };
    bool heard = var_find (vars, text_of (name), &value) && !text_is (value, FACT_NOT_REPORTED);
    return heard ? value : (struct text){ 0 };
}

struct text plan_fold_hosts (const struct plan *plan, const uint32_t *hosts, uint32_t n, uint32_t max_bytes,
                             struct arena *arena)
{
    struct text *names = arena_array (arena, n, sizeof *names);
    uint32_t known = 0;
    for (uint32_t i = 0; i < n; i++)
        if (hosts[i] < plan->hosts.n)
            names[known++] = plan->hosts.items[hosts[i]].name;
    return hostset_folded (names, known, max_bytes, arena);
}

struct text plan_fold_all_hosts (const struct plan *plan, uint32_t max_bytes, struct arena *arena)
{
    struct text *names = arena_array (arena, plan->hosts.n, sizeof *names);
    for (uint32_t i = 0; i < plan->hosts.n; i++)
        names[i] = plan->hosts.items[i].name;
    return hostset_folded (names, plan->hosts.n, max_bytes, arena);
}

bool plan_has_devices (const struct plan *plan)
{
    return !text_is (plan->profile.frontend, "plain") || !text_is (plan->profile.backend, "cpu");
}

uint32_t plan_whole (const struct plan *plan)
{
    return plan->whole ? plan->whole : plan->hosts.n;
}

bool address_is_loopback (struct text address)
{
    return text_starts (address, "127.") || text_is (address, "::1") || text_is (address, "localhost");
}

bool address_is_ip (struct text address)
{
    char number[INET6_ADDRSTRLEN];
    struct in6_addr parsed;
    return text_to_c (address, number, sizeof number) &&
           (inet_pton (AF_INET, number, &parsed) == 1 || inet_pton (AF_INET6, number, &parsed) == 1);
}

uint32_t plan_place (const struct plan *plan, uint32_t rank)
{
    return plan->whole ? plan->hosts.items[rank].place : rank;
}

uint32_t plan_slices (const struct plan *plan)
{
    return plan->slices ? plan->slices : 1;
}

uint32_t plan_hosts_of_slice (const struct plan *plan)
{
    uint32_t hosts = plan_whole (plan) / plan_slices (plan);
    return hosts ? hosts : 1;
}

uint32_t plan_slice_of (const struct plan *plan, uint32_t rank)
{
    return plan_place (plan, rank) / plan_hosts_of_slice (plan);
}

uint32_t plan_worker_of (const struct plan *plan, uint32_t rank)
{
    return plan_place (plan, rank) % plan_hosts_of_slice (plan);
}

struct text plan_name_slices (const struct plan *plan, const uint32_t *hosts, uint32_t n, struct arena *arena)
{
    uint32_t of_slice[SLICES_MAX] = { 0 }, whole = 0, size = plan_hosts_of_slice (plan);
    LOCAL_BUF names = { .max = ERR_TEXT_BYTES };
    for (uint32_t i = 0; i < n && plan->slices; i++)
        if (hosts[i] < plan->hosts.n && plan_slice_of (plan, hosts[i]) < plan->slices)
            of_slice[plan_slice_of (plan, hosts[i])]++;
    for (uint32_t i = 0; i < plan->slices; i++)
        if (of_slice[i] == size)
            buf_printf (&names, "%s%u", whole++ ? "," : "", i);
    if (whole == 0 || whole == plan->slices || whole * size != n)
        return (struct text){ 0 };
    return text_format (arena, " (slice%s %s)", plural (whole), buf_c (&names));
}

int plan_host_rank (const struct plan *plan, struct text host)
{
    for (uint32_t rank = 0; rank < plan->hosts.n; rank++) {
        if (text_equal (plan->hosts.items[rank].name, host))
            return (int) rank;
    }
    return -1;
}

bool rung_is_builtin (const struct rung *rung, const char *name)
{
    return rung->kind == PROGRAM_BUILTIN && text_is (rung->builtin, name);
}

bool rung_lacks (const struct rung *rung, struct text name)
{
    if (text_ends (name, ".py"))
        name.len -= 3;
    return text_is_among (name, rung->beside.items, rung->beside.n);
}

bool rung_makes_client (const struct rung *rung)
{
    struct text client;
    return !var_find ((const var_list *) &rung->args, TEXT_LIT ("client"), &client) || !text_is (client, "false");
}

int plan_rung_index (const struct plan *plan, struct text id)
{
    for (uint32_t rung = 0; rung < plan->rungs.n; rung++) {
        if (text_equal (plan->rungs.items[rung].id, id))
            return (int) rung;
    }
    return -1;
}

const struct signature *plan_find_signature (const struct plan *plan, struct text id)
{
    return id.len ? LIST_FIND (plan->signatures, struct signature, id, id) : NULL;
}

/* ---- mesh ---- */

static const struct field axis_fields[] = { F_TEXT (1, struct axis, axis, AXIS_NAME_MAX_BYTES),
                                            F_U32 (2, struct axis, size, DEVICES_MAX) };
const struct record axis_record = RECORD ("axis", struct axis, axis_fields);

uint32_t mesh_devices (const struct mesh *mesh)
{
    uint64_t devices = 1;
    for (uint32_t i = 0; i < mesh->n; i++) {
        devices *= mesh->items[i].size;
        if (devices > DEVICES_MAX)
            return 0;
    }
    return (uint32_t) devices;
}

int mesh_axis (const struct mesh *mesh, struct text name)
{
    for (uint32_t i = 0; i < mesh->n; i++)
        if (text_equal (mesh->items[i].axis, name))
            return (int) i;
    return -1;
}

/* Row-major: the last axis named is the one that changes from one device to the next. */
void mesh_coordinates (const struct mesh *mesh, uint32_t device, uint32_t at[])
{
    assert (mesh->n <= MESH_AXES_MAX && device < mesh_devices (mesh));
    for (uint32_t i = mesh->n; i-- > 0;) {
        at[i] = device % mesh->items[i].size;
        device /= mesh->items[i].size;
    }
}

bool mesh_reduced_together (const struct mesh *mesh, uint32_t a, uint32_t b, uint32_t axes_bits)
{
    uint32_t at_a[MESH_AXES_MAX], at_b[MESH_AXES_MAX];
    mesh_coordinates (mesh, a, at_a);
    mesh_coordinates (mesh, b, at_b);
    for (uint32_t i = 0; i < mesh->n; i++)
        if (!(axes_bits >> i & 1) && at_a[i] != at_b[i])
            return false;
    return true;
}

enum { CHIPS_MAX = 1 << 20 };

/* Takes a size and the mark behind it, which another one follows; false: there is none. */
static bool take_size (struct text *grid, uint64_t *size)
{
    uint32_t digits = text_digits_end (*grid, 0), taken = digits;
    if (digits < grid->len && (grid->ptr[digits] == 'x' || grid->ptr[digits] == ','))
        taken++;
    bool good = text_to_u64 ((struct text){ grid->ptr, digits }, size) && *size > 0 && *size <= CHIPS_MAX &&
                (taken == digits) == (taken == grid->len);
    *grid = (struct text){ grid->ptr + taken, grid->len - taken };
    return good;
}

bool mesh_topology_chips (struct text grid, uint32_t *product)
{
    uint64_t all = 1, one;
    do {
        if (!take_size (&grid, &one) || (all *= one) > CHIPS_MAX)
            return false;
    } while (grid.len);
    *product = (uint32_t) all;
    return true;
}

uint32_t mesh_grid_read (struct text grid, uint32_t sizes[MESH_GRID_AXES])
{
    uint32_t all, n = 0;
    uint64_t size;
    if (!mesh_topology_chips (grid, &all))
        return 0;
    for (int i = 0; i < MESH_GRID_AXES; i++)
        sizes[i] = 1;
    for (; n < MESH_GRID_AXES && take_size (&grid, &size); n++)
        sizes[n] = (uint32_t) size;
    return grid.len ? 0 : n;
}

struct text mesh_host_grid (struct text topology, struct text bounds, struct arena *arena)
{
    uint32_t all[MESH_GRID_AXES], own[MESH_GRID_AXES];
    if (!mesh_grid_read (topology, all) || !mesh_grid_read (bounds, own))
        return (struct text){ 0 };
    for (int i = 0; i < MESH_GRID_AXES; i++)
        all[i] = all[i] / own[i] ? all[i] / own[i] : 1;
    return text_format (arena, "%u,%u,%u", all[0], all[1], all[2]);
}

bool mesh_same_sizes (struct text a, struct text b)
{
    uint32_t x[MESH_GRID_AXES], y[MESH_GRID_AXES];
    if (!mesh_grid_read (a, x) || !mesh_grid_read (b, y))
        return false;
    qsort (x, MESH_GRID_AXES, sizeof x[0], u32_order);
    qsort (y, MESH_GRID_AXES, sizeof y[0], u32_order);
    return memcmp (x, y, sizeof x) == 0;
}

/* The number counts chips in these generations (docs.cloud.google.com/tpu/docs/v6e: v6e-16 is 4x4, 16 chips). */
bool accelerator_chips (struct text accelerator, uint32_t *chips)
{
    static const char *const counted_in_chips[] = { "v6e-", "v5litepod-", "v5e-" };
    for (size_t i = 0; i < sizeof counted_in_chips / sizeof counted_in_chips[0]; i++) {
        struct text prefix = text_of (counted_in_chips[i]);
        if (text_starts (accelerator, counted_in_chips[i]))
            return mesh_topology_chips ((struct text){ accelerator.ptr + prefix.len, accelerator.len - prefix.len },
                                        chips);
    }
    return false;
}
