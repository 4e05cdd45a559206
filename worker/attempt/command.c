#include "worker/attempt/command.h"

#include "common/base/path.h"
#include "common/cache/storage.h"
#include "common/frontend/frontend.h"
#include "worker/attempt/protected_paths.h"
#include "worker/environment/kit.h"
#include "worker/process/self.h"
#include "worker/process/spawn.h"
#include <assert.h>
#include <jansson.h>
#include <signal.h>

/* The constant path at which every program finds its cache, whatever the generation. */
static struct text cache_path (const struct command_context *context, struct arena *arena)
{
    return text_format (arena, "%.*s/cache/generation", TEXT_ARG (context->directory));
}

/* ---- where its files are ---- */

static struct text command_path_of (const struct msg_run *run, const struct command_context *context, uint32_t file,
                                    struct arena *arena)
{
    struct kit_list files;
    kit_list_of (run, &files);
    return file < files.n ? kit_file_path (context->kit, &files.items[file], arena) : (struct text){ 0 };
}

/* The program of a canary; the pins of a restore. */
static struct text first_path (const struct msg_run *run, const struct command_context *context, struct arena *arena)
{
    return command_path_of (run, context, 0, arena);
}

static const struct kit_file *find_file (const struct msg_run *run, struct text name)
{
    return LIST_FIND (run->rung.files, struct kit_file, name, name);
}

/* A kit has the helper at its top; without a kit it is where the plan found it, mostly above the canary. */
static void set_python (struct environ_list *list, const struct msg_run *run, const struct command_context *context)
{
    const struct kit_file *helper = find_file (run, TEXT_LIT (KIT_HELPER));
    if (context->kit.len) {
        environ_set (list, TEXT_LIT ("PYTHONPATH"), context->kit);
    } else if (helper) {
        environ_set (list, TEXT_LIT ("PYTHONPATH"), path_folder (helper->file.path));
    }
}

/* ---- of a command: docs/guide/your-own-step.md ---- */

/* Our module precedes the profile's paths, because it is of this version. */
static void set_command_files (struct environ_list *list, const struct msg_run *run,
                               const struct command_context *context)
{
    const struct kit_file *helper = find_file (run, TEXT_LIT (KIT_COMMAND_HELPERS "/sliceup_program.py"));
    struct text known = environ_get (list, "PYTHONPATH");
    if (helper) {
        struct text folder = path_folder (kit_file_path (context->helpers, helper, list->arena));
        if (known.len)
            folder = text_format (list->arena, "%.*s:%.*s", TEXT_ARG (folder), TEXT_ARG (known));
        environ_set (list, TEXT_LIT ("PYTHONPATH"), folder);
    }
    if (run->rung.folder.len) {
        environ_set (list, TEXT_LIT ("SLICEUP_FILES_DIR"),
                     text_format (list->arena, "%.*s/" COMMAND_FOLDER, TEXT_ARG (context->scratch)));
    } else if (run->rung.files.n && &run->rung.files.items[0] != helper) {
        const struct kit_file *first = &run->rung.files.items[0];
        struct text path = kit_file_path (context->kit, first, list->arena);
        path.len -= first->name.len + 1;
        environ_set (list, TEXT_LIT ("SLICEUP_FILES_DIR"), path);
    }
}

/* Sets the variables of an activated environment. */
static void set_virtual_environment (struct environ_list *list, struct text python)
{
    struct text tail = TEXT_LIT ("/bin/python");
    if (python.len <= tail.len)
        return;
    struct text folder = text_copy (list->arena, (struct text){ python.ptr, python.len - tail.len });
    environ_set (list, TEXT_LIT ("VIRTUAL_ENV"), folder);
    environ_set (list, TEXT_LIT ("PATH"),
                 text_format (list->arena, "%.*s/bin:%.*s", TEXT_ARG (folder), TEXT_ARG (environ_get (list, "PATH"))));
}

