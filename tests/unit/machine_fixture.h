/* machine_fixture.h - a machine made of files, whose facts a test gathers. */
#ifndef SLICEUP_TESTS_UNIT_MACHINE_FIXTURE_H
#define SLICEUP_TESTS_UNIT_MACHINE_FIXTURE_H

#include "common/io/atomic_file.h"
#include "test.h"
#include "worker/facts/host_fact_list.h"

struct machine {
    char base[64], proc[80], sys[80], dev[80], etc[80], tmp[80], root[80];
    struct host_fact_roots roots;
    struct host_fact_list list;
};

static inline void machine_open (struct machine *machine)
{
    snprintf (machine->base, sizeof machine->base, "/tmp/sliceup-facts-XXXXXX");
    assert_non_null (mkdtemp (machine->base));
    snprintf (machine->proc, sizeof machine->proc, "%s/proc", machine->base);
    snprintf (machine->sys, sizeof machine->sys, "%s/sys", machine->base);
    snprintf (machine->dev, sizeof machine->dev, "%s/dev", machine->base);
    snprintf (machine->etc, sizeof machine->etc, "%s/etc", machine->base);
    snprintf (machine->tmp, sizeof machine->tmp, "%s/tmp", machine->base);
    snprintf (machine->root, sizeof machine->root, "%s/root", machine->base);
    machine->roots = (struct host_fact_roots){ machine->proc, machine->sys, machine->dev,
                                               machine->etc,  machine->tmp, machine->root };
    host_fact_list_init (&machine->list, &machine->roots);
}

static inline void machine_close (struct machine *machine)
{
    host_fact_list_release (&machine->list);
    assert_int_equal (folder_remove (machine->base, NULL), 0);
}

TEST_FIXTURE (struct machine, machine_open, machine_close)

static inline char *above (const char *path, char out[512])
{
    snprintf (out, 512, "%s", path);
    *strrchr (out, '/') = '\0';
    return out;
}

static inline void put (struct machine *machine, const char *path, const char *content)
{
    char name[512], folder[512];
    snprintf (name, sizeof name, "%s%s", machine->base, path);
    assert_int_equal (folder_make (above (name, folder), 0755, NULL), 0);
    assert_int_equal (atomic_file_write (name, content, strlen (content), 0640, NULL), 0);
    assert_int_equal (chmod (name, 0640), 0);
}

static inline void put_link (struct machine *machine, const char *path, const char *target)
{
    char name[512], folder[512];
    snprintf (name, sizeof name, "%s%s", machine->base, path);
    assert_int_equal (folder_make (above (name, folder), 0755, NULL), 0);
    assert_int_equal (symlink (target, name), 0);
}

static inline void is (const struct machine *machine, const char *name, const char *value)
{
    struct text found = host_fact_find (&machine->list, name);
    if (!text_is (found, value))
        fail_msg ("%s is \"%.*s\", not \"%s\"", name, TEXT_ARG (found), value);
}

static inline void again (struct machine *machine)
{
    host_fact_list_release (&machine->list);
    host_fact_list_init (&machine->list, &machine->roots);
}

static inline size_t cost_of (const struct machine *machine)
{
    size_t sum = 0;
    for (uint32_t i = 0; i < machine->list.n; i++)
        sum += machine->list.items[i].name.len + machine->list.items[i].value.len + FACT_COST_BYTES;
    return sum;
}

static inline void all_of (struct machine *machine)
{
    machine_facts (&machine->list);
    container_facts (&machine->list);
    memory_facts (&machine->list);
    library_facts (&machine->list, NULL);
    pci_facts (&machine->list);
    device_facts (&machine->list);
}

#endif
