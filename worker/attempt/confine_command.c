#include "worker/attempt/attempt_state.h"

#include "worker/process/self.h"
#include <inttypes.h>
#include <string.h>

enum { WORDS_MAX = 64 + 2 * WRITABLE_MAX + 2 * CONFINE_PROTECTED_MAX };

int confine_args_root_of_bundle (struct text bundle, struct arena *arena, struct text *root, struct err *err)
{
    uint32_t len = bundle.len;
    for (int level = 0; level < 2; level++) {
        while (len > 0 && bundle.ptr[len - 1] != '/')
            len--;
        if (len < 2)
            return err_set (err, ERR_REFUSED, "cache path %.*s: expected an absolute path <root>/<frontend>/<bundle>",
                            TEXT_ARG (bundle));
        len--;
    }
    *root = text_copy (arena, (struct text){ bundle.ptr, len });
    return 0;
}

struct words {
    char **items;
    uint32_t n;
    struct arena *arena;
};

static void confine_command_add (struct words *words, const char *name, struct text value)
{
    words->items[words->n++] = (char *) name;
    words->items[words->n++] = (char *) text_copy (words->arena, value).ptr;
}

static void add_rights (struct words *words, const struct msg_run *run, const struct command_context *context,
                        const struct protected_paths *paths, int report_fd)
{
    const struct cache_access *cache = &run->cache;
    confine_command_add (words, "--scratch", context->scratch);
    confine_command_add (words, "--report", text_format (words->arena, "%d", report_fd));
    confine_command_add (words, "--directory", context->directory);
    for (uint32_t i = 0; i < cache->hidden.n; i++)
        confine_command_add (words, "--hidden", cache->hidden.items[i]);
    if (context->trusted[TRUSTED_TICKET])
        confine_command_add (words, "--hidden", text_of (context->trusted[TRUSTED_TICKET]));
    if (cache->role != CACHE_ROLE_NONE)
        confine_command_add (words, "--role", text_of (enum_name_of (&cache_role_names, cache->role)));
    if (cache->role != CACHE_ROLE_NONE)
        confine_command_add (words, "--place", text_format (words->arena, "%.*s/cache", TEXT_ARG (context->directory)));
    if (cache->least != ENFORCEMENT_NONE)
        confine_command_add (words, "--least", text_of (enum_name_of (&enforcement_names, cache->least)));
    if (cache->role == CACHE_ROLE_WRITER && cache->base)
        confine_command_add (
            words, "--base",
            text_format (words->arena, "%.*s/gen-%" PRIu64, TEXT_ARG (cache->frontend_root), cache->base));
    for (uint32_t i = 0; i < cache->writable.n; i++)
        confine_command_add (words, "--writable", cache->writable.items[i]);
    for (uint32_t i = 0; i < cache->protected.n; i++)
        confine_command_add (words, "--protected", cache->protected.items[i]);
    for (uint32_t i = 0; i < paths->n; i++)
        confine_command_add (words, "--protected", text_of (paths->protected[i]));
    if (cache->overlay && cache->role == CACHE_ROLE_READER)
        words->items[words->n++] = (char *) "--overlay";
}

static char **keep_environment (char *const *envp, struct arena *arena)
{
    uint32_t n = 0;
    while (envp[n])
        n++;
    char **out = arena_array (arena, n + 1, sizeof *out);
    for (uint32_t i = 0; i < n; i++) {
        bool loader = strncmp (envp[i], CONFINE_LOADER_PREFIX, strlen (CONFINE_LOADER_PREFIX)) == 0;
        out[i] = loader ? (char *) text_format (arena, CONFINE_KEPT_PREFIX "%s", envp[i]).ptr : envp[i];
    }
    return out;
}

int confine_args_write (const struct msg_run *run, const struct command_context *context,
                        const struct protected_paths *paths, const struct command *command, int report_fd,
                        struct arena *arena, struct command *out, struct err *err)
{
    struct text root = run->cache.frontend_root;
    uint32_t argc = 0;
    if (paths->overflow)
        return err_set (err, ERR_LIMIT,
                        "the sandbox would have to protect more than %d paths of this host from the program",
                        CONFINE_MORE_MAX);
    if (run->cache.role != CACHE_ROLE_NONE &&
        confine_args_root_of_bundle (run->cache.frontend_root, arena, &root, err) < 0)
        return -1;
    while (command->argv[argc])
        argc++;
    struct words words = { .arena = arena, .items = arena_array (arena, WORDS_MAX + argc, sizeof (char *)) };
    confine_command_add (&words, "sliceup-worker", TEXT_LIT ("confine"));
    confine_command_add (&words, "--root", root);
    confine_command_add (&words, "--bundle", run->cache.frontend_root);
    add_rights (&words, run, context, paths, report_fd);
    confine_command_add (&words, "--", text_of (command->program));
    memcpy (words.items + words.n, command->argv, argc * sizeof *command->argv);
    struct self_exec start = self_make_exec (words.items, arena);
    *out = (struct command){ .program = start.program,
                             .argv = start.argv,
                             .is_self = true,
                             .line = command->line,
                             .envp = keep_environment (command->envp, arena) };
    return 0;
}