static void set_number (struct environ_list *list, const char *name, uint32_t number)
{
    environ_set (list, text_of (name), text_format (list->arena, "%u", number));
}

static void set_command (struct environ_list *list, const struct msg_run *run, const struct command_context *context)
{
    bool slice = run->rung.scope == SCOPE_SLICE;
    environ_set (list, TEXT_LIT ("SLICEUP_HOST"), context->host);
    set_number (list, "SLICEUP_RANK", slice ? run->rank : 0);
    set_number (list, "SLICEUP_WORLD", slice ? run->world : 1);
    environ_set (list, TEXT_LIT ("SLICEUP_RUNG"), run->rung.id);
    set_number (list, "SLICEUP_ATTEMPT", run->key.attempt);
    environ_set (list, TEXT_LIT ("SLICEUP_ADDRESSES"), slice ? run->addresses : run->address);
    environ_set (list, TEXT_LIT ("SLICEUP_OUTPUT_DIR"),
                 text_format (list->arena, "%.*s/" COMMAND_OUTPUT, TEXT_ARG (context->scratch)));
    if (run->cache.role != CACHE_ROLE_NONE)
        environ_set (list, TEXT_LIT ("SLICEUP_CACHE_DIR"), cache_path (context, list->arena));
    set_virtual_environment (list, context->python);
    set_command_files (list, run, context);
}

/* ---- environment ---- */

static int set_launch_policy (struct environ_list *list, const struct msg_run *run,
                              const struct command_context *context, struct err *err)
{
    environ_inherit (list, &run->profile.inherit);
    if (environ_set_all (list, &run->profile.env, err) < 0)
        return err_prefix (err, "profile %.*s", TEXT_ARG (run->profile.name));
    const struct frontend *frontend = frontend_find (run->profile.frontend);
    if (!frontend)
        return 0;
    var_list vars = { 0 };
    frontend_base_env (frontend, list->arena, &vars);
    frontend_cache_env (frontend, run->cache.role, cache_path (context, list->arena), list->arena, &vars);
    return environ_set_all (list, &vars, err);
}

/* The probe loads the runtime, so it gets the launch policy as canaries do. */
static int set_environment (struct environ_list *list, const struct msg_run *run, const struct command_context *context,
                            struct err *err)
{
    environ_set (list, TEXT_LIT ("PYTHONFAULTHANDLER"), TEXT_LIT ("1")); /* a crash in native code prints its frames */
    if (run->rung.kind == PROGRAM_BUILTIN) /* programs of other runs must not change files that pip unpacks */
        environ_set (list, TEXT_LIT ("TMPDIR"), context->scratch);
    if (run->rung.kind == PROGRAM_BUILTIN && !rung_is_builtin (&run->rung, "probe"))
        environ_add_pip_vars (list); /* ours, and its pip must reach the index */
    else if (set_launch_policy (list, run, context, err) < 0)
        return -1;
    else
        environ_set (list, TEXT_LIT ("HOME"), context->scratch);
    if (rung_is_builtin (&run->rung, "facts")) {
        environ_add_runtime_vars (list);
        environ_inherit (list, &run->profile.inherit);
    }
    environ_set (list, TEXT_LIT ("PYTHONUNBUFFERED"), TEXT_LIT ("1")); /* the last output must not stay in a buffer */
    counters_set_report_path (run, context->scratch, list);
    if (run->rung.kind == PROGRAM_CANARY)
        set_python (list, run, context);
    if (run->rung.kind == PROGRAM_COMMAND)
        set_command (list, run, context);
    environ_set (list, TEXT_LIT ("SLICEUP_FD"), text_format (list->arena, "%d", SPAWN_CHANNEL_FD));
    return 0;
}

