/* pci_facts.c - accelerators as PCI functions: their kinds, drivers, IOMMU groups and nodes. */
#include "worker/facts/host_fact_list.h"

#include "common/base/buf.h"
#include "common/base/path.h"
#include "common/base/text.h"
#include <stdio.h>
#include <unistd.h>

enum { ACCELERATORS_MAX = 64 };

#define FOLDER "/bus/pci/devices"
#define VENDOR_GOOGLE "0x1ae0"
#define VENDOR_NVIDIA "0x10de"

/* pytorch/xla:torch_xla/_internal/tpu.py, jax-ml/jax:jax/_src/hardware_utils.py. 0x0042: the vendor's network card. */
static const struct {
    const char *device, *generation;
} tpus[] = { { "0x0027", "v2/v3" }, { "0x0056", "0x0056" }, { "0x005e", "v4" }, { "0x0062", "v5p" },
             { "0x0063", "v5e" },   { "0x006f", "v6e" },    { "0x0076", "7x" } };

struct function {
    struct text address, device, driver, group, node;
    const char *generation;
};
struct bus {
    struct value_tally google, nvidia, generations;
    struct function accelerators[ACCELERATORS_MAX];
    uint32_t accelerators_n, chips;
};

static struct text pci_facts_read_one (struct host_fact_list *list, struct text address, const char *file)
{
    struct text value, path = text_format (&list->arena, FOLDER "/%.*s/%s", TEXT_ARG (address), file);
    host_fact_read_file (list, list->roots->sys, path.ptr, &value);
    return value;
}

/* The last part of a link's target; empty: no such link. */
static struct text link_of (struct host_fact_list *list, struct text address, const char *file)
{
    char path[PATH_MAX_BYTES + 1], target[PATH_MAX_BYTES + 1];
    snprintf (path, sizeof path, "%s" FOLDER "/%.*s/%s", list->roots->sys, TEXT_ARG (address), file);
    ssize_t len = readlink (path, target, sizeof target - 1);
    if (len <= 0)
        return (struct text){ 0 };
    target[len] = '\0';
    return text_copy (&list->arena, path_name (text_of (target)));
}

static const char *generation_of (struct text device)
{
    for (size_t i = 0; i < sizeof tpus / sizeof *tpus; i++)
        if (text_is (device, tpus[i].device))
            return tpus[i].generation;
    return NULL;
}

static void add_accelerator (struct host_fact_list *list, struct bus *bus, struct function function)
{
    if (bus->accelerators_n == ACCELERATORS_MAX)
        return;
    function.group = link_of (list, function.address, "iommu_group");
    function.node = pci_facts_read_one (list, function.address, "numa_node");
    bus->accelerators[bus->accelerators_n++] = function;
}

static void see (struct host_fact_list *list, struct bus *bus, struct text address)
{
    struct text vendor = pci_facts_read_one (list, address, "vendor");
    bool google = text_is (vendor, VENDOR_GOOGLE);
    if (!google && !text_is (vendor, VENDOR_NVIDIA))
        return;
    struct function function = { .address = address,
                                 .device = pci_facts_read_one (list, address, "device"),
                                 .driver = link_of (list, address, "driver") };
    if (!function.driver.len)
        function.driver = TEXT_LIT ("no driver");
    value_tally_add (google ? &bus->google : &bus->nvidia,
                     text_format (&list->arena, "%.*s (%.*s)", TEXT_ARG (function.device), TEXT_ARG (function.driver)));
    function.generation = google ? generation_of (function.device) : NULL;
    if (function.generation) {
        value_tally_add (&bus->generations, text_of (function.generation));
        bus->chips++;
    }
    if (function.generation || (!google && text_starts (pci_facts_read_one (list, address, "class"), "0x03")))
        add_accelerator (list, bus, function);
}

/* ---- what is told ---- */

/* Functions that share a group can only be given to a program together (Linux, driver-api/vfio). */
static const char *sharing (struct host_fact_list *list, struct text group)
{
    if (!group.len)
        return "no group";
    struct text path = text_format (&list->arena, "/kernel/iommu_groups/%.*s/devices", TEXT_ARG (group));
    struct name_list members = host_fact_folder_names (list, list->roots->sys, path.ptr, "");
    return members.n > 1 ? "shares its group" : "alone in its group";
}

static void add_places (struct host_fact_list *list, const struct bus *bus, struct text missing)
{
    struct value_tally groups = { 0 }, nodes = { 0 };
    struct buf all;
    buf_init (&all, FACT_VALUE_BYTES);
    for (uint32_t i = 0; i < bus->accelerators_n; i++) {
        const struct function *one = &bus->accelerators[i];
        value_tally_add (&groups, text_of (sharing (list, one->group)));
        value_tally_add (&nodes, text_format (&list->arena, "node %.*s", TEXT_ARG (one->node)));
        struct text group = one->group.len ? one->group : TEXT_LIT ("none");
        buf_printf (&all, "%s%.*s group %.*s node %.*s", i ? ", " : "", TEXT_ARG (one->address), TEXT_ARG (group),
                    TEXT_ARG (one->node));
    }
    value_tally_to_fact (list, "accelerator.iommu", &groups, missing);
    value_tally_to_fact (list, "accelerator.numa", &nodes, missing);
    host_fact_add (list, "accelerator.functions", all.len ? text_copy (&list->arena, buf_as_text (&all)) : missing);
    buf_release (&all);
}

/* A single generation is reported by its name alone. */
static void add_tpus (struct host_fact_list *list, const struct bus *bus, struct text missing)
{
    host_fact_add (list, "tpu.chips", bus->chips ? text_format (&list->arena, "%u", bus->chips) : missing);
    if (bus->generations.n == 1)
        host_fact_add (list, "tpu.generation", bus->generations.items[0].what);
    else
        value_tally_to_fact (list, "tpu.generation", &bus->generations, missing);
}

void pci_facts (struct host_fact_list *list)
{
    struct name_list addresses = host_fact_folder_names (list, list->roots->sys, FOLDER, "");
    struct text missing = host_fact_folder_problem (list, list->roots->sys, FOLDER);
    struct bus *bus = arena_alloc (&list->arena, sizeof *bus);
    for (uint32_t i = 0; i < addresses.n; i++)
        see (list, bus, addresses.items[i]);
    value_tally_to_fact (list, "pci.google", &bus->google, missing);
    value_tally_to_fact (list, "pci.nvidia", &bus->nvidia, missing);
    add_tpus (list, bus, missing);
    add_places (list, bus, missing);
}
