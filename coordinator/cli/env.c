#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/io/atomic_file.h"
#include "common/io/clock.h"
#include "common/io/fd.h"
#include "common/io/program_start.h"
#include "common/model/requirements.h"
#include "coordinator/cli/climb.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/planning.h"
#include "coordinator/journal/run_begun.h"

/* ---- env ls ---- */

/* The environments on this machine, for `sliceup env ls`. */

enum { ENVIRONMENTS_MAX = 4096, OUT_MAX_BYTES = 8 << 20, SMALL_FILE_BYTES = 64 * 1024 };
enum { OF_PYTHON, OF_PINS, OF_STATE, OF_SIZE, OF_USED, OF_PATH, COLUMNS_N };
static const struct line_column columns[COLUMNS_N] = {
    [OF_PYTHON] = { "python", 9 },          [OF_PINS] = { "pins", 26 },
    [OF_STATE] = { "state", 12 },           [OF_SIZE] = { "size", 11 },
    [OF_USED] = { "last used by run", 26 }, [OF_PATH] = { "path", 0 },
};

struct environment {
    const char *path;
    char python[32], sha256[SHA256_HEX_BYTES + 1]; /* of its pins, as it says itself; empty: it is not complete */
    struct text pins;             /* their name, by the run that used it last; empty: no run did, or with others */
    uint64_t bytes, used_wall_ms; /* 0: by no run that is still here */
    char run[RUN_ID_HEX_BYTES];
};

struct listing {
    const struct cli *cli;
    struct arena arena;
    struct environment items[ENVIRONMENTS_MAX];
    uint32_t n;
};

/* ---- one environment ---- */

static bool read_small (const char *folder, const char *name, struct arena *arena, struct text *out)
{
    struct buf bytes = { .max = SMALL_FILE_BYTES };
    bool good = file_read (text_format (arena, "%s/%s", folder, name).ptr, &bytes, NULL) == 0;
    *out = buf_finish (&bytes, arena);
    return good;
}

/* venv writes "version = 3.11.7" into pyvenv.cfg. */
static void read_python (struct environment *environment, struct arena *arena)
{
    struct text cfg;
    uint32_t at, len = 0;
    if (!read_small (environment->path, "pyvenv.cfg", arena, &cfg) || !text_find (cfg, TEXT_LIT ("version = "), &at))
        return;
    struct text rest = { cfg.ptr + at + 10, cfg.len - at - 10 };
    while (len < rest.len && strchr ("0123456789.", rest.ptr[len]))
        len++;
    if (!text_to_c ((struct text){ rest.ptr, len }, environment->python, sizeof environment->python))
        environment->python[0] = '\0';
}

static void read_marker (struct environment *environment, struct arena *arena)
{
    struct text marker;
    struct digest digest;
    if (!read_small (environment->path, ENVIRONMENT_COMPLETE, arena, &marker))
        return;
    marker.len = marker.len < SHA256_HEX_BYTES ? marker.len : SHA256_HEX_BYTES;
    if (!digest_parse (marker, &digest) || !text_to_c (marker, environment->sha256, sizeof environment->sha256))
        environment->sha256[0] = '\0';
}

/* NULL: it is none of ours, or there are too many. */
static struct environment *env_take (struct listing *list, const char *path)
{
    struct text mark = text_format (&list->arena, "%s/" ENVIRONMENT_OURS, path);
    for (uint32_t i = 0; i < list->n; i++)
        if (strcmp (list->items[i].path, path) == 0)
            return &list->items[i];
    if (list->n == ENVIRONMENTS_MAX || access (mark.ptr, F_OK) != 0)
        return NULL;
    struct environment *environment = &list->items[list->n++];
    environment->path = text_copy (&list->arena, text_of (path)).ptr;
    environment->bytes = folder_count_bytes (path);
    read_python (environment, &list->arena);
    read_marker (environment, &list->arena);
    return environment;
}

/* ---- where they are looked for ---- */

struct use {
    const struct plan *plan;
    const char *run;
    uint64_t wall_ms;
}; /* plan NULL: by nobody */

/* Runs come newest first: the first that names an environment used it last. */
static void note_use (struct listing *list, struct environment *environment, const struct use *use)
{
    if (!environment || !use->plan || environment->used_wall_ms)
        return;
    environment->used_wall_ms = use->wall_ms;
    snprintf (environment->run, sizeof environment->run, "%s", use->run);
    if (text_is (use->plan->pins.file.sha256, environment->sha256))
        environment->pins = text_copy (&list->arena, use->plan->pins.name);
}

