#include "worker/attempt/protected_paths.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/path.h"
#include "worker/attempt/attempt_state.h"
#include "worker/environment/kit.h"
#include "worker/process/self.h"
#include "worker/sandbox/confine_sandbox.h"

struct finding_out {
    const struct msg_run *run;
    struct arena *arena;
    struct protected_paths *out;
};

/* Resolves a path with "..", which confine_args_read refuses. NULL: it leads nowhere. */
static const char *plain (const struct finding_out *find, const char *path)
{
    char real[PATH_MAX];
    size_t len = strlen (path);
    if (!strstr (path, "/../") && !(len >= 3 && strcmp (path + len - 3, "/..") == 0))
        return path;
    return realpath (path, real) ? text_copy (find->arena, text_of (real)).ptr : NULL;
}

static void protected_paths_add (const struct finding_out *find, const char *named)
{
    const char *path = plain (find, named);
    if (!path || path[0] != '/' || !path[1] || path_is_below_any (path, find->out->protected, find->out->n))
        return;
    if (find->out->n == CONFINE_MORE_MAX)
        find->out->overflow = true;
    else
        find->out->protected[find->out->n++] = path;
}

/* Such as /tmp itself: it cannot be closed whole. */
static bool is_for_all (const struct finding_out *find, const char *folder)
{
    return text_is_among (text_of (folder), find->run->cache.writable.items, find->run->cache.writable.n) ||
           strcmp (folder, "/") == 0 || confine_paths_is_usual (folder);
}

/* Adds the path's folder, because a program finds files beside it. */
static void add_with_folder (const struct finding_out *find, struct text path)
{
    struct text above = path_folder (path);
    if (above.len < 2)
        return;
    const char *folder = text_copy (find->arena, above).ptr;
    protected_paths_add (find, is_for_all (find, folder) ? text_copy (find->arena, path).ptr : folder);
}

static bool is_writable (const struct msg_run *run, const char *path)
{
    for (uint32_t i = 0; i < run->cache.writable.n; i++) {
        char folder[PATH_MAX];
        if (text_to_c (run->cache.writable.items[i], folder, sizeof folder) && path_is_below (path, folder))
            return true;
    }
    return confine_paths_below_usual (path);
}

bool protected_is_writable (const struct msg_run *run, const char *path)
{
    char real[PATH_MAX];
    return realpath (path, real) && (is_writable (run, path) || is_writable (run, real));
}

/* Adds what programs of a prefix load, and pyvenv.cfg, which decides what a Python loads (site). */
static void add_parts (const struct finding_out *find, struct text prefix)
{
    static const char *const parts[] = { "lib", "lib64", "pyvenv.cfg" };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        protected_paths_add (find, text_format (find->arena, "%.*s/%s", TEXT_ARG (prefix), parts[i]).ptr);
}

/* For <prefix>/bin adds the prefix, from which its programs load. */
static void add_prefix (const struct finding_out *find, const char *bin)
{
    const char *slash = strrchr (bin, '/');
    if (slash && slash != bin && strcmp (slash, "/bin") == 0)
        add_parts (find, (struct text){ bin, (uint32_t) (slash - bin) });
}

static void add_one_program (const struct finding_out *find, const char *path)
{
    struct stat at;
    const char *slash = strrchr (path, '/');
    if (!slash)
        return;
    if (lstat (path, &at) == 0 && S_ISLNK (at.st_mode))
        protected_paths_add (find, path); /* before its folder, since links in a folder are not on the way to it */
    add_with_folder (find, text_of (path));
    add_prefix (find, text_copy (find->arena, (struct text){ path, (uint32_t) (slash - path) }).ptr);
}

/* Adds its name, and its final target if programs could write that. */
static void add_named_program (const struct finding_out *find, const char *path)
{
    char real[PATH_MAX];
    add_one_program (find, path);
    if (realpath (path, real) && strcmp (real, path) != 0 && is_writable (find->run, real))
        add_one_program (find, text_copy (find->arena, text_of (real)).ptr);
}

/* With what interprets it. */
static void protected_paths_add_program (const struct finding_out *find, const char *path)
{
    char script[PATH_MAX];
    add_named_program (find, path);
    for (int i = 0; i < SCRIPT_DEPTH_MAX && script_interpreter (i ? script : path, script); i++)
        if (protected_is_writable (find->run, script))
            add_named_program (find, text_copy (find->arena, text_of (script)).ptr);
}

/* ---- where code is looked for ---- */

/* Variables that name folders or files whose code is run, and what separates them. Excludes folders that programs fill.
 * `alone`: without the files beside it. */
static const struct search {
    const char *name, *between;
    bool alone;
} searches[] = { { "PATH", ":", false },
                 { "LD_LIBRARY_PATH", ":;", false },
                 { "LD_PRELOAD", ": ", false },
                 { "LD_AUDIT", ":", false },
                 { "GCONV_PATH", ":", false },
                 { "PYTHONPATH", ":", false },
                 { "PYTHONHOME", ":", false },
                 { "PYTHONSTARTUP", "", false },
                 { "PYTHONUSERBASE", "", false },
                 { "PYTHONPYCACHEPREFIX", "", false },
                 { "TPU_LIBRARY_PATH", "", false },
                 { "PJRT_NAMES_AND_LIBRARY_PATHS", ":,", false },
                 { "BASH_ENV", "", true },
                 { "ENV", "", true },
                 { "PERL5LIB", ":", false },
                 { "PERLLIB", ":", false },
                 { "RUBYLIB", ":", false },
                 { "NODE_PATH", ":", false },
                 { "OPENSSL_CONF", "", true },
                 { "OPENSSL_MODULES", "", false },
                 { "OPENSSL_ENGINES", "", false } };
