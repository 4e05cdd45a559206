#include "worker/process/exec.h"

#include "common/io/fd.h"
#include "common/io/proc.h"
#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum {
    SWEEP_AGAIN_MS = 20,      /* kills in rounds, because each death gives us new orphans */
    SWEEP_AT_ONCE_MS = 5,     /* an empty pid namespace answers within this; a longer wait would delay the loop */
    SWEEP_MAX_MS = 10 * 1000, /* a process in uninterruptible sleep outlives SIGKILL; it must not hold us up */
    CHILDREN_MAX = 4096,      /* looked at in one sweep */
};

enum stage { STAGE_RUNNING, STAGE_INTERRUPTED, STAGE_TERMINATED, STAGE_KILLED };

struct exec {
    pid_t pid;
    enum stage stage;
    bool main_ended, gone;
    uint64_t stop_ms, next_stage_ms;
    uint64_t sweep_at_ms, sweep_until_ms;
    struct exec_end end;
};

/* One for the whole process, like the subreaper flag. */
static struct containment *contained;

void exec_set_containment (struct containment *containment)
{
    contained = containment;
}

enum containment_level exec_containment (void)
{
    return containment_level (contained);
}

int exec_adopt_orphans (struct err *err)
{
    if (prctl (PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
        return err_errno (err, ERR_IO, "cannot become the parent of orphaned processes");
    return 0;
}

static struct exec *exec_of (pid_t pid)
{
    struct exec *exec = mem_alloc (sizeof *exec);
    exec->pid = pid;
    exec->next_stage_ms = exec->sweep_at_ms = UINT64_MAX;
    return exec;
}

static struct exec *start (const struct spawn_request *request, const struct spawn_target *target, struct err *err)
{
    pid_t pid;
    return spawn_start (request, target, &pid, err) < 0 ? NULL : exec_of (pid);
}

struct exec *exec_start (const struct spawn_request *request, struct err *err)
{
    struct spawn_target target;
    return containment_spawn_target (contained, &target, err) < 0 ? NULL : start (request, &target, err);
}

struct exec *exec_start_copy (const struct spawn_request *request, exec_copy_fn *copy, void *owner, struct err *err)
{
    struct spawn_target target;
    pid_t pid;
    assert (containment_level (contained) == CONTAINMENT_PID_NAMESPACE);
    if (containment_spawn_target (contained, &target, err) < 0 || copy (owner, request, &target, &pid, err) < 0)
        return NULL;
    return exec_of (pid);
}

struct exec *exec_start_on_host (const struct spawn_request *request, struct err *err)
{
    return start (request, &spawn_target_here, err);
}

/* ---- children of this process ---- */

/* Orphans go to any thread of the subreaper, so all threads are listed (prctl(2), PR_SET_CHILD_SUBREAPER). */
static uint32_t list_children (pid_t *out, uint32_t max)
{
    LOCAL_DIR tasks = opendir ("/proc/self/task");
    if (!tasks)
        return 0;
    uint32_t n = 0;
    for (struct dirent *task = readdir (tasks); task; task = readdir (tasks)) {
        if (task->d_name[0] != '.')
            n += proc_children ("self", task->d_name, out + n, max - n);
    }
    return n;
}

/* How many there were. */
static uint32_t kill_children (void)
{
    LOCAL_MEM pid_t *children = mem_array (CHILDREN_MAX, sizeof *children);
    uint32_t n = list_children (children, CHILDREN_MAX);
    for (uint32_t i = 0; i < n; i++) {
        /* They are our unreaped children, so nobody else can have their pids. */
        (void) kill (children[i], SIGKILL);
    }
    return n;
}

/* ---- signals ---- */

/* The whole group; ESRCH only says that it is empty already. */
static void signal_group (const struct exec *exec, int signal_number)
{
    (void) kill (-exec->pid, signal_number);
}

static void kill_hard (struct exec *exec)
{
    exec->stage = STAGE_KILLED;
    exec->next_stage_ms = UINT64_MAX;
    signal_group (exec, SIGKILL);
}

static void interrupt (struct exec *exec, uint64_t now_ms)
{
    exec->stage = STAGE_INTERRUPTED;
    exec->next_stage_ms = now_ms + exec->stop_ms;
    signal_group (exec, SIGINT);
}

static void terminate (struct exec *exec, uint64_t now_ms)
{
    exec->stage = STAGE_TERMINATED;
    exec->next_stage_ms = now_ms + exec->stop_ms;
    signal_group (exec, SIGTERM);
    signal_group (exec, SIGCONT); /* a stopped task sees no SIGTERM (systemd.kill(5)) */
}

void exec_stop (struct exec *exec, bool hard, uint64_t stop_ms, uint64_t now_ms)
{
    if (exec->main_ended || exec->stage == STAGE_KILLED)
        return;
    exec->stop_ms = stop_ms;
    if (hard)
        kill_hard (exec);
    else if (exec->stage == STAGE_RUNNING)
        interrupt (exec, now_ms);
}

static void escalate (struct exec *exec, uint64_t now_ms)
{
    if (exec->main_ended || now_ms < exec->next_stage_ms)
        return;
    if (exec->stage == STAGE_INTERRUPTED)
        terminate (exec, now_ms);
    else
        kill_hard (exec);
}

/* ---- the end ---- */

static void note_main_end (struct exec *exec, int status, const struct rusage *usage, uint64_t now_ms)
{
    exec->main_ended = true;
    exec->next_stage_ms = UINT64_MAX;
    exec->end.status = status;
    exec->end.peak_bytes = (uint64_t) usage->ru_maxrss * 1024; /* KiB: getrusage(2) */
    exec->sweep_at_ms = now_ms;
    exec->sweep_until_ms = now_ms + SWEEP_MAX_MS;
}

static void exec_collect (struct exec *exec, pid_t pid, uint64_t now_ms)
{
    int status = 0;
    struct rusage usage = { 0 };
    /* While the program is an unreaped zombie no other group can get its number. */
    if (pid == exec->pid && !containment_adopts_orphans (contained))
        signal_group (exec, SIGKILL);
    pid_t got = wait4 (pid, &status, 0, &usage);
    assert (got == pid);
    containment_note_reaped (contained, pid);
    if (pid == exec->pid)
        note_main_end (exec, status, &usage, now_ms);
    else if (exec->main_ended && WIFSIGNALED (status) && WTERMSIG (status) == SIGKILL)
        exec->end.strays++;
}

/* False: there is no child left. */
static bool collect_children (struct exec *exec, uint64_t now_ms)
{
    for (;;) {
        siginfo_t info = { 0 };
        int answer = waitid (P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT);
        if (answer < 0 && errno == EINTR)
            continue;
        if (answer < 0 || !info.si_pid)
            return answer == 0;
        exec_collect (exec, info.si_pid, now_ms);
    }
}

/* All processes are gone, or cannot be killed: `unkillable` remain. */
static void exec_finish (struct exec *exec, uint32_t unkillable)
{
    exec->end.unkillable = unkillable;
    exec->gone = true;
    exec->sweep_at_ms = UINT64_MAX;
}

/* Its orphans are our children. */
static void sweep_children (struct exec *exec, uint64_t now_ms)
{
    containment_kill (contained);
    kill_children ();
    bool more = collect_children (exec, now_ms);
    if (!more || now_ms >= exec->sweep_until_ms)
        exec_finish (exec, more ? kill_children () : 0);
}

/* Its orphans are children of the namespace's first process. */
static void sweep_namespace (struct exec *exec, uint64_t now_ms)
{
    bool first = exec->sweep_at_ms == now_ms && exec->sweep_until_ms == now_ms + SWEEP_MAX_MS;
    containment_kill (contained);
    if (containment_wait_swept (contained, first ? SWEEP_AT_ONCE_MS : 0, &exec->end.strays)) {
        exec_finish (exec, 0);
    } else if (now_ms >= exec->sweep_until_ms) {
        exec_finish (exec, containment_left (contained));
        containment_abandon (contained);
    }
}

static void sweep (struct exec *exec, uint64_t now_ms)
{
    if (!exec->main_ended)
        return;
    if (containment_adopts_orphans (contained))
        sweep_namespace (exec, now_ms);
    else
        sweep_children (exec, now_ms);
    if (!exec->gone)
        exec->sweep_at_ms = now_ms + SWEEP_AGAIN_MS;
}

void exec_poll (struct exec *exec, uint64_t now_ms)
{
    if (exec->gone)
        return;
    collect_children (exec, now_ms);
    escalate (exec, now_ms);
    sweep (exec, now_ms);
}

uint64_t exec_deadline_ms (const struct exec *exec)
{
    return exec->main_ended ? exec->sweep_at_ms : exec->next_stage_ms;
}

bool exec_all_gone (const struct exec *exec, struct exec_end *end)
{
    if (exec->gone && end)
        *end = exec->end;
    return exec->gone;
}

pid_t exec_pid (const struct exec *exec)
{
    return exec->pid;
}

void exec_destroy (struct exec *exec)
{
    if (!exec)
        return;
    if (!exec->main_ended)
        signal_group (exec, SIGKILL);
    if (!exec->gone && containment_adopts_orphans (contained)) {
        containment_abandon (contained); /* a late answer would be taken as the next sweep's */
    } else if (!exec->gone) {
        containment_kill (contained);
        if (exec->main_ended)
            kill_children ();
    }
    mem_free (exec);
}
