#include "coordinator/verdict/topology.h"

#include <ctype.h>
#include <stdlib.h>

#include "common/model/result.h"
#include "coordinator/verdict/judge.h"

enum { CHIPS_MAX = 1 << 20 };

struct asked {
    const struct plan *plan;
    const struct topology_host *hosts;
    uint32_t rank;
    struct arena *arena;
    struct topology_finding *finding;
};

struct text topology_said (const struct topology_host *host, struct text fact)
{
    static const char *const not_reported[] = { "absent", "unreadable", FACT_NOT_REPORTED, "not asked", "none" };
    for (uint32_t i = 0; i < host->facts_n; i++) {
        if (!text_equal (host->facts[i].name, fact))
            continue;
        for (size_t k = 0; k < sizeof not_reported / sizeof not_reported[0]; k++)
            if (text_starts (host->facts[i].value, not_reported[k]))
                return (struct text){ 0 };
        return host->facts[i].value;
    }
    return (struct text){ 0 };
}

static struct text said_here (const struct asked *asked, const char *fact)
{
    return topology_said (&asked->hosts[asked->rank], text_of (fact));
}

static bool topology_find (const struct asked *asked, enum owner owner, const char *fact, struct text what,
                           const char *next)
{
    *asked->finding = (struct topology_finding){ asked->rank, owner, text_of (fact),
                                                 text_clip (what, SENTENCE_MAX_BYTES), text_of (next) };
    return true;
}

/* "4 x 0x006f (vfio-pci), 1 x ...": the sum of the counts. */
static bool count_kinds (struct text kinds, uint32_t *count)
{
    uint32_t sum = 0, one = 0;
    bool at_start = true, digits = false;
    for (uint32_t i = 0; i < kinds.len; i++) {
        char c = kinds.ptr[i];
        if (at_start && isdigit ((unsigned char) c) && one < CHIPS_MAX) {
            one = one * 10 + (uint32_t) (c - '0');
            digits = true;
        } else if (at_start && c != ' ') {
            at_start = false;
            sum += one;
            one = 0;
        }
        if (c == ',')
            at_start = true;
    }
    *count = sum;
    return digits;
}

/* ---- what each host says, in the order in which a person would look; true: something does not hold ---- */

/* A chip of some generations has two devices. */
static uint32_t chips_of_host (const struct plan *plan)
{
    return plan->machine.id.len ? plan->machine.chips : plan->profile.devices_per_host;
}

static bool chips_wrong (const struct asked *asked)
{
    struct text kinds = said_here (asked, "pci.google");
    uint32_t chips, wanted = chips_of_host (asked->plan);
    if (!kinds.len || !count_kinds (kinds, &chips) || chips == wanted)
        return false;
    return topology_find (
        asked, OWNER_HOST, "pci.google",
        text_format (asked->arena, "shows %u TPU chips on its PCI bus, the profile says %u", chips, wanted),
        "if the host lacks a chip, have the platform repair it; in a container, /sys may be hidden");
}

static bool stated_wrong (const struct asked *asked, const char *fact, const char *variable, struct text stated)
{
    struct text seen = said_here (asked, fact), shown = text_clip (seen, 128);
    if (!stated.len || !seen.len || text_equal (seen, stated))
        return false;
    return topology_find (asked, OWNER_PLATFORM, fact,
                          text_format (asked->arena, "its %s (%s, or its metadata) is %.*s, the profile says %.*s",
                                       fact, variable, TEXT_ARG (shown), TEXT_ARG (stated)),
                          "this host belongs to another slice, or the profile was written for another one");
}

static bool type_wrong (const struct asked *asked)
{
    const struct profile *stated = &asked->plan->profile;
    return stated_wrong (asked, "tpu.accelerator_type", "TPU_ACCELERATOR_TYPE", stated->accelerator) ||
           stated_wrong (asked, "tpu.topology", "TPU_TOPOLOGY", stated->topology);
}

static bool product_wrong (const struct asked *asked)
{
    struct text grid = said_here (asked, "tpu.topology");
    uint32_t chips, hosts = plan_hosts_of_slice (asked->plan), wanted = hosts * chips_of_host (asked->plan);
    if (!grid.len || !mesh_topology_chips (grid, &chips) || chips == wanted)
        return false;
    return topology_find (
        asked, OWNER_PLATFORM, "tpu.topology",
        text_format (asked->arena, "its topology %.*s has %u chips, the slice file has %u hosts%s with %u chips each",
                     TEXT_ARG (grid), chips, hosts, asked->plan->slices ? " a slice" : "", chips_of_host (asked->plan)),
        "list every host of the slice in the slice file, by worker number; see docs/guide/tpu-vm.md");
}

