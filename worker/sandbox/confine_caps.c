#include "worker/sandbox/confine_sandbox.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BIT(capability) (UINT64_C (1) << (capability))

const uint64_t confine_caps_kept = BIT (CAP_CHOWN) | BIT (CAP_DAC_OVERRIDE) | BIT (CAP_FOWNER) | BIT (CAP_FSETID) |
                                   BIT (CAP_KILL) | BIT (CAP_SETGID) | BIT (CAP_SETUID) | BIT (CAP_IPC_LOCK) |
                                   BIT (CAP_IPC_OWNER) | BIT (CAP_SYS_NICE) | BIT (CAP_SYS_RESOURCE);

struct sets {
    struct __user_cap_header_struct header;
    struct __user_cap_data_struct words[_LINUX_CAPABILITY_U32S_3];
};

static int get (struct sets *sets)
{
    *sets = (struct sets){ .header = { .version = _LINUX_CAPABILITY_VERSION_3 } };
    return (int) syscall (SYS_capget, &sets->header, sets->words);
}

bool confine_caps_have (int capability)
{
    struct sets sets;
    return get (&sets) == 0 && sets.words[CAP_TO_INDEX (capability)].effective & CAP_TO_MASK (capability);
}

static int bound (uint64_t kept, struct err *err)
{
    for (int capability = 0; capability < 64; capability++) {
        int there = prctl (PR_CAPBSET_READ, capability, 0, 0, 0);
        if (there < 0)
            return 0; /* past the last one that this kernel knows */
        if (there && !(kept & BIT (capability)) && prctl (PR_CAPBSET_DROP, capability, 0, 0, 0) < 0)
            return err_errno (err, ERR_IO, "cannot drop capability %d permanently (needs CAP_SETPCAP)", capability);
    }
    return 0;
}

int confine_caps_keep (uint64_t kept, struct err *err)
{
    struct sets sets;
    if (get (&sets) < 0)
        return err_errno (err, ERR_IO, "cannot read the capabilities of this process");
    if (geteuid () != 0 && !sets.words[0].permitted && !sets.words[1].permitted)
        return 0; /* and with no_new_privs there is no way to get any */
    if (bound (kept, err) < 0)
        return -1;
    if (prctl (PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
        return err_errno (err, ERR_IO, "cannot clear the ambient capabilities");
    for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
        uint32_t word = (uint32_t) (kept >> (32 * i));
        sets.words[i].permitted &= word;
        sets.words[i].effective &= word;
        sets.words[i].inheritable = 0;
    }
    if (syscall (SYS_capset, &sets.header, sets.words) < 0)
        return err_errno (err, ERR_IO, "cannot drop capabilities");
    return 0;
}
