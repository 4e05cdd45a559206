#include "worker/sandbox/truncation_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#if defined __x86_64__
#define MACHINE AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define MACHINE AUDIT_ARCH_AARCH64
#else
#error "define MACHINE as linux/audit.h names this architecture"
#endif

#define X32_BIT 0x40000000 /* the other calling convention of x86_64 has the same machine (seccomp(2)) */
#define LOAD(member) BPF_STMT (BPF_LD | BPF_W | BPF_ABS, offsetof (struct seccomp_data, member))
#define ANSWER(code) BPF_STMT (BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (code))
#define PASS BPF_STMT (BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define UNLESS(value, skip) BPF_JUMP (BPF_JMP | BPF_JEQ | BPF_K, value, 0, skip)
#define REFUSE(number, code) UNLESS (number, 1), ANSWER (code)
/* Neither O_WRONLY nor O_RDWR, and yet it truncates. The flags are in the lower half of the argument: little endian. */
#define REFUSE_OPEN(number, argument)                                                                                  \
    UNLESS (number, 6), LOAD (args[argument]), BPF_STMT (BPF_ALU | BPF_AND | BPF_K, O_TRUNC | O_ACCMODE),              \
        BPF_JUMP (BPF_JMP | BPF_JEQ | BPF_K, O_TRUNC, 1, 0), UNLESS (O_TRUNC | O_ACCMODE, 1), ANSWER (EACCES), PASS

static struct sock_filter filter[] = { LOAD (arch),
                                       BPF_JUMP (BPF_JMP | BPF_JEQ | BPF_K, MACHINE, 1, 0),
                                       ANSWER (ENOSYS),
                                       LOAD (nr),
                                       BPF_JUMP (BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1),
                                       ANSWER (ENOSYS),
                                       REFUSE (SYS_truncate, EACCES),
                                       REFUSE (SYS_openat2, ENOSYS),
                                       REFUSE (SYS_io_uring_setup, ENOSYS),
#ifdef SYS_open
                                       REFUSE_OPEN (SYS_open, 1),
#endif
                                       REFUSE_OPEN (SYS_openat, 2),
                                       PASS };

int truncation_refuse (struct err *err)
{
    struct sock_fprog program = { .len = sizeof filter / sizeof filter[0], .filter = filter };
    if (prctl (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) < 0)
        return err_errno (err, ERR_IO, "cannot install the seccomp filter that forbids truncation");
    return 0;
}