enum { SEARCHES = sizeof searches / sizeof searches[0] };

/* Folders that programs cannot write need no protection, but links may lead there. */
static void add_searched (const struct finding_out *find, const char *path, bool alone)
{
    struct stat at;
    char real[PATH_MAX];
    bool there = path[0] == '/' && stat (path, &at) == 0 && realpath (path, real);
    if (!there || (!is_writable (find->run, path) && !is_writable (find->run, real)))
        return;
    if (S_ISDIR (at.st_mode)) {
        const char *folder = text_copy (find->arena, text_of (real)).ptr;
        protected_paths_add (find, path);
        protected_paths_add (find, folder);
        add_prefix (find, folder);
    } else if (alone) {
        protected_paths_add (find, path);
        protected_paths_add (find, text_copy (find->arena, text_of (real)).ptr);
    } else {
        protected_paths_add_program (find, path);
    }
}

static void add_search (const struct finding_out *find, const struct search *search, struct text value)
{
    const char *at = text_copy (find->arena, value).ptr;
    while (at && *at) {
        size_t len = strcspn (at, search->between);
        add_searched (find, text_copy (find->arena, (struct text){ at, (uint32_t) len }).ptr, search->alone);
        at += len + (at[len] != '\0');
    }
}

static void add_searches (const struct finding_out *find)
{
    const var_list *vars = &find->run->profile.env;
    for (size_t i = 0; i < SEARCHES; i++) {
        const char *own = getenv (searches[i].name);
        add_search (find, &searches[i], text_of (own ? own : ""));
        for (uint32_t k = 0; k < vars->n; k++)
            if (text_is (vars->items[k].name, searches[i].name))
                add_search (find, &searches[i], vars->items[k].value);
    }
}

/* Adds what interpreters load (interpreter.c): the whole folder, because a new pyvenv.cfg would have effect. */
static void add_loaded (const struct finding_out *find, const char *path)
{
    struct stat at;
    char real[PATH_MAX];
    if (stat (path, &at) < 0 || !realpath (path, real))
        return;
    struct text folder = text_copy (find->arena, text_of (real));
    if (!S_ISDIR (at.st_mode)) {
        protected_paths_add_program (find, path);
    } else if (is_for_all (find, real)) {
        add_parts (find, folder);
    } else {
        protected_paths_add (find, path);
        protected_paths_add (find, folder.ptr);
    }
}

/* Adds the interpreter that restores environments, found by its name. */
static void add_python (const struct finding_out *find)
{
    const char *python = interpreter_find (find->run, find->arena);
    if (python)
        protected_paths_add_program (find, python);
}

/* Adds files of the home that control a login shell, ssh and pip. */
static void add_home (const struct finding_out *find)
{
    const char *home = getenv ("HOME");
    if (home && home[0] == '/' && is_writable (find->run, home) && !is_for_all (find, home))
        protected_paths_add (find, home);
}

static void protected_paths_add_files (const struct finding_out *find, const struct command_context *context)
{
    struct kit_list files;
    kit_list_of (find->run, &files);
    for (uint32_t i = 0; i < files.n; i++)
        add_with_folder (find, kit_file_path (context->kit, &files.items[i], find->arena));
}

void protected_find (const struct msg_run *run, const struct command_context *context, const char *program,
                     struct arena *arena, struct protected_paths *out)
{
    const struct finding_out find = { run, arena, out };
    const char *self = self_executable_path (arena);
    *out = (struct protected_paths){ .n = 0 };
    protected_paths_add (&find, text_copy (arena, context->directory).ptr);
    for (uint32_t i = 0; i < sizeof context->trusted / sizeof context->trusted[0]; i++)
        if (context->trusted[i])
            protected_paths_add (&find, context->trusted[i]);
    if (self)
        add_with_folder (&find, text_of (self));
    if (run->pins.env_dir.len)
        add_with_folder (&find, run->pins.env_dir);
    if (context->python.len)
        protected_paths_add_program (&find, text_copy (arena, context->python).ptr);
    add_python (&find);
    for (uint32_t i = 0; i < context->loaded.n; i++)
        add_loaded (&find, text_copy (arena, context->loaded.items[i]).ptr);
    add_searches (&find);
    add_home (&find);
    protected_paths_add (&find, START_DIRECTORY_DEFAULT);
    protected_paths_add (&find, START_DIRECTORY_OF_ROOT);
    if (program)
        protected_paths_add_program (&find, program);
    protected_paths_add_files (&find, context);
}

/* ---- confine command ---- */

enum { WORDS_MAX = 64 + 2 * WRITABLE_MAX + 2 * CONFINE_PROTECTED_MAX };

int confine_args_root_of_bundle (struct text bundle, struct arena *arena, struct text *root, struct err *err)
{
    struct text above = path_folder (path_folder (bundle));
    if (above.len < 2)
        return err_set (err, ERR_REFUSED, "cache path %.*s: expected an absolute path <root>/<frontend>/<bundle>",
                        TEXT_ARG (bundle));
    *root = text_copy (arena, above);
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
                             .directory = command->directory,
                             .envp = keep_environment (command->envp, arena) };
    return 0;
}
