/* machine_facts.c - kernel, system, processor, memory and limits, as files and calls tell them. */
#include "worker/io/fact_list.h"

#include <ctype.h>
#include <dirent.h>
#include <gnu/libc-version.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

static void add_file (struct fact_list *list, const char *name, const char *root, const char *path)
{
    struct text value;
    fact_read (list, root, path, &value);
    fact_add (list, name, value);
}

static void add_field (struct fact_list *list, const char *name, struct text file, const char *key)
{
    struct text value = { 0 };
    fact_field (file, key, &value);
    fact_add (list, name, value);
}

static void add_kernel (struct fact_list *list)
{
    struct utsname kernel;
    if (uname (&kernel))
        memset (&kernel, 0, sizeof kernel); /* then each value is "absent" */
    fact_add (list, "kernel.release", text_copy (&list->arena, text_of (kernel.release)));
    fact_add (list, "machine", text_copy (&list->arena, text_of (kernel.machine)));
    fact_add (list, "hostname", text_copy (&list->arena, text_of (kernel.nodename)));
    add_file (list, "boot_id", list->roots->proc, "/sys/kernel/random/boot_id");
}

/* os-release(5) */
static void add_system (struct fact_list *list)
{
    struct text file;
    if (!fact_read (list, list->roots->etc, "/os-release", &file))
        file = (struct text) { 0 };
    add_field (list, "os.id", file, "ID");
    add_field (list, "os.version", file, "VERSION_ID");
    fact_add (list, "glibc.version", text_of (gnu_get_libc_version ()));
}

static void add_processor (struct fact_list *list)
{
    struct text file;
    cpu_set_t allowed;
    if (!fact_read (list, list->roots->proc, "/cpuinfo", &file))
        file = (struct text) { 0 };
    add_field (list, "cpu.model", file, "model name");
    long online = sysconf (_SC_NPROCESSORS_ONLN);
    fact_add_number (list, "cpu.count", online > 0 ? (uint64_t) online : 0);
    /* What a program of ours may use: containers and launchers take processors away without hiding them. */
    if (sched_getaffinity (0, sizeof allowed, &allowed) == 0)
        fact_add_number (list, "cpu.allowed", (uint64_t) CPU_COUNT (&allowed));
    else
        fact_add (list, "cpu.allowed", TEXT_LIT ("more than 1024"));
}

static void add_numa (struct fact_list *list)
{
    char path[PATH_MAX_BYTES + 1];
    snprintf (path, sizeof path, "%s/devices/system/node", list->roots->sys);
    DIR *folder = opendir (path);
    struct dirent *entry;
    uint64_t nodes = 0;
    while (folder && (entry = readdir (folder)))
        nodes += !strncmp (entry->d_name, "node", 4) && isdigit ((unsigned char) entry->d_name[4]);
    if (folder)
        closedir (folder);
    if (nodes)
        fact_add_number (list, "numa.nodes", nodes);
    else
        fact_add (list, "numa.nodes", TEXT_LIT ("absent"));
}

/* "16384 kB" */
static void add_memory_total (struct fact_list *list)
{
    struct text file, value, kib;
    uint64_t number;
    if (fact_read (list, list->roots->proc, "/meminfo", &file) && fact_field (file, "MemTotal", &value)) {
        const char *blank = memchr (value.ptr, ' ', value.len);
        kib = (struct text) { value.ptr, blank ? (uint32_t) (blank - value.ptr) : value.len };
        if (text_to_u64 (kib, &number) && number <= UINT64_MAX / 1024) {
            fact_add_number (list, "memory.total_bytes", number * 1024);
            return;
        }
    }
    fact_add (list, "memory.total_bytes", TEXT_LIT ("absent"));
}

/* The least of all limits from our group up to the root: each of them binds (cgroup v2, memory.max). */
static struct text least_limit (struct fact_list *list, struct text group)
{
    uint64_t least = UINT64_MAX, limit;
    bool seen = false;
    struct text value;
    for (;;) {
        struct text path = text_format (&list->arena, "/fs/cgroup%.*s/memory.max", TEXT_ARG (group));
        if (path.len < PATH_MAX_BYTES / 2 && fact_read (list, list->roots->sys, path.ptr, &value)) {
            seen = true;
            if (text_to_u64 (value, &limit) && limit < least)
                least = limit;
        }
        if (group.len == 0)
            break;
        while (group.len && group.ptr[group.len - 1] != '/')
            group.len--;
        group.len -= group.len > 0;
    }
    if (!seen)
        return TEXT_LIT ("absent");
    return least == UINT64_MAX ? TEXT_LIT ("max") : text_format (&list->arena, "%" PRIu64, least);
}