/* Every folder of `parent` that begins with `name`. */
static void look_in (struct listing *list, const char *parent, const char *name, const struct use *use)
{
    LOCAL_DIR folder = opendir (parent);
    struct dirent *entry;
    while (folder && (entry = readdir (folder)))
        if (entry->d_name[0] != '.' && strncmp (entry->d_name, name, strlen (name)) == 0)
            note_use (list, env_take (list, text_format (&list->arena, "%s/%s", parent, entry->d_name).ptr), use);
}

/* Environments stand beside each other as <env_dir>-py<version>. */
static void look_beside (struct listing *list, struct text env_dir, const struct use *use)
{
    char path[PATH_MAX_BYTES + 8], *slash;
    if (!env_dir.len || !text_to_c (env_dir, path, sizeof path - 4) || !(slash = strrchr (path, '/')))
        return;
    strcat (path, "-py");
    *slash = '\0';
    look_in (list, slash == path ? "/" : path, slash + 1, use);
}

static int look_at_run (void *owner, const struct run_dir *dir, uint64_t created_ms)
{
    struct listing *list = owner;
    LOCAL_ARENA arena = { 0 };
    struct plan plan;
    struct err err = { 0 };
    struct use use = { &plan, dir->id, created_ms };
    if (run_facts_read_plan (dir, &arena, &plan, &err) == 0) { /* one that cannot be read names nothing */
        look_beside (list, plan.pins.env_dir, &use);
        for (uint32_t i = 0; i < plan.hosts.n; i++)
            look_beside (list, plan.hosts.items[i].env_dir, &use);
    }
    return 0;
}

static int env_look (struct listing *list, struct err *err)
{
    static const struct use nobody;
    if (home_folder_check (list->cli->home, "envs", true, err) < 0 ||
        run_dir_each (list->cli->home, look_at_run, list, err) < 0)
        return -1;
    look_in (list, text_format (&list->arena, "%s/envs", list->cli->home).ptr, "", &nobody);
    return 0;
}

/* ---- what is told ---- */

static int print_json (const struct listing *list)
{
    json_t *array = json_array ();
    for (uint32_t i = 0; i < list->n; i++) {
        const struct environment *one = &list->items[i];
        json_t *object = json_pack (
            "{s:o, s:o, s:b, s:o, s:o, s:I, s:o, s:o, s:o}", "path", escaped_json (text_of (one->path)), "python",
            one->python[0] ? json_string (one->python) : json_null (), "complete", one->sha256[0] != '\0', "pins",
            text_or_null_json (one->pins), "pins_sha256", one->sha256[0] ? json_string (one->sha256) : json_null (),
            "bytes", (json_int_t) one->bytes, "last_run", one->run[0] ? json_string (one->run) : json_null (),
            "last_used_wall_ms", number_or_null_json (one->run[0] ? one->used_wall_ms : 0), "last_used",
            time_json (one->run[0] ? one->used_wall_ms : 0));
        json_array_append_new (array, object);
    }
    return cli_print_json (list->cli, "sliceup.environments/1", json_pack ("{s:o}", "environments", array));
}

static struct text used_by (const struct environment *one, uint64_t now_ms, struct arena *arena)
{
    if (!one->run[0])
        return TEXT_LIT ("no run of this home");
    return text_format (arena, "%.8s, %s ago", one->run,
                        DURATION_TEXT (now_ms > one->used_wall_ms ? now_ms - one->used_wall_ms : 0));
}

static void env_add_row (struct listing *list, const struct environment *one, const struct style *style,
                         struct buf *out)
{
    struct line line = line_begin (out, style);
    struct text pins = text_format (&list->arena, "%.*s%s%.8s", TEXT_ARG (one->pins), one->pins.len ? " " : "",
                                    one->sha256);
    line_column (&line, &columns[OF_PYTHON], text_of (one->python[0] ? one->python : "?"));
    line_column (&line, &columns[OF_PINS], one->sha256[0] ? pins : TEXT_LIT ("?"));
    line_paint (&line, one->sha256[0] ? PAINT_GOOD : PAINT_WARN);
    line_column (&line, &columns[OF_STATE], text_of (one->sha256[0] ? "complete" : "incomplete"));
    line_paint (&line, PAINT_NONE);
    line_column (&line, &columns[OF_SIZE], text_of (SIZE_TEXT (one->bytes)));
    line_column (&line, &columns[OF_USED], used_by (one, clock_wall_ms (), &list->arena));
    line_text (&line, text_of (one->path));
    line_end (&line);
}

static int print_text (struct listing *list)
{
    struct style style = cli_detect_style (list->cli);
    struct buf out = { .max = OUT_MAX_BYTES };
    if (list->n == 0)
        buf_puts (&out, "no environments here; build one with: sliceup env restore SLICE.yaml\n");
    else
        line_print_heads (&out, &style, "", columns, COLUMNS_N);
    for (uint32_t i = 0; i < list->n; i++)
        env_add_row (list, &list->items[i], &style, &out);
    return cli_write_stdout (list->cli, &out);
}