/* Also checks inherited variables, which `check` cannot know. */
static text_list find_warnings (const struct environ_list *list, const struct msg_run *run)
{
    text_list warnings = { .items = arena_array (list->arena, list->vars.n, sizeof *warnings.items) };
    for (uint32_t i = 0; i < list->vars.n && run->rung.kind != PROGRAM_BUILTIN; i++) {
        const struct var *var = &list->vars.items[i];
        const char *why = launch_lint_variable (&run->profile, var->name, &var->value, list->arena);
        if (why)
            warnings.items[warnings.n++] = text_format (
                list->arena, "programs %s %.*s; %s",
                text_is_among (var->name, run->profile.inherit.items, run->profile.inherit.n) ? "inherit" : "get",
                TEXT_ARG (var->name), why);
    }
    return warnings;
}

/* ---- argv ---- */

static char **words (struct arena *arena, const struct text *items, uint32_t n)
{
    char **argv = arena_array (arena, n + 1, sizeof *argv);
    for (uint32_t i = 0; i < n; i++)
        argv[i] = (char *) text_copy (arena, items[i]).ptr;
    return argv;
}

static int make_builtin (const struct msg_run *run, struct arena *arena, struct command *out)
{
    const struct text argv[] = { TEXT_LIT ("sliceup-worker"), run->rung.builtin };
    struct self_exec start = self_make_exec (words (arena, argv, 2), arena);
    out->program = start.program;
    out->argv = start.argv;
    out->is_self = true;
    return 0;
}

static int make_canary (const struct msg_run *run, const struct command_context *context,
                        const struct environ_list *list, struct command *out, struct err *err)
{
    struct text python = context->python, path;
    if (run->rung.needs_env && !python.len)
        return err_set (err, ERR_STATE, "the canary needs the Python environment, but none was restored on this host");
    if (!python.len)
        python = run->pins.python.len ? run->pins.python : TEXT_LIT ("python3");
    if (environ_find_program (list, python, &path, err) < 0)
        return -1;
    /* -s: no packages of the user, which are not pinned. -B: writes nothing into the installation; sliceup_canary.py
     * undoes this for users' canaries. */
    const struct text argv[] = { path, TEXT_LIT ("-s"), TEXT_LIT ("-B"), first_path (run, context, list->arena) };
    out->argv = words (list->arena, argv, CANARY_FILE + 1);
    out->program = path.ptr;
    const struct frontend *frontend = frontend_find (run->profile.frontend);
    out->modules = frontend && run->rung.copies ? frontend->modules : NULL;
    return 0;
}

/* The plan has a sent file as "./" and its name in the kit. */
static int put_files (const struct msg_run *run, const struct command_context *context, struct arena *arena,
                      struct text argv[], struct err *err)
{
    for (uint32_t i = 0; i < run->rung.argv.n; i++) {
        argv[i] = run->rung.argv.items[i];
        if (!text_starts (argv[i], "./") || run->rung.folder.len) /* it begins in its folder */
            continue;
        const struct kit_file *file = find_file (run, (struct text){ argv[i].ptr + 2, argv[i].len - 2 });
        if (!file)
            return err_set (err, ERR_PARSE, "the plan lists no file for the word %.*s of the command",
                            TEXT_ARG (argv[i]));
        argv[i] = kit_file_path (context->kit, file, arena);
    }
    return 0;
}

enum { PATH_SHOWN_BYTES = 240 }; /* an error's text is bounded */

/* Where it begins: what is no absolute path is below the rung's folder. */
static struct text directory_of (const struct msg_run *run, const struct command_context *context, struct arena *arena)
{
    struct text workdir = run->rung.workdir;
    if (!run->rung.folder.len || text_starts (workdir, "/"))
        return workdir.len ? text_copy (arena, workdir) : context->scratch;
    return text_format (arena, "%.*s/" COMMAND_FOLDER "/%.*s", TEXT_ARG (context->scratch), TEXT_ARG (workdir));
}

