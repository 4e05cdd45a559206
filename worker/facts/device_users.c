#include "worker/facts/host_fact_list.h"

#include "common/base/duration.h"
#include "common/io/clock.h"
#include "common/io/fd.h"
#include "common/io/proc.h"
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINKS_MAX = 65536, START_BYTES = 4096, PID_DIGITS_MAX = 9, PIDS_MAX = 1 << 17 };
#define VENDOR_GOOGLE "0x1ae0"

struct search {
    const struct host_fact_roots *roots;
    enum device_users_of of;
    struct arena *arena, scratch; /* `scratch`: of one process */
    struct device_users *out;
};

static const char *path_of (struct search *search, const char *pid, const char *file)
{
    return text_format (&search->scratch, "%s/%s/%s", search->roots->proc, pid, file).ptr;
}

/* ---- which files ---- */

static bool is_google (struct search *search, const char *devices, const char *device)
{
    char vendor[START_BYTES];
    return file_read_start (text_format (&search->scratch, "%s/%s/vendor", devices, device).ptr, vendor,
                            sizeof vendor) &&
           !strncmp (vendor, VENDOR_GOOGLE, sizeof VENDOR_GOOGLE - 1);
}

/* `group`: "3". An unknown group counts, since a needless wait is better than a busy device. */
static bool group_has_tpu (struct search *search, const char *group)
{
    const char *devices =
        text_format (&search->scratch, "%s/kernel/iommu_groups/%s/devices", search->roots->sys, group).ptr;
    struct dirent *entry;
    bool found = false, others = false;
    LOCAL_DIR folder = opendir (devices);
    if (!folder)
        return true;
    while (!found && (entry = readdir (folder)))
        if (entry->d_name[0] != '.') {
            found = is_google (search, devices, entry->d_name);
            others = true;
        }
    return found || !others;
}

static bool device_users_is_number (const char *text)
{
    size_t digits = strspn (text, "0123456789");
    return digits > 0 && digits <= PID_DIGITS_MAX && !text[digits];
}

enum device_kind { DEVICE_NONE, DEVICE_SHARED, DEVICE_EXCLUSIVE };

/* "/dev/accel0", "/dev/accel/accel0" and "/dev/vfio/3" are for one process, "/dev/vfio/vfio" and "/dev/nvidia0" for many;
 * "/dev/nvidiactl" is none. */
static enum device_kind device_kind_of (struct search *search, const char *target)
{
    size_t len = strlen (search->roots->dev);
    if (strncmp (target, search->roots->dev, len))
        return DEVICE_NONE;
    target += len;
    if (!strncmp (target, "/accel", 6))
        return DEVICE_EXCLUSIVE;
    if (!strncmp (target, "/vfio/", 6))
        return device_users_is_number (target + 6) && group_has_tpu (search, target + 6) ? DEVICE_EXCLUSIVE
                                                                                         : DEVICE_SHARED;
    return !strncmp (target, "/nvidia", 7) && isdigit ((unsigned char) target[7]) ? DEVICE_SHARED : DEVICE_NONE;
}

/* ---- one process ---- */

/* Gives an exclusive device that it has open, else another. */
static enum device_kind holds_device (struct search *search, const char *pid, char device[PATH_MAX_BYTES + 1])
{
    char target[PATH_MAX_BYTES + 1];
    enum device_kind found = DEVICE_NONE;
    struct dirent *entry;
    LOCAL_DIR folder = opendir (path_of (search, pid, "fd"));
    if (!folder) {
        search->out->blind |= errno != ENOENT && errno != ESRCH; /* a process that just ended is not hidden */
        return found;
    }
    for (int i = 0; i < LINKS_MAX && found < DEVICE_EXCLUSIVE && (entry = readdir (folder)); i++) {
        ssize_t len = readlinkat (dirfd (folder), entry->d_name, target, PATH_MAX_BYTES);
        target[len > 0 ? len : 0] = '\0';
        enum device_kind kind = device_kind_of (search, target);
        if (kind > found && (kind == DEVICE_EXCLUSIVE || search->of == DEVICE_USERS_OF_ANY)) {
            found = kind;
            memcpy (device, target, sizeof target);
        }
    }
    return found;
}

static void name_it (struct search *search, const char *pid, struct device_user *holder)
{
    char raw[START_BYTES];
    size_t len = file_read_start (path_of (search, pid, "cmdline"), raw, sizeof raw);
    if (!len) /* it has ended, or wrote over its arguments */
        len = file_read_start (path_of (search, pid, "comm"), raw, sizeof raw);
    struct text line = { raw, (uint32_t) len };
    holder->command = command_line_for_display (search->arena, line, HOLDER_COMMAND_BYTES);
    holder->program = display_program_name (search->arena, line);
}

