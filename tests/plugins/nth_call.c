/* nth_call.c - a machine that kills a program, or refuses it something, at the n-th of some system calls, counted over
 * its threads, and over what it forked until that executes something else. For tests/campaign/crashes, on x86-64.
 *
 *   nth_call REPORT WHEN FAULT CALLS PROGRAM...
 *
 * WHEN is n, "n+" (from the n-th on), or 0 (never). FAULT is "kill" (SIGKILL, before the call) or an errno that the call
 * returns without being made. CALLS are names with commas; "name:file" only counts on regular files (openat: what may make
 * one), "name:out" on what others see: anything but an eventfd; "name:TEXT" on what has this in its path. The program keeps its process id; who traces it is no
 * relative. REPORT gets "hit NAME TARGET" when the n-th call comes (with 0: "call NAME TARGET" for each), and "counted N"
 * at the end. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/ptrace.h>

enum { TASKS_MAX = 4096, CALLS_MAX = 64, TRAP_OF_CALL = SIGTRAP | 0x80 };

#define CALL(name)                                                                                                     \
    {                                                                                                                  \
#name, SYS_##name                                                                                              \
    }
static const struct {
    const char *name;
    long number;
} known[] = {
    CALL (write),
    CALL (writev),
    CALL (pwrite64),
    CALL (pwritev),
    CALL (fsync),
    CALL (fdatasync),
    CALL (rename),
    CALL (renameat),
    CALL (renameat2),
    CALL (unlink),
    CALL (unlinkat),
    CALL (rmdir),
    CALL (open),
    CALL (openat),
    CALL (creat),
    CALL (ftruncate),
    CALL (fallocate),
    CALL (mkdir),
    CALL (mkdirat),
    CALL (link),
    CALL (linkat),
    CALL (symlink),
    CALL (symlinkat),
    CALL (sendto),
    CALL (sendmsg),
    CALL (mmap),
    CALL (brk),
    CALL (mremap),
    CALL (socket),
    CALL (socketpair),
    CALL (accept),
    CALL (accept4),
    CALL (pipe),
    CALL (pipe2),
    CALL (dup),
    CALL (eventfd2),
    CALL (clone),
    CALL (clone3),
    CALL (fork),
    CALL (vfork),
    CALL (epoll_create1),
    CALL (memfd_create),
    CALL (read),
    CALL (pread64),
    CALL (fchmod),
    CALL (chmod),
    CALL (mount),
    CALL (inotify_init1),
    CALL (fcntl),
    CALL (signalfd4),
    CALL (kill),
    CALL (execve),
    CALL (copy_file_range),
};

static struct {
    const char *name;
    long number;
    const char *where; /* NULL: anywhere */
} chosen[CALLS_MAX];
static size_t chosen_n;
static struct {
    FILE *report;
    long at, counted;
    bool lasting, kills;
    int error;
    pid_t leader;
    pid_t refused[TASKS_MAX]; /* is in a call that was replaced, by pid % TASKS_MAX */
    unsigned long long breaks[TASKS_MAX];
} nth;

static void give_up (const char *what)
{
    fprintf (stderr, "nth_call: %s: %s\n", what, strerror (errno));
    exit (125);
}

static void choose (char *words)
{
    for (char *word = strtok (words, ","); word; word = strtok (NULL, ",")) {
        char *where = strchr (word, ':');
        if (where)
            *where++ = '\0';
        size_t i = 0;
        while (i < sizeof known / sizeof *known && strcmp (known[i].name, word) != 0)
            i++;
        if (i == sizeof known / sizeof *known || chosen_n == CALLS_MAX)
            give_up (word);
        chosen[chosen_n].name = known[i].name;
        chosen[chosen_n].number = known[i].number;
        chosen[chosen_n++].where = where;
    }
}

/* The path in the memory of the process, or what its descriptor is. */
static void find_target (pid_t task, long number, const __u64 *args, char *target, size_t room)
{
    bool by_path = number == SYS_openat || number == SYS_mkdirat || number == SYS_unlinkat || number == SYS_renameat ||
                   number == SYS_renameat2;
    bool first_path = number == SYS_open || number == SYS_mkdir || number == SYS_unlink || number == SYS_rename ||
                      number == SYS_rmdir;
    char link[64];
    target[0] = '\0';
    if (number == SYS_mmap || number == SYS_brk || number == SYS_mremap || number == SYS_clone || number == SYS_clone3)
        return;
    if (by_path || first_path) {
        struct iovec here = { target, room - 1 }, there = { (void *) (size_t) args[by_path], room - 1 };
        ssize_t n = process_vm_readv (task, &here, 1, &there, 1, 0);
        for (there.iov_len = 64; n < 0 && there.iov_len; there.iov_len /= 2) /* it may lie before the end of its page */
            n = process_vm_readv (task, &here, 1, &there, 1, 0);
        target[n < 0 ? 0 : n] = '\0';
        return;
    }
    snprintf (link, sizeof link, "/proc/%d/fd/%d", (int) task, (int) args[0]);
    ssize_t n = readlink (link, target, room - 1);
    target[n < 0 ? 0 : n] = '\0';
}

static bool is_regular (pid_t task, int fd)
{
    char link[64];
    struct stat st;
    snprintf (link, sizeof link, "/proc/%d/fd/%d", (int) task, fd);
    return stat (link, &st) == 0 && S_ISREG (st.st_mode);
}

static bool counts (pid_t task, size_t i, const __u64 *args, const char *target)
{
    const char *where = chosen[i].where;
    if (!where)
        return true;
    if (strcmp (where, "out") == 0)
        return strncmp (target, "anon_inode:", 11) != 0;
    if (strcmp (where, "file") != 0)
        return strstr (target, where);
    return chosen[i].number == SYS_openat ? args[2] & O_CREAT : is_regular (task, (int) args[0]);
}