/* cgroup v1 writes "no limit" as the largest number of whole pages. */
static struct text old_limit (struct fact_list *list)
{
    struct text value;
    uint64_t limit;
    bool there = fact_read (list, list->roots->sys, "/fs/cgroup/memory/memory.limit_in_bytes", &value);
    return there && text_to_u64 (value, &limit) && limit > INT64_MAX - 1024 * 1024 ? TEXT_LIT ("max") : value;
}

static void add_memory_limit (struct fact_list *list)
{
    struct text file, group = { 0 }, value;
    if (fact_read (list, list->roots->proc, "/self/cgroup", &file))
        fact_field (file, "0:", &group); /* "0::/path" is the v2 line; the ':' in between is taken for a separator */
    /* A group above our own namespace's root shows as "/..": its limits are not in sight. */
    if (group.len == 1 || (group.len && group.ptr[0] != '/') || text_find (group, TEXT_LIT ("/.."), NULL))
        group.len = 0;
    value = least_limit (list, group);
    if (text_is (value, "absent"))
        value = old_limit (list);
    fact_add (list, "memory.cgroup_max", value);
}

/* The word in brackets: "[always] madvise never". JAX asks for "always" on TPU hosts (its CHANGELOG). */
static void add_huge_pages (struct fact_list *list)
{
    struct text value;
    if (fact_read (list, list->roots->sys, "/kernel/mm/transparent_hugepage/enabled", &value) && value.len) {
        const char *open = memchr (value.ptr, '[', value.len), *shut = memchr (value.ptr, ']', value.len);
        if (open && shut && shut > open)
            value = (struct text) { open + 1, (uint32_t) (shut - open - 1) };
    }
    fact_add (list, "hugepages.transparent", value);
}

static struct text limit_text (struct fact_list *list, rlim_t limit)
{
    return limit == RLIM_INFINITY ? TEXT_LIT ("unlimited") : text_format (&list->arena, "%" PRIu64, (uint64_t) limit);
}

/* vfio pins memory, loaders open files: a low limit on one host is a failure on that host only. */
static void add_rlimit (struct fact_list *list, const char *name, __rlimit_resource_t resource)
{
    struct rlimit limit;
    if (getrlimit (resource, &limit)) {
        fact_add (list, name, TEXT_LIT ("absent"));
        return;
    }
    struct text soft = limit_text (list, limit.rlim_cur), hard = limit_text (list, limit.rlim_max);
    fact_add (list, name, text_format (&list->arena, "%.*s of %.*s", TEXT_ARG (soft), TEXT_ARG (hard)));
}

static void add_shared_memory (struct fact_list *list)
{
    char path[PATH_MAX_BYTES + 1];
    struct statvfs shm;
    snprintf (path, sizeof path, "%s/shm", list->roots->dev);
    if (statvfs (path, &shm) == 0)
        fact_add_number (list, "shm.bytes", (uint64_t) shm.f_blocks * shm.f_frsize);
    else
        fact_add (list, "shm.bytes", TEXT_LIT ("absent"));
}

/* Where the name leads, which with most systems tells the version: no interpreter is asked. */
static void add_python (struct fact_list *list)
{
    const char *search = getenv ("PATH");
    struct text found = { 0 };
    while (search && *search && !found.len) {
        char name[PATH_MAX_BYTES + 1], real[PATH_MAX];
        int len = (int) strcspn (search, ":");
        int put = snprintf (name, sizeof name, "%.*s/python3", len, search);
        if (len && put > 0 && (size_t) put < sizeof name && access (name, X_OK) == 0 && realpath (name, real))
            found = text_copy (&list->arena, text_of (real));
        search += len + (search[len] == ':');
    }
    fact_add (list, "python3.path", found);
}

void machine_facts (struct fact_list *list)
{
    add_kernel (list);
    add_system (list);
    add_processor (list);
    add_numa (list);
    add_memory_total (list);
    add_memory_limit (list);
    add_huge_pages (list);
    add_rlimit (list, "rlimit.nofile", RLIMIT_NOFILE);
    add_rlimit (list, "rlimit.memlock", RLIMIT_MEMLOCK);
    add_shared_memory (list);
    add_python (list);
}