static int make_command (const struct msg_run *run, const struct command_context *context,
                         const struct environ_list *list, struct command *out, struct err *err)
{
    struct text path, argv[ARGV_MAX];
    if (!run->rung.argv.n)
        return err_set (err, ERR_PARSE, "the command of this rung is empty");
    if (put_files (run, context, list->arena, argv, err) < 0)
        return -1;
    if (environ_find_program (list, argv[0], &path, err) < 0) {
        struct text all = environ_get (list, "PATH"), shown = text_clip (all, PATH_SHOWN_BYTES);
        return err_set (err, ERR_CONFIG,
                        "no program %.*s on the PATH of this host; a command runs without a shell: expected a program "
                        "of the host, its absolute path, or ./NAME for a file beside the ladder file; the PATH: %.*s%s",
                        TEXT_ARG (argv[0]), TEXT_ARG (shown), shown.len < all.len ? " and more" : "");
    }
    out->argv = words (list->arena, argv, run->rung.argv.n);
    out->program = path.ptr[0] == '/' ? path.ptr
                                      : text_format (list->arena, "%.*s/%s", TEXT_ARG (out->directory), path.ptr).ptr;
    return 0;
}

/* ---- the attempt line ---- */

static json_t *json_text (struct text text)
{
    return json_stringn (text.len ? text.ptr : "", text.len); /* wire and conf let only valid UTF-8 in */
}

static json_t *json_mesh (const struct msg_run *run)
{
    json_t *mesh = json_array ();
    struct axis alone = { TEXT_LIT ("host"), run->profile.devices_per_host };
    const struct axis *axes = run->rung.scope == SCOPE_SLICE ? run->mesh.items : &alone;
    uint32_t n = run->rung.scope == SCOPE_SLICE ? run->mesh.n : 1;
    for (uint32_t i = 0; i < n; i++)
        json_array_append_new (
            mesh, json_pack ("{s:o, s:I}", "axis", json_text (axes[i].axis), "size", (json_int_t) axes[i].size));
    return mesh;
}

static json_t *json_shapes (const struct profile *profile)
{
    json_t *shapes = json_pack ("{s:b}", "padding", profile->padding);
    for (uint32_t i = 0; i < profile->shapes.n; i++) {
        const struct dimension *dimension = &profile->shapes.items[i];
        json_t *sizes = json_array ();
        for (uint32_t j = 0; j < dimension->sizes.n; j++)
            json_array_append_new (sizes, json_integer (dimension->sizes.items[j]));
        json_object_setn_new (shapes, dimension->name.ptr, dimension->name.len, sizes);
    }
    return shapes;
}

static int add_args (json_t *args, const struct msg_run *run, struct err *err)
{
    for (uint32_t i = 0; i < run->rung.args.n; i++) {
        const struct var *arg = &run->rung.args.items[i];
        json_error_t why;
        json_t *value = json_loadb (arg->value.ptr, arg->value.len, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &why);
        if (!value)
            return err_set (err, ERR_PARSE, "args.%.*s of this rung is not JSON: %s", TEXT_ARG (arg->name), why.text);
        if (json_object_setn_new (args, arg->name.ptr, arg->name.len, value) < 0)
            return err_set (err, ERR_PARSE, "args.%.*s of this rung: the name is not UTF-8", TEXT_ARG (arg->name));
    }
    return 0;
}

static void add_pins (json_t *args, const struct msg_run *run, const struct command_context *context,
                      struct arena *arena)
{
    const struct pins *pins = &run->pins;
    json_object_set_new (args, "pins", json_text (first_path (run, context, arena)));
    json_object_set_new (args, "pins_sha256", json_text (pins->file.sha256));
    json_object_set_new (args, "env_dir", json_text (pins->env_dir));
    json_object_set_new (args, "python", json_text (pins->python));
    if (rung_is_builtin (&run->rung, "restore") && pins->setup.path.len) {
        json_object_set_new (args, "setup", json_text (command_path_of (run, context, 1, arena)));
        json_object_set_new (args, "setup_sha256", json_text (pins->setup.sha256));
    }
    if (wheels_are_needed (run))
        json_object_set_new (args, "wheels", json_text (wheels_folder (context->directory, arena)));
}

