/* task_process.c - the process of a task: what it finds, checks and waits for. */
#include "worker/attempt/cache_task.h"
#include "worker/attempt/device_wait.h"
#include "worker/attempt/log_search.h"
#include "worker/attempt/task_channel.h"
#include "worker/command/interpreter.h"
#include "worker/environment/environment.h"
#include "worker/files/kit.h"
#include "worker/files/wheels.h"
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

/* ---- what there is to do ---- */

static bool needs_environment (const struct msg_run *run)
{
    return run->rung.needs_env;
}

static bool needs_cache (const struct msg_run *run)
{
    return run->rung.kind != PROGRAM_BUILTIN && run->cache.role != CACHE_ROLE_NONE;
}

bool task_prepare_is_needed (const struct msg_run *run)
{
    struct kit_list files;
    kit_list_of (run, &files);
    return files.n || needs_environment (run) || needs_cache (run) || interpreter_must_be_asked (run);
}

bool task_audit_is_needed (const struct msg_run *run)
{
    return needs_cache (run) && run->cache.role == CACHE_ROLE_READER && run->cache.token != 0;
}

/* ---- preparing ---- */

static int find_environment (const struct msg_run *run, struct arena *arena, struct task_answer *answer)
{
    char path[PATH_MAX];
    struct err err = { 0 };
    if (environment_path (&run->pins, path, sizeof path, &err) < 0)
        return task_answer_set_failure (answer, arena, OWNER_BUNDLE, &err);
    answer->python = text_format (arena, "%s/bin/python", path);
    struct text complete = text_format (arena, "%s/" ENVIRONMENT_COMPLETE, path);
    if (access (answer->python.ptr, X_OK) == 0 && access (complete.ptr, R_OK) == 0)
        return 0;
    err_set (&err, ERR_STATE,
             "there is no complete Python environment at %s; the rung that restores it has to pass first", path);
    return task_answer_set_failure (answer, arena, OWNER_BUNDLE, &err);
}

static int find_kit (const struct msg_run *run, const char *directory, struct arena *arena, struct task_answer *answer)
{
    struct kit_list files;
    struct kit kit;
    struct err err = { 0 };
    kit_list_of (run, &files);
    if (kit_prepare (&files, directory, arena, &kit, &err) < 0)
        return task_answer_set_failure (answer, arena, OWNER_HOST, &err);
    answer->kit = kit.folder;
    answer->helpers = kit.helpers;
    answer->missing.items = arena_array (arena, kit.missing.n + WHEELS_MAX, sizeof *answer->missing.items);
    for (uint32_t i = 0; i < kit.missing.n; i++)
        answer->missing.items[answer->missing.n++] = kit.missing.items[i];
    return 0;
}

/* What is complete is not built again, so nothing is brought here for it. */
static bool is_complete (const struct msg_run *run, struct arena *arena)
{
    char path[PATH_MAX];
    return environment_path (&run->pins, path, sizeof path, NULL) == 0 &&
           access (text_format (arena, "%s/" ENVIRONMENT_COMPLETE, path).ptr, F_OK) == 0;
}

static int find_wheels (const struct msg_run *run, const char *folder, struct arena *arena, struct task_answer *answer)
{
    struct err err = { 0 };
    uint32_t missing_n = 0;
    if (!wheels_are_needed (run) || is_complete (run, arena))
        return 0;
    if (wheels_link_present (run, folder, arena, answer->missing.items + answer->missing.n, &missing_n, &err) < 0)
        return task_answer_set_failure (answer, arena, OWNER_HOST, &err);
    answer->missing.n += missing_n;
    return 0;
}

static int find_interpreters (const struct msg_run *run, struct arena *arena, struct task_answer *answer)
{
    struct err err = { 0 };
    if (interpreter_must_be_asked (run) && interpreter_ask_paths (run, arena, &answer->loaded, &err) < 0)
        return task_answer_set_failure (answer, arena, OWNER_HOST, &err);
    return 0;
}

static void prepare (const struct task_context *context, const struct msg_run *run, struct arena *arena,
                     struct task_answer *answer)
{
    if (find_kit (run, context->directory, arena, answer) < 0 ||
        find_wheels (run, context->directory, arena, answer) < 0 || answer->missing.n)
        return;
    if (needs_environment (run) && find_environment (run, arena, answer) < 0)
        return;
    if (find_interpreters (run, arena, answer) < 0)
        return;
    if (needs_cache (run) && cache_task_prepare (context, &run->cache, arena, answer) < 0)
        return;
    answer->done = true;
}

/* ---- the process ---- */

static void wait_for_device (const struct task_request *request, struct arena *arena, struct task_answer *answer)
{
    answer->done = device_wait (&host_fact_roots_real, request->device_wait_ms, arena, &answer->waited,
                                &answer->problem) == 0;
    if (!answer->done)
        answer->owner = OWNER_DEVICE;
}

static void work (enum task_kind kind, const struct task_context *context, const struct task_request *request,
                  struct arena *arena, struct task_answer *answer)
{
    const struct msg_run *run = request->run;
    if (kind == TASK_PREPARE)
        prepare (context, run, arena, answer);
    else if (kind == TASK_DEVICE)
        wait_for_device (request, arena, answer);
    else if (kind == TASK_READ)
        log_search_task (run, request, context->directory, arena, answer);
    else if (kind == TASK_SEAL)
        cache_task_seal (&run->cache, arena, answer);
    else
        cache_task_audit (&run->cache, arena, answer);
}

static int carry_out (enum task_kind kind, const struct task_context *context, struct arena *arena, struct err *err)
{
    struct buf bytes;
    struct msg_run run = { 0 };
    struct task_request request;
    struct task_answer answer = { 0 };
    int rc = task_channel_get_request (SPAWN_CHANNEL_FD, &bytes, arena, &run, &request, err);
    if (rc == 0) {
        work (kind, context, &request, arena, &answer);
        rc = task_channel_put_answer (SPAWN_CHANNEL_FD, &answer, err);
    }
    buf_release (&bytes);
    return rc;
}

int task_main (int argc, char **argv)
{
    uint32_t kind = TASK_NONE;
    struct err err = { 0 };
    struct arena arena = { 0 };
    if (argc != 4 || !enum_value_of (&task_kind_names, text_of (argv[1]), &kind) || kind == TASK_NONE) {
        fprintf (stderr, "sliceup-worker: only the worker itself starts a task: task prepare|device|seal|audit|read "
                         "DIRECTORY HOST\n");
        return 2;
    }
    struct task_context context = { .directory = argv[2], .host = text_of (argv[3]) };
    int rc = carry_out ((enum task_kind) kind, &context, &arena, &err);
    if (rc < 0)
        fprintf (stderr, "sliceup-worker: task %s failed: %s\n", argv[1], err.text);
    arena_release (&arena);
    return rc < 0 ? 3 : 0;
}