static bool chip_bounds_wrong (const struct asked *asked)
{
    struct text bounds = said_here (asked, "tpu.chips_per_host_bounds");
    uint32_t chips, wanted = chips_of_host (asked->plan);
    if (!bounds.len || !mesh_topology_chips (bounds, &chips) || chips == wanted)
        return false;
    return topology_find (
        asked, OWNER_LAUNCH, "tpu.chips_per_host_bounds",
        text_format (asked->arena, "its chips per host bounds %.*s make %u chips, the profile says %u",
                     TEXT_ARG (bounds), chips, wanted),
        "see whether TPU_CHIPS_PER_HOST_BOUNDS or TPU_CHIPS_PER_PROCESS_BOUNDS is left over from another job, "
        "or the machine type is another one");
}

/* ---- is each host a machine? ---- */

struct machine {
    uint32_t rank;
    struct text boot, name; /* boot: and the container on that machine */
};

static int by_machine (const void *a, const void *b)
{
    const struct machine *x = a, *y = b;
    int boot = text_compare (x->boot, y->boot), name = boot ? boot : text_compare (x->name, y->name);
    return name ? name : (x->rank > y->rank) - (x->rank < y->rank);
}

static bool reached_apart (struct text a, struct text b)
{
    bool local = address_is_loopback (a) && address_is_loopback (b);
    return a.len && b.len && !local && !text_equal (a, b);
}

void topology_judge_machines (const struct plan *plan, const struct topology_host *hosts, struct arena *arena,
                              struct topology_findings *out)
{
    struct machine *machines = arena_array (arena, plan->hosts.n, sizeof *machines);
    uint32_t n = 0;
    *out = (struct topology_findings){ arena_array (arena, plan->hosts.n, sizeof *out->items), 0 };
    for (uint32_t rank = 0; rank < plan->hosts.n && plan->launcher != LAUNCHER_LOCAL; rank++) {
        struct text boot = topology_said (&hosts[rank], TEXT_LIT ("boot_id")),
                    box = topology_said (&hosts[rank], TEXT_LIT ("container.id"));
        machines[n] = (struct machine){ rank, text_format (arena, "%.*s %.*s", TEXT_ARG (boot), TEXT_ARG (box)),
                                        topology_said (&hosts[rank], TEXT_LIT ("hostname")) };
        n += boot.len && machines[n].name.len;
    }
    qsort (machines, n, sizeof *machines, by_machine);
    for (uint32_t i = 1, first = 0; i < n; i++) {
        const struct plan_host *host = &plan->hosts.items[machines[i].rank],
                               *other = &plan->hosts.items[machines[first].rank];
        bool same = text_equal (machines[i].boot, machines[first].boot) &&
                    text_equal (machines[i].name, machines[first].name);
        if (same && reached_apart (host->address, other->address))
            (void) topology_find (
                &(struct asked){ plan, hosts, machines[i].rank, arena, &out->items[out->n++] }, OWNER_LAUNCH, "boot_id",
                text_format (arena, "%.*s and %.*s are one machine: the same boot and name (%.*s), at %.*s and %.*s",
                             TEXT_ARG (other->name), TEXT_ARG (host->name), TEXT_ARG (machines[i].name),
                             TEXT_ARG (other->address), TEXT_ARG (host->address)),
                text_format (arena,
                             "list it once (-x %.*s leaves this one out): a reduction over both proves nothing about "
                             "different machines",
                             TEXT_ARG (host->name))
                    .ptr);
        first = same && other->address.len ? first : i;
    }
}

typedef bool topology_fn (const struct asked *asked);
static topology_fn *const rules[] = { chips_wrong, type_wrong, product_wrong, chip_bounds_wrong };

void topology_judge_hosts (const struct plan *plan, const struct topology_host *hosts, struct arena *arena,
                           struct topology_findings *out)
{
    *out = (struct topology_findings){ arena_array (arena, plan->hosts.n, sizeof *out->items), 0 };
    if (!text_is (plan->profile.backend, "tpu"))
        return;
    for (uint32_t rank = 0; rank < plan->hosts.n; rank++) {
        struct asked asked = { plan, hosts, rank, arena, &out->items[out->n] };
        for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
            if (rules[i](&asked)) {
                out->n++;
                break;
            }
    }
    slice_variables_judge_hosts (plan, hosts, "tpu.", arena, out);
}