/* For `facts`: the variables of this run's programs, folders whose file systems it looks at, and what it cannot measure. */
static void add_profile (json_t *args, const struct msg_run *run, const struct command_context *context)
{
    json_t *vars = json_object ();
    for (uint32_t i = 0; i < run->profile.env.n; i++) {
        const struct var *var = &run->profile.env.items[i];
        json_object_setn_new (vars, var->name.ptr, var->name.len, json_text (var->value));
    }
    json_object_set_new (args, "profile_env", vars);
    vars = json_object ();
    for (uint32_t i = 0; i < run->profile.inherit.n; i++)
        json_object_setn_new (vars, run->profile.inherit.items[i].ptr, run->profile.inherit.items[i].len,
                              json_string (""));
    json_object_set_new (args, "inherited", vars);
    json_object_set_new (args, "start_dir", json_text (context->directory));
    if (run->cache.frontend_root.len)
        json_object_set_new (args, "cache_root", json_text (run->cache.frontend_root));
    if (context->clock_offset.error_ms) {
        json_object_set_new (args, "clock_offset_ms", json_sprintf ("%lld", (long long) context->clock_offset.ms));
        json_object_set_new (args, "clock_error_ms", json_sprintf ("%lld", (long long) context->clock_offset.error_ms));
    }
}

/* For the survey, whose RUN names the whole cache. */
static void command_add_cache (json_t *args, const struct msg_run *run, const struct command_context *context,
                               struct arena *arena)
{
    struct protected_paths paths;
    json_t *protected = json_array ();
    protected_find (run, context, NULL, arena, &paths);
    for (uint32_t i = 0; i < run->cache.protected.n; i++)
        json_array_append_new (protected, json_text (run->cache.protected.items[i]));
    for (uint32_t i = 0; i < paths.n; i++)
        json_array_append_new (protected, json_string (paths.protected[i]));
    json_object_set_new (args, "protected", protected);
    if (run->cache.role == CACHE_ROLE_NONE)
        return;
    json_object_set_new (args, "cache_root", json_text (run->cache.frontend_root));
    json_object_set_new (args, "trust", json_text (owners_print_trust (&run->cache.trust, arena)));
    json_object_set_new (args, "room", json_string (run->cache.role == CACHE_ROLE_READER ? "any" : "needed"));
    json_object_set_new (
        args, "least",
        json_string (enum_name_of (&enforcement_names, run->cache.least ? run->cache.least : ENFORCEMENT_COOPERATIVE)));
}

/* The probe itself ends a hanging plugin and reports the step, before the worker ends both. */
static void add_probe (json_t *args, const struct msg_run *run, const struct command_context *context)
{
    struct text python = context->python, tail = TEXT_LIT ("/bin/python");
    uint64_t limit_ms = run->rung.timeout_ms, margin_ms = limit_ms / 10 > 2000 ? limit_ms / 10 : 2000;
    limit_ms -= margin_ms < limit_ms / 2 ? margin_ms : limit_ms / 2;
    json_object_set_new (args, "limit_ms", json_integer ((json_int_t) limit_ms));
    if (python.len > tail.len)
        json_object_set_new (args, "env_folder", json_text ((struct text){ python.ptr, python.len - tail.len }));
}

static void add_ways (json_t *args, const struct msg_run *run, const struct command_context *context)
{
    json_t *addresses = json_array ();
    for (struct text rest = run->addresses; rest.len;)
        json_array_append_new (addresses, json_text (text_take_until (&rest, ',')));
    json_object_set_new (args, "addresses", addresses);
    json_object_set_new (args, "host", json_text (context->host));
    json_object_set_new (args, "rank", json_integer (run->rank));
    json_object_set_new (args, "run", json_text (context->run_hex));
    if (run->profile.port && !json_object_get (args, "port"))
        json_object_set_new (args, "port", json_integer (run->profile.port));
}

/* Of the realtime signals, since programs have uses of their own for SIGUSR1: checkpoints, requests to be requeued. */
#define STACKS_SIGNAL (SIGRTMAX - 2)

