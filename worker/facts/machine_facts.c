/* machine_facts.c - kernel, system, processor, clock, memory and limits, from files and calls. */
#include "worker/facts/host_fact_list.h"

#include "common/base/buf.h"
#include "common/base/path.h"
#include "common/base/text.h"
#include "common/io/clock.h"
#include <ctype.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { GOVERNORS_MAX = 1024 };

/* Words of a kernel's command line that belong to one host: disks, network, name (Linux, admin-guide/kernel-parameters;
 * systemd.net-naming-scheme(7); dracut.cmdline(7)). */
static const char own_words[] = "root= resume= resume_offset= ip= nfsroot= BOOTIF= ifname= bootdev= hostname= "
                                "systemd.hostname= systemd.machine_id= rd.luks. rd.md.uuid= rd.lvm. cryptdevice=";

/* ---- kernel and system ---- */

static bool machine_facts_is_own (struct text word)
{
    for (struct text rest = text_of (own_words); rest.len;) {
        struct text own = text_take_until (&rest, ' ');
        if (text_equal (text_clip (word, own.len), own))
            return true;
    }
    return false;
}

/* Drops host-specific words, since a digest does not show which word differs. */
static struct text common_words (struct host_fact_list *list, struct text line)
{
    struct buf kept = { .max = (size_t) line.len + 1 };
    while (line.len) {
        struct text word = text_take_until (&line, ' ');
        buf_add_text (&kept, machine_facts_is_own (word) ? (struct text){ 0 } : word);
        buf_byte (&kept, ' ');
    }
    return buf_finish (&kept, &list->arena);
}

static void add_cmdline (struct host_fact_list *list)
{
    struct text value;
    bool there = host_fact_read_file (list, list->roots->proc, "/cmdline", &value);
    host_fact_add (list, "kernel.cmdline",
                   there ? host_fact_words_digest (&list->arena, common_words (list, value)) : value);
}

static void add_kernel (struct host_fact_list *list)
{
    struct utsname kernel;
    if (uname (&kernel))
        memset (&kernel, 0, sizeof kernel); /* then each value is "absent" */
    host_fact_add (list, "kernel.release", text_copy (&list->arena, text_of (kernel.release)));
    host_fact_add (list, "kernel.version", text_copy (&list->arena, text_of (kernel.version)));
    add_cmdline (list);
    host_fact_add (list, "machine", text_copy (&list->arena, text_of (kernel.machine)));
    host_fact_add (list, "hostname", text_copy (&list->arena, text_of (kernel.nodename)));
    host_fact_add_file (list, "boot_id", list->roots->proc, "/sys/kernel/random/boot_id");
}

/* In classes, so that hosts booted together are equal at any time. */
static void add_uptime (struct host_fact_list *list)
{
    static const uint64_t hour_ms = 3600 * 1000;
    uint64_t up_ms = clock_boot_ms ();
    host_fact_add (list, "uptime.class",
                   up_ms < hour_ms             ? TEXT_LIT ("under 1 h")
                   : up_ms < 24 * hour_ms      ? TEXT_LIT ("under 1 d")
                   : up_ms < 30 * 24 * hour_ms ? TEXT_LIT ("under 30 d")
                                               : TEXT_LIT ("30 d or more"));
}

/* os-release(5) */
static void add_system (struct host_fact_list *list)
{
    struct text file, build = { 0 };
    (void) host_fact_read_file (list, list->roots->etc, "/os-release", &file); /* the value is then the reason */
    host_fact_add_field (list, "os.id", file, "ID");
    host_fact_add_field (list, "os.version", file, "VERSION_ID");
    if (!host_fact_find_field (file, "BUILD_ID", &build))
        host_fact_find_field (file, "IMAGE_VERSION", &build);
    host_fact_add (list, "os.build", build);
}

/* The target of the name, which mostly shows the version, without running an interpreter. */
static void add_python (struct host_fact_list *list)
{
    char real[PATH_MAX];
    const char *name = path_find_program ("python3", false, &list->arena, NULL);
    struct text found = name && realpath (name, real) ? text_copy (&list->arena, text_of (real)) : (struct text){ 0 };
    host_fact_add (list, "python3.path", found);
}

/* ---- processor ---- */

/* "flags" on x86, "Features" on arm: what a compiled program may use. */
static void add_flags (struct host_fact_list *list, struct text cpuinfo)
{
    struct text flags;
    bool there = host_fact_find_field (cpuinfo, "flags", &flags) || host_fact_find_field (cpuinfo, "Features", &flags);
    host_fact_add (list, "cpu.flags", there ? host_fact_words_digest (&list->arena, flags) : TEXT_LIT ("absent"));
}

