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

/* False: the card does not tell it, as one that no program has used since boot ("??.??.??.??.??"). */
static bool gpu_add_field (struct text file, const char *key, struct value_tally *tally)
{
    struct text value;
    if (!host_fact_find_field (file, key, &value) || !value.len || value.ptr[0] == '?')
        return false;
    value_tally_add (tally, value);
    return true;
}

/* What a card tells only once it was used is told of all cards or of none. */
static void add_cards (struct host_fact_list *list)
{
    struct value_tally models = { 0 }, bios = { 0 }, firmware = { 0 };
    struct name_list cards = host_fact_folder_names (list, list->roots->proc, NVIDIA_FOLDER "/gpus", "");
    struct text missing = host_fact_folder_problem (list, list->roots->proc, NVIDIA_FOLDER "/gpus");
    bool used = true;
    for (uint32_t i = 0; i < cards.n; i++) {
        struct text file, path = text_format (&list->arena, NVIDIA_FOLDER "/gpus/%s/information", cards.items[i].ptr);
        if (!host_fact_read_file (list, list->roots->proc, path.ptr, &file))
            continue;
        gpu_add_field (file, "Model", &models);
        used &= gpu_add_field (file, "Video BIOS", &bios);
        gpu_add_field (file, "GPU Firmware", &firmware);
    }
    value_tally_to_fact (list, "gpu.models", &models, missing);
    if (!used) {
        bios.n = firmware.n = 0;
        missing = TEXT_LIT (FACT_NOT_REPORTED);
    }
    value_tally_to_fact (list, "gpu.bios", &bios, missing);
    value_tally_to_fact (list, "gpu.firmware", &firmware, missing);
}

/* ---- errors, as far back as the kernel keeps its log ---- */

enum { KERNEL_RECORD_BYTES = 8192, KERNEL_RECORDS_MAX = 65536, XID_DIGITS_MAX = 6 };

/* `device`: those that a card or its links have by themselves; `others`: what a program does to a card, and the mild. */
struct gpu_errors {
    struct host_fact_list *list;
    struct value_tally device, others;
};

/* 13, 31, 43 and 45: all published lists call them the program's, or what follows from its end. Of the others here they
 * differ, some because the card goes on: NVIDIA's Xid catalogue, NVIDIA/k8s-device-plugin, facebookresearch/gcm,
 * Azure/azurehpc-health-checks, aws/eks-node-monitoring-agent. */
static bool xid_is_mild (struct text number)
{
    static const struct text mild[] = { TEXT_LIT ("13"), TEXT_LIT ("31"), TEXT_LIT ("43"),
                                        TEXT_LIT ("45"), TEXT_LIT ("63"), TEXT_LIT ("68"),
                                        TEXT_LIT ("92"), TEXT_LIT ("94"), TEXT_LIT ("109") };
    return text_is_among (number, mild, sizeof mild / sizeof *mild);
}

/* "NVRM: Xid (PCI:0000:3b:00): 79, ..."; "nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 12028, Non-fatal, ...", of which
 * two more lines follow with its severity and data. */
static bool see_xid (struct gpu_errors *errors, struct text line)
{
    uint32_t at;
    if (!text_find (line, TEXT_LIT ("Xid ("), &at))
        return false;
    bool of_switch = at && line.ptr[at - 1] == 'S';
    text_skip (&line, at);
    (void) text_take_until (&line, ')');
    text_skip (&line, 2); /* ": " */
    struct text number = { line.ptr, 0 };
    while (number.len < line.len && isdigit ((unsigned char) line.ptr[number.len]))
        number.len++;
    if (!number.len || number.len > XID_DIGITS_MAX || (of_switch && !text_find (line, TEXT_LIT ("atal,"), NULL)))
        return true;
    bool mild = of_switch ? text_find (line, TEXT_LIT ("Non-fatal,"), NULL) : xid_is_mild (number);
    value_tally_add (mild ? &errors->others : &errors->device,
                     text_format (&errors->list->arena, "%s %.*s", of_switch ? "SXid" : "Xid", TEXT_ARG (number)));
    return true;
}

