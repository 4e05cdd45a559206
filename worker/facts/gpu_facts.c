/* gpu_facts.c - what the drivers of GPUs show without opening one: version, firmware, and errors in the kernel's log.
 *
 * Sources: NVIDIA's driver README ("The /proc interface"), its Xid catalogue, Linux Documentation/ABI/testing/dev-kmsg. */
#include "worker/facts/host_fact_list.h"

#include "common/base/buf.h"
#include "common/base/text.h"
#include "common/io/fd.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NVIDIA_FOLDER "/driver/nvidia"

/* ---- the driver ---- */

/* The first word that begins with a digit and has a dot: of "... Open Kernel Module for x86_64  550.54.14  Release". */
static struct text version_in (struct text line)
{
    while (line.len) {
        struct text word = text_take_until (&line, ' ');
        if (word.len && isdigit ((unsigned char) word.ptr[0]) && memchr (word.ptr, '.', word.len))
            return word;
    }
    return (struct text){ 0 };
}

/* Programs load libraries of the driver's own version, and newer GPUs have only the open module. */
static struct text nvidia_driver (struct host_fact_list *list)
{
    struct text file;
    if (!host_fact_read_file (list, list->roots->proc, NVIDIA_FOLDER "/version", &file))
        return host_fact_file_problem (file);
    struct text line = text_take_until (&file, '\n'), version = version_in (line);
    const char *kind = text_find (line, TEXT_LIT ("Open Kernel Module"), NULL) ? ", open" : "";
    return version.len ? text_format (&list->arena, "nvidia %.*s%s", TEXT_ARG (version), kind) : line;
}

/* Of the kernel's own amdgpu the kernel's version says which it is. */
static struct text amd_driver (struct host_fact_list *list)
{
    struct text version;
    if (host_fact_read_file (list, list->roots->sys, "/module/amdgpu/version", &version))
        return text_format (&list->arena, "amdgpu %.*s", TEXT_ARG (version));
    return host_fact_folder_names (list, list->roots->sys, "/module/amdgpu", "").n ? TEXT_LIT ("amdgpu of the kernel")
                                                                                   : host_fact_file_problem (version);
}

/* A card that no program has used since boot says "??.??.??.??.??". */
static void gpu_add_field (struct text file, const char *key, struct value_tally *tally)
{
    struct text value;
    if (host_fact_find_field (file, key, &value) && value.len && value.ptr[0] != '?')
        value_tally_add (tally, value);
}

static void add_cards (struct host_fact_list *list)
{
    struct value_tally models = { 0 }, bios = { 0 }, firmware = { 0 };
    struct name_list cards = host_fact_folder_names (list, list->roots->proc, NVIDIA_FOLDER "/gpus", "");
    for (uint32_t i = 0; i < cards.n; i++) {
        struct text file, path = text_format (&list->arena, NVIDIA_FOLDER "/gpus/%s/information", cards.items[i].ptr);
        if (!host_fact_read_file (list, list->roots->proc, path.ptr, &file))
            continue;
        gpu_add_field (file, "Model", &models);
        gpu_add_field (file, "Video BIOS", &bios);
        gpu_add_field (file, "GPU Firmware", &firmware);
    }
    struct text missing = cards.n ? TEXT_LIT (FACT_NOT_REPORTED)
                                  : host_fact_folder_problem (list, list->roots->proc, NVIDIA_FOLDER "/gpus");
    value_tally_to_fact (list, "gpu.models", &models, missing);
    value_tally_to_fact (list, "gpu.bios", &bios, missing);
    value_tally_to_fact (list, "gpu.firmware", &firmware, missing);
}

/* ---- errors since boot ---- */

enum { KERNEL_RECORD_BYTES = 8192, KERNEL_RECORDS_MAX = 65536, XID_DIGITS_MAX = 6 };

/* "NVRM: Xid (PCI:0000:3b:00): 79, ..."; "nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 12028, Non-fatal, ...", of which
 * two more lines follow with its severity and data. Empty: none. */
static struct text xid_in (struct host_fact_list *list, struct text line)
{
    uint32_t at, digits = 0;
    if (!text_find (line, TEXT_LIT ("Xid ("), &at))
        return (struct text){ 0 };
    bool of_switch = at && line.ptr[at - 1] == 'S';
    text_skip (&line, at);
    (void) text_take_until (&line, ')');
    text_skip (&line, 2); /* ": " */
    while (digits < line.len && isdigit ((unsigned char) line.ptr[digits]))
        digits++;
    bool counts = digits && digits <= XID_DIGITS_MAX && (!of_switch || text_find (line, TEXT_LIT ("atal,"), NULL));
    return counts ? text_format (&list->arena, "%s %.*s", of_switch ? "SXid" : "Xid", (int) digits, line.ptr)
                  : (struct text){ 0 };
}

/* Linux, drivers/gpu/drm/amd/amdgpu. Where all is well it says "no uncorrectable hardware errors", or "0 new" ones. */
static struct text amd_error_in (struct text line)
{
    if (!text_find (line, TEXT_LIT ("amdgpu"), NULL))
        return (struct text){ 0 };
    if (text_find (line, TEXT_LIT ("uncorrectable hardware error"), NULL))
        return text_find (line, TEXT_LIT ("no uncorrectable"), NULL) || text_find (line, TEXT_LIT (" 0 new "), NULL)
                   ? (struct text){ 0 }
                   : TEXT_LIT ("uncorrectable hardware error");
    return text_find (line, TEXT_LIT ("GPU reset begin"), NULL)          ? TEXT_LIT ("GPU reset")
           : text_find (line, TEXT_LIT (" timeout, signaled seq"), NULL) ? TEXT_LIT ("ring timeout")
                                                                         : (struct text){ 0 };
}

/* One read gives one record, and EPIPE where the next one was overwritten meanwhile. */
static void add_errors (struct host_fact_list *list)
{
    struct value_tally tally = { 0 };
    LOCAL_MEM char *record = mem_alloc (KERNEL_RECORD_BYTES);
    LOCAL_FD log = open (text_format (&list->arena, "%s/kmsg", list->roots->dev).ptr,
                         O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t got = -1;
    for (uint32_t i = 0; log >= 0 && i < KERNEL_RECORDS_MAX; i++) {
        got = read (log, record, KERNEL_RECORD_BYTES);
        if (got == 0 || (got < 0 && errno != EPIPE && errno != EINTR))
            break;
        struct text rest = { record, got > 0 ? (uint32_t) got : 0 };
        while (rest.len) {
            struct text line = text_take_until (&rest, '\n'), error = xid_in (list, line);
            error = error.len ? error : amd_error_in (line);
            if (error.len)
                value_tally_add (&tally, error);
        }
    }
    bool whole = log >= 0 && (got == 0 || errno == EAGAIN);
    value_tally_to_fact (list, "gpu.errors", &tally,
                         whole ? TEXT_LIT ("none") : text_format (&list->arena, "unreadable (%s)", strerror (errno)));
}

void gpu_facts (struct host_fact_list *list)
{
    struct text nvidia = nvidia_driver (list), driver = nvidia.len ? nvidia : amd_driver (list);
    host_fact_add (list, "gpu.driver", driver);
    add_cards (list);
    host_fact_add_file (list, "gpu.rocm", list->roots->root, "/opt/rocm/.info/version");
    if (driver.len)
        add_errors (list);
    else
        host_fact_add (list, "gpu.errors", driver);
}