static void add_governors (struct host_fact_list *list)
{
    struct name_list names = host_fact_folder_names (list, list->roots->sys, "/devices/system/cpu", "cpu");
    struct value_tally tally = { 0 };
    for (uint32_t i = 0; i < names.n && i < GOVERNORS_MAX; i++) {
        struct text value, name = names.items[i];
        struct text path = text_format (&list->arena, "/devices/system/cpu/%.*s/cpufreq/scaling_governor",
                                        TEXT_ARG (name));
        if (name.len > 3 && isdigit ((unsigned char) name.ptr[3]) &&
            host_fact_read_file (list, list->roots->sys, path.ptr, &value))
            value_tally_add (&tally, value);
        else if (tally.n == 0 && name.len > 3 && isdigit ((unsigned char) name.ptr[3]))
            break; /* most virtual machines have none, so it stops after the first */
    }
    value_tally_to_fact (list, "cpu.governor", &tally, (struct text){ 0 });
}

static void add_processor (struct host_fact_list *list)
{
    struct text file;
    cpu_set_t allowed;
    (void) host_fact_read_file (list, list->roots->proc, "/cpuinfo", &file); /* the value is then the reason */
    host_fact_add_field (list, "cpu.model", file, "model name");
    add_flags (list, file);
    long online = sysconf (_SC_NPROCESSORS_ONLN);
    host_fact_add_number (list, "cpu.count", online > 0 ? (uint64_t) online : 0);
    /* Processors that our programs may use, since containers and launchers restrict them without hiding them. */
    if (sched_getaffinity (0, sizeof allowed, &allowed) == 0)
        host_fact_add_number (list, "cpu.allowed", (uint64_t) CPU_COUNT (&allowed));
    else
        host_fact_add (list, "cpu.allowed", TEXT_LIT ("more than 1024"));
    add_governors (list);
}

static void add_numa (struct host_fact_list *list)
{
    struct name_list names = host_fact_folder_names (list, list->roots->sys, "/devices/system/node", "node");
    uint64_t nodes = 0;
    for (uint32_t i = 0; i < names.n; i++)
        nodes += names.items[i].len > 4 && isdigit ((unsigned char) names.items[i].ptr[4]);
    if (nodes)
        host_fact_add_number (list, "numa.nodes", nodes);
    else
        host_fact_add (list, "numa.nodes", host_fact_folder_problem (list, list->roots->sys, "/devices/system/node"));
    host_fact_add_file (list, "numa.balancing", list->roots->proc, "/sys/kernel/numa_balancing");
}

/* ---- clock ---- */

/* adjtimex(2): reading, with no mode set, needs no rights. TIME_ERROR stands for STA_UNSYNC and for worse. */
static void add_clock (struct host_fact_list *list)
{
    struct timex state = { 0 };
    int how = adjtimex (&state);
    host_fact_add_file (list, "clock.source", list->roots->sys,
                        "/devices/system/clocksource/clocksource0/current_clocksource");
    host_fact_add (list, "clock.synchronised",
                   how < 0                                          ? TEXT_LIT ("absent")
                   : how == TIME_ERROR || state.status & STA_UNSYNC ? TEXT_LIT ("no")
                                                                    : TEXT_LIT ("yes"));
    if (how < 0)
        host_fact_add (list, "clock.max_error_us", TEXT_LIT ("absent"));
    else
        host_fact_add_number (list, "clock.max_error_us", state.maxerror > 0 ? (uint64_t) state.maxerror : 0);
}

void machine_facts (struct host_fact_list *list)
{
    add_kernel (list);
    add_uptime (list);
    add_system (list);
    add_python (list);
    add_processor (list);
    add_numa (list);
    add_clock (list);
}

/* ---- memory, huge pages, and the limits of processes ---- */

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
    struct text value, word;
    (void) host_fact_read_file (list, list->roots->sys, path, &value); /* the value is then the reason */
    struct text rest = value;
    bool chosen = text_cut (&rest, '[', &word) && text_cut (&rest, ']', &word);
    host_fact_add (list, name, chosen ? word : value);
}

/* For each size of page a count: "1048576kB x 0, 2048kB x 512". */
static void add_pages (struct host_fact_list *list, const char *name, const struct name_list *sizes, const char *file)
{
    struct buf value = { .max = FACT_VALUE_BYTES };
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
    struct statvfs shm;
    if (statvfs (text_format (&list->arena, "%s/shm", list->roots->dev).ptr, &shm) == 0)
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