static uint64_t began_ms (struct search *search, const char *pid)
{
    uint64_t ticks;
    long per_second = sysconf (_SC_CLK_TCK);
    return per_second > 0 && proc_start_time (path_of (search, pid, "stat"), &ticks)
               ? ticks * 1000 / (uint64_t) per_second
               : 0;
}

static struct device_user device_users_describe (struct search *search, const char *pid, const char *device,
                                                 enum device_kind kind)
{
    struct device_user holder = { .pid = (uint32_t) strtoul (pid, NULL, 10),
                                  .exclusive = kind == DEVICE_EXCLUSIVE,
                                  .began_ms = began_ms (search, pid) };
    LOCAL_BUF shown = { .max = 8 * PATH_MAX_BYTES };
    buf_escaped (&shown, text_of (device), 0); /* its name is untrusted */
    holder.device = text_copy (search->arena, text_clip (buf_as_text (&shown), HOLDER_DEVICE_BYTES));
    name_it (search, pid, &holder);
    return holder;
}

/* ---- all of them ---- */

static uint32_t list_pids (DIR *folder, struct arena *arena, uint32_t **pids)
{
    struct dirent *entry;
    uint32_t n = 0;
    *pids = arena_array (arena, PIDS_MAX, sizeof **pids);
    while (n < PIDS_MAX && (entry = readdir (folder)))
        if (device_users_is_number (entry->d_name))
            (*pids)[n++] = (uint32_t) strtoul (entry->d_name, NULL, 10);
    sort_items (*pids, n, sizeof **pids, u32_order);
    return n;
}

static void device_users_look_at (struct search *search, uint32_t number)
{
    char device[PATH_MAX_BYTES + 1], pid[PID_DIGITS_MAX + 2];
    struct device_users *out = search->out;
    snprintf (pid, sizeof pid, "%u", number);
    arena_reset (&search->scratch);
    enum device_kind kind = holds_device (search, pid, device);
    if (kind == DEVICE_NONE)
        return;
    if (out->n < DEVICE_USERS_MAX)
        out->items[out->n++] = device_users_describe (search, pid, device, kind);
    else
        out->more++;
}

/* The newest first: the kernel's own threads, thousands on large machines, began first and hold nothing. */
static void look_at_all (struct search *search, const uint32_t *pids, uint32_t n, uint64_t until_ms)
{
    bool late = false;
    for (uint32_t i = n; i > 0 && !late; i--) {
        late = clock_boot_ms () >= until_ms;
        if (!late)
            device_users_look_at (search, pids[i - 1]);
    }
    search->out->unfinished = late || n == PIDS_MAX;
}

void device_users_find (const struct host_fact_roots *roots, enum device_users_of of, uint64_t limit_ms,
                        struct arena *arena, struct device_users *out)
{
    struct search search = { .roots = roots, .of = of, .arena = arena, .out = out };
    uint64_t until_ms = clock_boot_ms () + limit_ms;
    LOCAL_ARENA listed = { 0 };
    uint32_t *pids;
    *out = (struct device_users){ 0 };
    LOCAL_DIR folder = opendir (roots->proc);
    if (!folder) {
        out->blind = true;
        return;
    }
    uint32_t n = list_pids (folder, &listed, &pids);
    look_at_all (&search, pids, n, until_ms);
    arena_release (&search.scratch);
    qsort (out->items, out->n, sizeof out->items[0], u32_order);
}

struct text device_users_sentence (const struct device_users *users, struct arena *arena)
{
    const struct device_user *first = users->items, *end = users->items + users->n;
    char age[DURATION_TEXT_BYTES];
    while (first < end && !first->exclusive)
        first++;
    if (first == end)
        return (struct text){ 0 };
    uint64_t now_ms = clock_boot_ms ();
    duration_print (first->began_ms && first->began_ms < now_ms ? now_ms - first->began_ms : 0, age);
    uint32_t others = users->more;
    for (const struct device_user *other = first + 1; other < end; other++)
        others += other->exclusive;
    struct text too = others ? text_format (arena, " and by %u other process%s", others, others == 1 ? "" : "es")
                             : TEXT_LIT ("");
    return text_format (arena, "%.*s is held by %u %.*s%s%s%.*s", TEXT_ARG (first->device), first->pid,
                        TEXT_ARG (first->command), first->began_ms ? ", since " : "", first->began_ms ? age : "",
                        TEXT_ARG (too));
}
