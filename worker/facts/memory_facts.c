/* memory_facts.c - memory, huge pages, and the limits of processes. */
#include "worker/facts/host_fact_list.h"

#include "common/base/buf.h"
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

enum { HUGE_SIZES_MAX = 16 };
#define HUGE_FOLDER "/kernel/mm/hugepages"
#define TRANSPARENT_FOLDER "/kernel/mm/transparent_hugepage/"

/* "MemTotal:       24684092 kB" */
static void add_size (struct host_fact_list *list, const char *name, struct text meminfo, const char *key)
{
    struct text value;
    uint64_t number;
    if (host_fact_find_field (meminfo, key, &value) && text_to_u64 (text_take_until (&value, ' '), &number) &&
        number <= UINT64_MAX / 1024)
        host_fact_add_number (list, name, number * 1024);
    else
        host_fact_add (list, name, host_fact_file_problem (meminfo));
}

static void add_sizes (struct host_fact_list *list)
{
    struct text file;
    (void) host_fact_read_file (list, list->roots->proc, "/meminfo", &file); /* the value is then the reason */
    add_size (list, "memory.total_bytes", file, "MemTotal");
    add_size (list, "memory.available_bytes", file, "MemAvailable");
    add_size (list, "memory.swap_bytes", file, "SwapTotal");
    host_fact_add_file (list, "memory.overcommit", list->roots->proc, "/sys/vm/overcommit_memory");
    host_fact_add_file (list, "memory.map_count_max", list->roots->proc, "/sys/vm/max_map_count");
    host_fact_add_file (list, "memory.swappiness", list->roots->proc, "/sys/vm/swappiness");
}

/* ---- huge pages ---- */

/* The word in brackets: "[always] madvise never". JAX asks for "always" on TPU hosts (its CHANGELOG). */
static void add_choice (struct host_fact_list *list, const char *name, const char *path)
{
    struct text value;
    if (host_fact_read_file (list, list->roots->sys, path, &value) && value.len) {
        const char *open = memchr (value.ptr, '[', value.len), *shut = memchr (value.ptr, ']', value.len);
        if (open && shut && shut > open)
            value = (struct text){ open + 1, (uint32_t) (shut - open - 1) };
    }
    host_fact_add (list, name, value);
}

/* For each size of page a count: "1048576kB x 0, 2048kB x 512". */
static void add_pages (struct host_fact_list *list, const char *name, const struct name_list *sizes, const char *file)
{
    struct buf value;
    buf_init (&value, FACT_VALUE_BYTES);
    for (uint32_t i = 0; i < sizes->n && i < HUGE_SIZES_MAX; i++) {
        struct text count, folder = sizes->items[i];
        struct text path = text_format (&list->arena, HUGE_FOLDER "/%.*s/%s", TEXT_ARG (folder), file);
        host_fact_read_file (list, list->roots->sys, path.ptr, &count);
        buf_printf (&value, "%s%s x %.*s", i ? ", " : "", folder.ptr + strlen ("hugepages-"), TEXT_ARG (count));
    }
    host_fact_add (list, name, buf_finish (&value, &list->arena));
}

static void add_huge_pages (struct host_fact_list *list)
{
    struct name_list sizes = host_fact_folder_names (list, list->roots->sys, HUGE_FOLDER, "hugepages-");
    add_choice (list, "hugepages.transparent", TRANSPARENT_FOLDER "enabled");
    add_choice (list, "hugepages.defrag", TRANSPARENT_FOLDER "defrag");
    add_choice (list, "hugepages.shmem", TRANSPARENT_FOLDER "shmem_enabled");
    add_pages (list, "hugepages.reserved", &sizes, "nr_hugepages");
    add_pages (list, "hugepages.free", &sizes, "free_hugepages");
}

/* ---- limits ---- */

static struct text limit_text (struct host_fact_list *list, rlim_t limit)
{
    return limit == RLIM_INFINITY ? TEXT_LIT ("unlimited")
                                  : text_format (&list->arena, "%llu", (unsigned long long) limit);
}

/* vfio pins memory and loaders open files, so a low limit makes only that host fail. */
static void add_limit (struct host_fact_list *list, const char *name, __rlimit_resource_t resource)
{
    struct rlimit limit;
    if (getrlimit (resource, &limit)) {
        host_fact_add (list, name, TEXT_LIT ("absent"));
        return;
    }
    struct text soft = limit_text (list, limit.rlim_cur), hard = limit_text (list, limit.rlim_max);
    host_fact_add (list, name, text_format (&list->arena, "%.*s of %.*s", TEXT_ARG (soft), TEXT_ARG (hard)));
}

/* The kernel derives it from the memory size, which differs by a few pages on equal machines, so only a plain number
 * can be compared with tolerance. A program may raise it up to the hard limit, which is derived in the same way. */
static void add_processes_limit (struct host_fact_list *list)
{
    struct rlimit limit;
    host_fact_add (list, "rlimit.nproc",
                   getrlimit (RLIMIT_NPROC, &limit) ? TEXT_LIT ("absent") : limit_text (list, limit.rlim_cur));
}

static void add_shared_memory (struct host_fact_list *list)
{
    char path[PATH_MAX_BYTES + 1];
    struct statvfs shm;
    snprintf (path, sizeof path, "%s/shm", list->roots->dev);
    if (statvfs (path, &shm) == 0)
        host_fact_add_number (list, "shm.bytes", (uint64_t) shm.f_blocks * shm.f_frsize);
    else
        host_fact_add (list, "shm.bytes", TEXT_LIT ("absent"));
}

void memory_facts (struct host_fact_list *list)
{
    add_sizes (list);
    add_huge_pages (list);
    add_limit (list, "rlimit.nofile", RLIMIT_NOFILE);
    add_limit (list, "rlimit.memlock", RLIMIT_MEMLOCK);
    add_processes_limit (list);
    add_limit (list, "rlimit.stack", RLIMIT_STACK);
    add_limit (list, "rlimit.core", RLIMIT_CORE);
    add_shared_memory (list);
}