static int by_path (const void *a, const void *b)
{
    return strcmp (((const struct environment *) a)->path, ((const struct environment *) b)->path);
}

/* Looks below this home and where its runs had theirs, and prints what it found. Returns the exit status. */
static int env_ls (struct cli *cli, const struct cli_arguments *arguments)
{
    struct err err = { 0 };
    LOCAL_MEM struct listing *list = mem_alloc (sizeof *list);
    list->cli = cli;
    int rc = env_look (list, &err);
    sort_items (list->items, list->n, sizeof list->items[0], by_path);
    int status = rc < 0 ? cli_fail (cli, &err) : arguments->values[CLI_JSON] ? print_json (list) : print_text (list);
    arena_release (&list->arena);
    return status;
}

/* ---- env ---- */

/* The rung of a slice whose ladder has none. */
enum { RESTORE_TIMEOUT_MS = 60 * 60 * 1000 };

static const struct rung *env_find (const struct plan *plan, const char *builtin)
{
    for (uint32_t i = 0; i < plan->rungs.n; i++)
        if (rung_is_builtin (&plan->rungs.items[i], builtin))
            return &plan->rungs.items[i];
    return NULL;
}

static struct rung restoring (const struct plan *plan, bool build, struct arena *arena)
{
    static const struct rung usual = { .id = TEXT_LIT ("environment"),
                                       .kind = PROGRAM_BUILTIN,
                                       .builtin = TEXT_LIT ("restore"),
                                       .scope = SCOPE_HOST,
                                       .timeout_ms = RESTORE_TIMEOUT_MS };
    static const struct var only_look = { TEXT_LIT ("build"), TEXT_LIT ("false") };
    const struct rung *given = env_find (plan, "restore");
    struct rung rung = given ? *given : usual;
    rung.args.n = build ? 0 : 1;
    rung.args.items = build ? NULL : arena_copy (arena, &only_look, sizeof only_look);
    return rung;
}

/* What the slice would do, without what is not about its environment. */
static int reduce (struct plan *plan, bool build, struct arena *arena, struct err *err)
{
    const struct rung *facts = env_find (plan, "facts");
    struct rung *rungs = arena_array (arena, 2, sizeof *rungs);
    uint32_t n = 0;
    if (!plan->pins.file.path.len)
        return err_set (
            err, ERR_CONFIG,
            "slice %.*s has no pin set, so there is no environment to restore: add the key 'pins', or give --pins",
            TEXT_ARG (plan->slice));
    if (facts)
        rungs[n++] = *facts;
    rungs[n++] = restoring (plan, build, arena);
    plan->rungs.items = rungs;
    plan->rungs.n = n;
    plan->ladder = build ? TEXT_LIT ("env-restore") : TEXT_LIT ("env-check");
    plan->cache = (struct cache_plan){ .mode = CACHE_OFF };
    return 0;
}

static int climb_it (struct cli *cli, struct plan *plan, bool build, bool json, struct arena *arena)
{
    struct run_dir dir;
    struct err err = { 0 };
    char heading[256];
    int making_fd = reduce (plan, build, arena, &err) < 0 ? -1 : run_begun_create_run (&dir, cli->home, &err);
    if (making_fd < 0)
        return cli_fail (cli, &err);
    snprintf (heading, sizeof heading,
              "run %.8s: environment %.*s is to be %s on %u host%s (from another terminal: sliceup watch %.8s)", dir.id,
              TEXT_ARG (plan->pins.name), build ? "restored" : "checked", plan->hosts.n, plural (plan->hosts.n),
              dir.id);
    return climb (cli, &dir, plan, making_fd, json ? NULL : heading, json, NULL);
}

/* env restore, and env check. */
static int restore (struct cli *cli, const struct cli_arguments *arguments)
{
    LOCAL_ARENA arena = { 0 };
    struct plan plan = { 0 };
    bool build = strcmp (cli_arguments_command (arguments)->name, "restore") == 0;
    int status = planning_load (cli, arguments, &arena, &plan);
    if (status == EXIT_HOLDS)
        status = climb_it (cli, &plan, build, arguments->values[CLI_JSON], &arena);
    return status;
}

#define STATUS                                                                                                         \
    "0 every environment matches its pins, 1 one does not, 2 usage or configuration, 3 could not run, 130 cancelled."

static const struct cli_option options[] = {
    OPTIONS_OF_PLAN,
    { CLI_WHEELS, "--wheels", .value = "DIR",
      .help = "a folder of this machine with a wheel for every pin: sliceup copies the wheels to the hosts that need "
              "them, and no package index is used",
      .kind = KIND_FOLDER },
    { OPTION_LEAVE_OUT },
    { OPTION_JSON_EVENTS },
    { 0 },
};