/* Linux, drivers/gpu/drm/amd/amdgpu, and NVIDIA/open-gpu-kernel-modules, osapi.c. Where all is well AMD's says "no
 * uncorrectable hardware errors", or "0 new" ones. */
static void see_words (struct gpu_errors *errors, struct text line)
{
    static const struct {
        const char *of, *text, *word;
    } known[] = {
        { "amdgpu", "uncorrectable hardware error", "uncorrectable hardware error" },
        { "amdgpu", "GPU reset begin", "GPU reset" },
        { "amdgpu", " timeout, signaled seq", "ring timeout" },
        { "NVRM", "fallen off the bus and is not responding", "off the bus" },
        { "NVRM", "RmInitAdapter failed", "RmInitAdapter failed" },
    };
    if (text_find (line, TEXT_LIT ("no uncorrectable"), NULL) || text_find (line, TEXT_LIT (" 0 new "), NULL))
        return;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (text_find (line, text_of (known[i].of), NULL) && text_find (line, text_of (known[i].text), NULL)) {
            value_tally_add (&errors->device, text_of (known[i].word));
            return;
        }
}

/* One read gives one record, and EPIPE where the next one was overwritten meanwhile. False: `*problem` is why. */
static bool read_kernel_log (struct gpu_errors *errors, struct text *problem)
{
    struct host_fact_list *list = errors->list;
    LOCAL_MEM char *record = mem_alloc (KERNEL_RECORD_BYTES);
    LOCAL_FD log = open (text_format (&list->arena, "%s/kmsg", list->roots->dev).ptr,
                         O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t got = log < 0 ? -1 : 1;
    for (uint32_t i = 0; log >= 0 && i < KERNEL_RECORDS_MAX; i++) {
        got = read (log, record, KERNEL_RECORD_BYTES);
        if (got == 0 || (got < 0 && errno != EPIPE && errno != EINTR))
            break;
        struct text rest = { record, got > 0 ? (uint32_t) got : 0 };
        while (rest.len) {
            struct text line = text_take_until (&rest, '\n');
            if (!see_xid (errors, line))
                see_words (errors, line);
        }
    }
    if (got >= 0 || (log >= 0 && errno == EAGAIN))
        return true;
    *problem = errno == ENOENT ? TEXT_LIT ("absent") : text_format (&list->arena, "unreadable (%s)", strerror (errno));
    return false;
}

/* Of the device only which there were: a second one of a kind says nothing new, and hosts boot at other times. */
static void add_errors (struct host_fact_list *list)
{
    struct gpu_errors *errors = arena_alloc (&list->arena, sizeof *errors);
    struct text problem;
    LOCAL_BUF kinds = { .max = FACT_VALUE_BYTES };
    errors->list = list;
    bool whole = read_kernel_log (errors, &problem);
    struct text *words = arena_array (&list->arena, KINDS_MAX, sizeof *words);
    for (uint32_t i = 0; i < errors->device.n; i++)
        words[i] = errors->device.items[i].what;
    sort_items (words, errors->device.n, sizeof *words, text_order);
    for (uint32_t i = 0; i < errors->device.n; i++)
        buf_printf (&kinds, "%s%.*s", i ? ", " : "", TEXT_ARG (words[i]));
    struct text none = whole ? TEXT_LIT ("none") : problem;
    host_fact_add (list, "gpu.errors", kinds.len ? text_copy (&list->arena, buf_as_text (&kinds)) : none);
    value_tally_to_fact (list, "gpu.errors_of_programs", &errors->others, none);
}

void gpu_facts (struct host_fact_list *list)
{
    struct text nvidia = nvidia_driver (list), driver = nvidia.len ? nvidia : amd_driver (list);
    host_fact_add (list, "gpu.driver", driver);
    add_cards (list);
    host_fact_add_file (list, "gpu.rocm", list->roots->root, "/opt/rocm/.info/version");
    if (driver.len)
        add_errors (list);
    else {
        host_fact_add (list, "gpu.errors", driver);
        host_fact_add (list, "gpu.errors_of_programs", driver);
    }
}
