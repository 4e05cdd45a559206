/* task.c - see task.h: the worker's end. */
#include "worker/attempt/task_channel.h"

#include "worker/attempt/environ.h"
#include "worker/process/self.h"
#include <sys/wait.h>
#include <unistd.h>

static struct exec *start_process (enum task_kind kind, struct text host, const char *directory, int report_fd,
                                   int channel_fd, struct err *err)
{
    struct arena arena = { 0 };
    struct environ_list list;
    char *argv[] = { (char *) "sliceup-worker",
                     (char *) "task",
                     (char *) enum_name_of (&task_kind_names, kind),
                     (char *) directory,
                     (char *) text_copy (&arena, host).ptr,
                     NULL };
    environ_begin (&list, &arena);
    struct self_exec start = self_make_exec (argv, &arena);
    struct spawn_request request = { .program = start.program,
                                     .argv = start.argv,
                                     .envp = environ_block (&list),
                                     .is_self = true,
                                     .directory = directory,
                                     .output_fd = report_fd,
                                     .channel_fd = channel_fd };
    /* Who has a device open is not seen from inside a pid namespace. */
    struct exec *exec = kind == TASK_DEVICE ? exec_start_on_host (&request, err) : exec_start (&request, err);
    arena_release (&arena);
    return exec;
}

struct exec *task_start (enum task_kind kind, const struct task_request *request, struct text host,
                         const char *directory, int report_fd, int *channel_fd, struct err *err)
{
    int pair[2];
    if (task_channel_open (request, pair, err) < 0)
        return NULL;
    struct exec *exec = start_process (kind, host, directory, report_fd, pair[1], err);
    close (pair[1]);
    if (exec)
        *channel_fd = pair[0];
    else
        close (pair[0]);
    return exec;
}

static void no_answer (const struct exec_end *end, const char *why, struct arena *arena, struct task_answer *answer)
{
    bool signalled = WIFSIGNALED (end->status);
    int code = signalled ? WTERMSIG (end->status) : WEXITSTATUS (end->status);
    *answer = (struct task_answer){ .owner = OWNER_SLICEUP };
    answer->problem = text_format (arena,
                                   "the task that prepares or closes this attempt ended without an answer (%s %d%s%s)",
                                   signalled ? "signal" : "exit status", code, *why ? "; " : "", why);
}

void task_take_answer (int channel_fd, const struct exec_end *end, struct arena *arena, struct task_answer *answer)
{
    struct err err = { 0 };
    *answer = (struct task_answer){ 0 };
    if (task_channel_get_answer (channel_fd, end->status == 0, arena, answer, &err) < 0)
        no_answer (end, err.text, arena, answer);
    close (channel_fd);
}