/* brk fails by saying where the break is: it is asked that. */
static void refuse (pid_t task)
{
    struct user_regs_struct regs;
    if (ptrace (PTRACE_GETREGS, task, NULL, &regs) < 0)
        return;
    nth.breaks[task % TASKS_MAX] = regs.orig_rax == SYS_brk ? regs.rdi : 0;
    if (regs.orig_rax == SYS_brk)
        regs.rdi = 0;
    else
        regs.orig_rax = (unsigned long long) -1;
    if (ptrace (PTRACE_SETREGS, task, NULL, &regs) == 0)
        nth.refused[task % TASKS_MAX] = task;
}

static void on_entry (pid_t task, const struct ptrace_syscall_info *info)
{
    char target[256];
    size_t i = 0;
    while (i < chosen_n && (__u64) chosen[i].number != info->entry.nr)
        i++;
    if (i == chosen_n)
        return;
    find_target (task, chosen[i].number, info->entry.args, target, sizeof target);
    if (!counts (task, i, info->entry.args, target))
        return;
    nth.counted++;
    if (nth.at == 0)
        fprintf (nth.report, "call %s %s\n", chosen[i].name, target);
    if (nth.at == 0 || nth.counted < nth.at || (nth.counted > nth.at && !nth.lasting))
        return;
    if (nth.counted == nth.at)
        fprintf (nth.report, "hit %s %s\n", chosen[i].name, target);
    fflush (nth.report);
    if (nth.kills)
        kill (nth.leader, SIGKILL);
    else
        refuse (task);
}

static void on_exit_of_call (pid_t task)
{
    struct user_regs_struct regs;
    if (nth.refused[task % TASKS_MAX] != task)
        return;
    nth.refused[task % TASKS_MAX] = 0;
    if (ptrace (PTRACE_GETREGS, task, NULL, &regs) < 0)
        return;
    if (nth.breaks[task % TASKS_MAX])
        regs.rdi = nth.breaks[task % TASKS_MAX]; /* calls leave it as it was */
    else
        regs.rax = (unsigned long long) -nth.error;
    ptrace (PTRACE_SETREGS, task, NULL, &regs);
}

static void on_stop (pid_t task, int status)
{
    int signal = WSTOPSIG (status), event = status >> 16;
    struct ptrace_syscall_info info = { 0 };
    if (signal == TRAP_OF_CALL) {
        long got = ptrace (PTRACE_GET_SYSCALL_INFO, task, sizeof info, &info);
        if (got > 0 && info.op == PTRACE_SYSCALL_INFO_ENTRY)
            on_entry (task, &info);
        else if (got > 0 && info.op == PTRACE_SYSCALL_INFO_EXIT)
            on_exit_of_call (task);
        signal = 0;
    } else if (event == PTRACE_EVENT_EXEC && task != nth.leader) {
        ptrace (PTRACE_DETACH, task, NULL, NULL);
        return;
    } else if (event == PTRACE_EVENT_STOP && signal != SIGTRAP) { /* the whole process is stopped, and stays so */
        ptrace (PTRACE_LISTEN, task, NULL, NULL);
        return;
    } else if (event) {
        signal = 0;
    }
    ptrace (PTRACE_SYSCALL, task, NULL, (void *) (size_t) signal);
}

static void trace (void)
{
    int status;
    pid_t task;
    while ((task = waitpid (-1, &status, __WALL)) > 0 || errno == EINTR)
        if (task > 0 && WIFSTOPPED (status))
            on_stop (task, status);
    fprintf (nth.report, "counted %ld\n", nth.counted);
    exit (fclose (nth.report) == 0 ? 0 : 125);
}

/* In a grandchild, which nobody waits for; the program goes on where it was. */
static void seize_program (pid_t program, int ready)
{
    long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                   PTRACE_O_TRACEEXEC;
    int null = open ("/dev/null", O_RDWR | O_CLOEXEC);
    if (setsid () < 0 || null < 0 || dup2 (null, 0) < 0 || dup2 (null, 1) < 0)
        give_up ("setsid");
    if (ptrace (PTRACE_SEIZE, program, NULL, (void *) options) < 0 ||
        ptrace (PTRACE_INTERRUPT, program, NULL, NULL) < 0)
        give_up ("ptrace");
    nth.leader = program;
    if (write (ready, "", 1) != 1)
        give_up ("write");
    close (ready);
    dup2 (null, 2);
    trace ();
}

int main (int argc, char **argv)
{
    int ready[2];
    char came;
    if (argc < 6)
        give_up ("nth_call REPORT WHEN FAULT CALLS PROGRAM...");
    nth.report = fopen (argv[1], "ae");
    nth.at = atol (argv[2]);
    nth.lasting = argv[2][strlen (argv[2]) - 1] == '+';
    nth.kills = strcmp (argv[3], "kill") == 0;
    for (nth.error = 0; !nth.kills && nth.error < 134; nth.error++)
        if (strerrorname_np (nth.error) && strcmp (strerrorname_np (nth.error), argv[3]) == 0)
            break;
    choose (argv[4]);
    pid_t program = getpid ();
    if (!nth.report || nth.error == 134 || pipe2 (ready, O_CLOEXEC) < 0)
        give_up (argv[1]);
    pid_t child = fork ();
    if (child == 0) {
        if (fork () == 0)
            seize_program (program, ready[1]);
        _exit (0);
    }
    close (ready[1]);
    waitpid (child, NULL, 0);
    if (read (ready[0], &came, 1) != 1)
        return 125;
    close (ready[0]);
    fclose (nth.report);
    execv (argv[5], argv + 5);
    give_up (argv[5]);
}