static json_t *json_attempt (const struct msg_run *run, const struct command_context *context, struct arena *arena)
{
    bool slice = run->rung.scope == SCOPE_SLICE;
    json_t *line = json_pack ("{s:s, s:i, s:o, s:o, s:o, s:o, s:s, s:I}", "type", "attempt", "protocol", 1, "nonce",
                              json_text (run->nonce), "run", json_text (context->run_hex), "host",
                              json_text (context->host), "rung", json_text (run->rung.id), "pass",
                              enum_name_of (&pass_names, run->key.pass), "attempt", (json_int_t) run->key.attempt);
    json_auto_t *place_in_group = json_pack (
        "{s:s, s:I, s:I, s:o, s:o}", "scope", slice ? "slice" : "host", "rank", (json_int_t) (slice ? run->rank : 0),
        "world", (json_int_t) (slice ? run->world : 1), "address", json_text (run->address), "mesh", json_mesh (run));
    struct text backend = run->rung.backend.len ? run->rung.backend : run->profile.backend;
    json_auto_t *rest = json_pack ("{s:I, s:o, s:I, s:s, s:i}", "devices_per_host",
                                   (json_int_t) run->profile.devices_per_host, "backend", json_text (backend), "secret",
                                   (json_int_t) run->secret, "warm", enum_name_of (&warm_names, run->rung.warm),
                                   "stacks_signal", STACKS_SIGNAL);
    struct text stacks = text_format (arena, "%.*s/" COMMAND_STACKS, TEXT_ARG (context->scratch));
    json_object_update (line, place_in_group);
    json_object_update (line, rest);
    json_object_set_new (line, "stacks_file", json_text (stacks));
    if (run->rung.hold_ms)
        json_object_set_new (line, "hold_ms", json_integer ((json_int_t) run->rung.hold_ms));
    if (run->profile.shapes.n)
        json_object_set_new (line, "shapes", json_shapes (&run->profile));
    return line;
}

static int make_line (const struct msg_run *run, const struct command_context *context, struct arena *arena,
                      struct text *out, struct err *err)
{
    json_t *line = json_attempt (run, context, arena), *args = json_object ();
    int rc = add_args (args, run, err);
    if (run->rung.kind == PROGRAM_BUILTIN)
        add_pins (args, run, context, arena);
    if (rung_is_builtin (&run->rung, "probe"))
        add_probe (args, run, context);
    if (rung_is_builtin (&run->rung, "ways"))
        add_ways (args, run, context);
    if (rung_is_builtin (&run->rung, "cache"))
        command_add_cache (args, run, context, arena);
    if (rung_is_builtin (&run->rung, "facts"))
        add_profile (args, run, context);
    json_object_set_new (line, "args", args);
    LOCAL_MEM char *text = rc == 0 ? json_dumps (line, JSON_COMPACT) : NULL;
    assert (text || rc < 0);
    if (text)
        *out = text_copy (arena, text_of (text));
    json_decref (line);
    return rc;
}

int command_make (const struct msg_run *run, const struct command_context *context, struct arena *arena,
                  struct command *out, struct err *err)
{
    struct environ_list list;
    *out = (struct command){ 0 };
    environ_begin (&list, arena);
    if (set_environment (&list, run, context, err) < 0)
        return -1;
    out->envp = environ_block (&list);
    out->directory = directory_of (run, context, arena);
    out->warnings = find_warnings (&list, run);
    if (make_line (run, context, arena, &out->line, err) < 0)
        return -1;
    switch (run->rung.kind) {
    case PROGRAM_BUILTIN: return make_builtin (run, arena, out);
    case PROGRAM_CANARY: return make_canary (run, context, &list, out, err);
    case PROGRAM_COMMAND: return make_command (run, context, &list, out, err);
    case PROGRAM_NONE: break;
    }
    return err_set (
        err, ERR_PARSE,
        "this worker does not know the kind of program of this rung: use a worker of the coordinator's version");
}