static const struct cli_command restore_command = {
    .name = "restore",
    .summary = "on every host of the slice: build a missing environment, verify an existing one",
    .help =
        "This is a run with only the rungs facts and restore: watch, status, logs, receipt and resume work with it.",
    .examples = "sliceup env restore slice.yaml --wheels ~/wheels --plain\n",
    .exit_status = STATUS,
    .operands = (const struct cli_operand[]){ { OPERAND_SLICE }, { 0 } },
    .options = options,
    .run = restore,
};
static const struct cli_command check_command_of_env = {
    .name = "check",
    .summary = "the same without building: a host without the environment fails",
    .help = "This is a run as that of sliceup env restore, and builds nothing.",
    .examples = "sliceup env check slice.yaml --hosts 'v6e[0-3]'\n",
    .exit_status = STATUS,
    .operands = (const struct cli_operand[]){ { OPERAND_SLICE }, { 0 } },
    .options = options,
    .run = restore,
};
/* ---- env lock ---- */

enum { LOCK_PYTHON = CLI_OWN, LOCK_OUTPUT };

/* worker/canaries/lock_pins.py does it, bounded, with the pip of that Python. */
static int env_lock (struct cli *cli, const struct cli_arguments *arguments)
{
    LOCAL_ARENA arena = { 0 };
    struct err err = { 0 };
    const char *const *values = arguments->values;
    const char *words[] = { values[LOCK_PYTHON] ? values[LOCK_PYTHON] : "python3",
                            "-I",
                            text_format (&arena, "%s/worker/canaries/lock_pins.py", cli->share_dir).ptr,
                            arguments->operands[0],
                            values[LOCK_OUTPUT],
                            NULL };
    const struct program program = { .argv = words, .envp = environ, .in = -1, .out = 1, .error = 2 };
    pid_t pid;
    int status = 0;
    (void) umask (cli->umask);
    errno = program_start (&pid, &program);
    if (errno != 0)
        err_errno (&err, ERR_STATE, "cannot start %s", words[0]);
    while (!err.code && waitpid (pid, &status, 0) < 0 && errno == EINTR)
        ;
    return err.code ? cli_fail (cli, &err) : WIFEXITED (status) ? WEXITSTATUS (status) : EXIT_COULD_NOT;
}

static const struct cli_option lock_options[] = {
    { LOCK_OUTPUT, "--output", .also = "-o", .value = "FILE",
      .help = "write a new file; one that exists is not replaced", .kind = KIND_FILE },
    { LOCK_PYTHON, "--python", .value = "PYTHON", .help = "the Python of the hosts, whose pip chooses (python3)" },
    { 0 },
};

static const struct cli_command lock_command = {
    .name = "lock",
    .summary = "write a pin file, with all versions and hashes, of a file of requirements",
    .help = "FILE is what pip install -r takes; pip chooses, and installs nothing.",
    .examples = "sliceup env lock requirements.txt -o locked.txt\n",
    .exit_status = "0 written, 2 usage, 3 pip could not choose, or something has no hash.",
    .operands = (const struct cli_operand[]){ { "FILE", 1, 1, .kind = KIND_FILE }, { 0 } },
    .options = lock_options,
    .run = env_lock,
};

static const struct cli_option ls_options[] = {
    { OPTION_JSON ("one object, sizes in bytes") },
    { 0 },
};

static const struct cli_command ls_command = {
    .name = "ls",
    .summary = "list the environments on this machine: path, pins, Python, completeness, size and last run",
    .help = "Lists those that runs under this home used, and those in envs/ of this home.",
    .examples = "sliceup env ls\n",
    .exit_status = "0 listed, 2 usage, 3 they cannot be read.",
    .options = ls_options,
    .run = env_ls,
};

const struct cli_command env_command = {
    .name = "env",
    .task = TASK_CACHE,
    .summary = "build, verify and list the Python environments of the pins, and write pin files",
    .help = "sliceup builds an environment on each host from a pin set: exact versions with hashes. It verifies the "
            "installed versions, and every file of every package against the sha256 from its package. Guide: "
            "docs/guide/environment.md.",
    .examples = "sliceup env restore slice.yaml --wheels ~/wheels --plain\n"
                "sliceup env check slice.yaml --hosts 'v6e[0-3]'\n"
                "sliceup env lock requirements.txt -o locked.txt\n"
                "sliceup env ls\n",
    .exit_status = STATUS,
    .subcommands = (const struct cli_command *const[]){ &restore_command, &check_command_of_env, &lock_command,
                                                        &ls_command, NULL },
};
