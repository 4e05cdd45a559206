/* errno_rules.c - an errno and the object that it was about: the object decides whose affair it is.
 *
 * One errno has many spellings: "[Errno 28]", "(os error 28)", "errno: 28", "ENOSPC", the text of strerror. */
#include "common/logs/error_rule.h"

#include <errno.h>
#include <stdio.h>

#include "common/logs/words.h"

static const struct {
    int number;
    const char *spellings; /* its name and strerror's text */
} spelled[] = {
    { ENOENT, "No such file or directory|ENOENT" },
    { EACCES, "Permission denied|EACCES" },
    { EPERM, "Operation not permitted|EPERM" },
    { EIO, "Input/output error|EIO" },
    { ENXIO, "No such device or address|ENXIO" },
    { ENODEV, "No such device|ENODEV" },
    { EBUSY, "Device or resource busy|EBUSY" },
    { EEXIST, "File exists|EEXIST" },
    { ENOTEMPTY, "Directory not empty|ENOTEMPTY" },
    { ENFILE, "Too many open files in system|ENFILE" },
    { ENOMEM, "Cannot allocate memory|ENOMEM" },
    { ENOEXEC, "Exec format error|ENOEXEC" },
    { ENOSYS, "Function not implemented|ENOSYS" },
    { ETIMEDOUT, "Connection timed out|ETIMEDOUT" },
    { ECONNREFUSED, "Connection refused|ECONNREFUSED" },
    { ENAMETOOLONG, "File name too long|ENAMETOOLONG" },
    { EFBIG, "File too large|EFBIG" },
};

static bool has_number (struct text folded, int number)
{
    char words[160];
    snprintf (words, sizeof words, "[Errno %d]|os error %d)|errno: %d |errno=%d |errno %d |errno = %d|error code %d)",
              number, number, number, number, number, number, number);
    return words_any_folded (folded, words);
}

#define DEVICES "/dev/accel|/dev/vfio|/dev/nvidia|/dev/kfd|/dev/dri|/dev/infiniband|/dev/uverbs"
#define REMOTE "gs://|s3://|http|bucket|googleapis|huggingface"
#define CACHES                                                                                                         \
    "compilation_cache|jit_cache|triton/cache|torchinductor|torch_extensions|xla_cache|jax_cache|.nv/"                 \
    "ComputeCache|comp_cache"
#define TEMPORARY ".tmp|tmp.|_tmp|.orbax-checkpoint-tmp|.lock|.incomplete"
#define FIX_PATH "Correct the path that the launch gives."
#define FIX_RIGHTS "Let the user of the program open the path named there."

/* The first line with the errno whose object occurs. */
static const struct {
    int number;
    const char *object; /* NULL: any */
    struct error_rule rule;
} rules[] = {
#define ERRNO(number, object, id, owner, next)                                                                         \
    {                                                                                                                  \
        number, object,                                                                                                \
        {                                                                                                              \
            id, RULE_FORM, owner, NULL, NULL, NULL, NULL, 0, next                                                      \
        }                                                                                                              \
    }
    ERRNO (ENOENT, CACHES, "missing-in-cache", OWNER_CACHE,
           "Give each run and host a cache of its own, or one writer."),
    ERRNO (ENOENT, DEVICES, "device-node-missing", OWNER_HOST,
           "Look at the driver of this host: the device node is not there."),
    ERRNO (ENOENT, TEMPORARY, "missing-temporary", OWNER_LAUNCH,
           "Two processes write in one place: give each its own directory."),
    ERRNO (ENOENT, ".so|.so.", "library-missing-file", OWNER_BUNDLE,
           "Compare the installed packages with the pin set."),
    ERRNO (ENOENT, NULL, "path-missing", OWNER_LAUNCH, FIX_PATH),
    ERRNO (EACCES, DEVICES, "device-denied", OWNER_HOST,
           "Let the user of the program open the device: groups, udev rules, or the container's devices."),
    ERRNO (EACCES, REMOTE, "storage-denied", OWNER_PLATFORM, "Give the account rights on what is named there."),
    ERRNO (EACCES, "(publickey", "login-denied", OWNER_LAUNCH, "Give ssh a key that the host accepts."),
    ERRNO (EACCES, CACHES, "cache-denied", OWNER_HOST, FIX_RIGHTS),
    ERRNO (EACCES, NULL, "path-denied", OWNER_HOST, FIX_RIGHTS),
    ERRNO (EPERM, NULL, "operation-denied", OWNER_HOST,
           "Give the process or container the capability that the operation needs."),
    ERRNO (EIO, NULL, "disk-error", OWNER_HOST, "Look at the kernel's log and at the mount named there."),
    ERRNO (ENODEV, NULL, "device-missing", OWNER_HOST, "Look at the driver and the devices of this host."),
    ERRNO (ENXIO, NULL, "device-missing-address", OWNER_HOST, "Look at the driver and the devices of this host."),
    ERRNO (EBUSY, DEVICES, "busy", OWNER_DEVICE, "Find the process that holds it, and end it."),
    ERRNO (EEXIST, NULL, "leftover", OWNER_LAUNCH,
           "An earlier or a second run wrote there: give each its own directory."),
    ERRNO (ENOTEMPTY, NULL, "leftover-directory", OWNER_LAUNCH,
           "A second process writes there: give each its own directory."),
    ERRNO (ENFILE, NULL, "files-open", OWNER_HOST, "Raise the limit on open files."),
    ERRNO (EFBIG, NULL, "file-size", OWNER_HOST,
           "Raise the limit on the size of a file (ulimit -f), or see what the file system allows."),
    ERRNO (ENOMEM, NULL, "memory-errno", OWNER_HOST, "Look at the memory of the host and its limits."),
    ERRNO (ENOEXEC, NULL, "wrong-machine", OWNER_BUNDLE, "The file is for another machine."),
    ERRNO (ENOSYS, NULL, "kernel-lacks", OWNER_HOST, "The kernel or the sandbox of this host lacks the call."),
    ERRNO (ETIMEDOUT, NULL, "timed-out-network", OWNER_PLATFORM,
           "Look at the network between this host and the address named there."),
    ERRNO (ECONNREFUSED, REMOTE, "refused-service", OWNER_PLATFORM, "Look at the service named there."),
    ERRNO (ENAMETOOLONG, NULL, "name-long", OWNER_LAUNCH, FIX_PATH),
#undef ERRNO
    { ECONNREFUSED,
      NULL,
      { "refused-peer", RULE_PEER, OWNER_PEER, NULL, NULL, NULL, NULL, 0,
        "No process listens at that address: look at the host that should." } },
};
enum { RULES = sizeof rules / sizeof rules[0] };

static bool is_about (const struct folded_clue *folded, int number)
{
    for (size_t i = 0; i < sizeof spelled / sizeof spelled[0]; i++)
        if (spelled[i].number == number && words_any_exact (folded->clue.text, spelled[i].spellings))
            return true;
    return has_number (folded->text, number);
}

const struct error_rule *errno_rule_match (const struct folded_clue *folded)
{
    for (size_t i = 0; i < RULES; i++)
        if (is_about (folded, rules[i].number) &&
            (!rules[i].object || words_any_folded (folded->text, rules[i].object)))
            return &rules[i].rule;
    return NULL;
}

const struct error_rule *errno_rule_find (struct text id)
{
    for (size_t i = 0; i < RULES; i++)
        if (text_is (id, rules[i].rule.id))
            return &rules[i].rule;
    return NULL;
}
