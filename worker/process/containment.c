#include "worker/process/containment.h"

#include "common/base/mem.h"
#include "worker/process/control_group.h"
#include "worker/process/pid_namespace.h"
#include <assert.h>

struct containment {
    enum containment_level level;
    struct pid_namespace *pid_namespace; /* PID_NAMESPACE */
    struct control_group *group;         /* CGROUP */
};

static const char *const names[] = { "none", "subreaper", "cgroup", "pid-namespace" };

const char *containment_name (enum containment_level level)
{
    return names[level];
}

enum containment_level containment_level (const struct containment *containment)
{
    return containment ? containment->level : CONTAINMENT_SUBREAPER;
}

/* ---- choosing ---- */

static bool try_pid_namespace (struct containment *containment, const struct log *log)
{
    struct err err = { 0 };
    containment->pid_namespace = pid_namespace_open (&err);
    if (!containment->pid_namespace) {
        log_print (log, "cannot make a pid namespace for programs: %s", err.text);
        return false;
    }
    return true;
}

static bool try_cgroup (struct containment *containment, const char *directory, const struct log *log)
{
    struct err err = { 0 };
    containment->group = control_group_open (directory, &err);
    if (!containment->group)
        log_print (log, "cannot make a cgroup for programs: %s", err.text);
    return containment->group != NULL;
}

static void empty_last (const char *directory, const struct log *log)
{
    struct err err = { 0 };
    int rc = control_group_empty_previous (directory, &err);
    if (rc < 0)
        log_print (log, "cannot end the processes that an earlier worker left running: %s", err.text);
    else if (rc > 0)
        log_print (log, "this worker ended processes that an earlier worker of this directory left in its cgroup");
}

struct containment *containment_choose (enum containment_level most, const char *directory, const struct log *log)
{
    struct containment *containment = mem_alloc (sizeof *containment);
    empty_last (directory, log);
    containment->level = CONTAINMENT_SUBREAPER;
    if (most >= CONTAINMENT_PID_NAMESPACE && try_pid_namespace (containment, log))
        containment->level = CONTAINMENT_PID_NAMESPACE;
    else if (most >= CONTAINMENT_CGROUP && try_cgroup (containment, directory, log))
        containment->level = CONTAINMENT_CGROUP;
    log_print (log, "processes of a program are contained by: %s%s", names[containment->level],
               containment->level == CONTAINMENT_SUBREAPER
                   ? "; if this worker is killed with SIGKILL, processes that a program started may continue to run"
                   : "");
    return containment;
}

void containment_close (struct containment *containment)
{
    if (!containment)
        return;
    pid_namespace_close (containment->pid_namespace);
    control_group_close (containment->group);
    mem_free (containment);
}

/* ---- using it ---- */

int containment_spawn_target (struct containment *containment, struct spawn_target *target, struct err *err)
{
    *target = spawn_target_here;
    if (!containment || containment->level == CONTAINMENT_SUBREAPER)
        return 0;
    if (containment->level == CONTAINMENT_CGROUP) {
        target->group_fd = control_group_procs_fd (containment->group);
        return 0;
    }
    if (!containment->pid_namespace || !pid_namespace_lives (containment->pid_namespace)) {
        pid_namespace_close (containment->pid_namespace);
        containment->pid_namespace = pid_namespace_open (err);
        if (!containment->pid_namespace)
            return err_prefix (err, "the pid namespace for programs ended, and a new one cannot be made");
    }
    *target = pid_namespace_spawn_target (containment->pid_namespace);
    return 0;
}

bool containment_adopts_orphans (const struct containment *containment)
{
    return containment && containment->pid_namespace;
}

void containment_kill (struct containment *containment)
{
    if (containment && containment->pid_namespace)
        pid_namespace_sweep (containment->pid_namespace);
    if (containment && containment->group)
        control_group_kill (containment->group);
}

bool containment_wait_swept (struct containment *containment, int wait_ms, uint32_t *strays)
{
    assert (containment_adopts_orphans (containment));
    return pid_namespace_wait_swept (containment->pid_namespace, wait_ms, strays);
}

uint32_t containment_left (const struct containment *containment)
{
    return pid_namespace_process_count (containment->pid_namespace);
}

void containment_abandon (struct containment *containment)
{
    if (!containment_adopts_orphans (containment))
        return;
    pid_namespace_close (containment->pid_namespace);
    containment->pid_namespace = NULL; /* the next program gets a new one */
}

void containment_note_reaped (struct containment *containment, pid_t pid)
{
    if (containment_adopts_orphans (containment) && pid_namespace_pid (containment->pid_namespace) == pid)
        pid_namespace_note_reaped (containment->pid_namespace);
}
