#include <string.h>
#include <unistd.h>

#include "common/io/fd.h"
#include "worker/attempt/command.h"
#include "worker/attempt/protected_paths.h"
#include "worker/environment/installed.h"
#include "worker/process/subprocess.h"

enum { ANSWER_BYTES_MAX = 1024 * 1024, SHOWN_COLUMNS = 120 };
#define FIRST_WORD "paths"
#define LAST_WORD "end"

/* Python uses pyvenv.cfg beside the program or one folder above, whatever their names. Reads paths of .pth files, but
 * runs none of their code. Paths are separated by zero bytes, since they may hold all others. */
static const char question[] =
    "import os, site, sys\n"
    "programs = [sys.executable, getattr(sys, '_base_executable', None) or sys.executable, "
    "os.path.realpath(sys.executable)]\n"
    "tops = [os.path.dirname(os.path.dirname(path)) for path in programs]\n"
    "tops += [sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix]\n"
    "found = [*programs, *tops, *sys.path]\n"
    "def lines(path):\n"
    "    try:\n"
    "        with open(path, errors='surrogateescape') as file:\n"
    "            return [line.rstrip('\\n') for line in file]\n"
    "    except OSError:\n"
    "        return []\n"
    "for folder in site.getsitepackages(tops):\n"
    "    found.append(folder)\n"
    "    for name in os.listdir(folder) if os.access(folder, os.R_OK | os.X_OK) else ():\n"
    "        if name.endswith('.pth'):\n"
    "            found += [os.path.join(folder, line.strip()) for line in lines(os.path.join(folder, name))\n"
    "                      if line.strip() and not line.startswith(('#', 'import ', 'import\\t'))]\n"
    "found += [line[line.index('/'):] for line in lines('/proc/self/maps') if '/' in line]\n"
    "said = ['', '" FIRST_WORD "', *dict.fromkeys(found), '" LAST_WORD "', '']\n"
    "sys.stdout.buffer.write(b'\\0'.join(os.fsencode(path) for path in said))\n";

/* ---- one answer ---- */

static bool interpreter_has_room (const text_list *list, struct text path)
{
    size_t bytes = path.len;
    for (uint32_t i = 0; i < list->n; i++)
        bytes += list->items[i].len;
    return list->n < INTERPRETER_PATHS_MAX && bytes <= INTERPRETER_BYTES_MAX;
}

static int interpreter_add (const struct msg_run *run, struct text word, struct arena *arena, text_list *out,
                            struct err *err)
{
    struct text path = text_copy (arena, word);
    if (!path.len || path.ptr[0] != '/' || text_is_among (path, out->items, out->n) ||
        !protected_is_writable (run, path.ptr))
        return 0;
    if (path.len > PATH_MAX_BYTES || !text_is_utf8 (path))
        return err_set (
            err, ERR_LIMIT,
            "it loads from a path that programs may write; that path is longer than %d bytes or is not UTF-8",
            PATH_MAX_BYTES);
    if (!interpreter_has_room (out, path))
        return err_set (err, ERR_LIMIT,
                        "it loads from too many paths that programs may write: expected at most %d paths and %d bytes",
                        INTERPRETER_PATHS_MAX, INTERPRETER_BYTES_MAX);
    out->items[out->n++] = path;
    return 0;
}

static int read_answer (const struct msg_run *run, struct text in, struct arena *arena, text_list *out, struct err *err)
{
    struct text word;
    bool begun = false;
    while (!begun && text_cut (&in, '\0', &word))
        begun = text_is (word, FIRST_WORD);
    while (begun && text_cut (&in, '\0', &word)) {
        if (text_is (word, LAST_WORD))
            return 0;
        if (interpreter_add (run, word, arena, out, err) < 0)
            return -1;
    }
    return err_set (err, ERR_STATE, "the interpreter printed only some of the paths that it loads from");
}

static int refuse_end (const struct buf *answer, int status, struct err *err)
{
    LOCAL_BUF shown = { .max = 400 };
    buf_escaped (&shown, buf_as_text (answer), SHOWN_COLUMNS);
    err_set (err, ERR_STATE,
             "the interpreter did not print its paths, but exited with status %d and printed \"%.200s\"", status,
             buf_c (&shown));
    return -1;
}

static int interpreter_ask (const struct msg_run *run, const char *python, struct arena *arena, text_list *out,
                            struct err *err)
{
    const char *argv[] = { python, "-I", "-S", "-c", question, NULL };
    struct subprocess subprocess = { .argv = argv, .limit_ms = ENVIRONMENT_ASK_MS, .echo_fd = -1, .held_fd = -1 };
    int status, rc;
    LOCAL_BUF answer = { .max = ANSWER_BYTES_MAX };
    rc = subprocess_run (&subprocess, &answer, &status, err);
    if (rc == 0)
        rc = status ? refuse_end (&answer, status, err) : read_answer (run, buf_as_text (&answer), arena, out, err);
    return rc < 0 ? err_prefix (err, "cannot find out what %.200s loads, which programs must not change", python) : 0;
}

/* ---- those of a run ---- */

bool interpreter_must_be_asked (const struct msg_run *run)
{
    return run->cache.frontend_root.len && (run->rung.kind != PROGRAM_BUILTIN || text_is (run->rung.builtin, "cache"));
}

const char *interpreter_find (const struct msg_run *run, struct arena *arena)
{
    struct environ_list list;
    struct text name = run->pins.python.len ? run->pins.python : TEXT_LIT ("python3"), path;
    environ_begin (&list, arena);
    return environ_find_program (&list, name, &path, NULL) == 0 ? text_copy (arena, path).ptr : NULL;
}

const char *interpreter_of_environment (const struct msg_run *run, struct arena *arena)
{
    char path[PATH_MAX];
    if (!run->pins.env_dir.len || environment_path (&run->pins, path, sizeof path, NULL) < 0 ||
        access (text_format (arena, "%s/" ENVIRONMENT_COMPLETE, path).ptr, F_OK) < 0)
        return NULL;
    return text_format (arena, "%s/bin/python", path).ptr;
}

int interpreter_ask_paths (const struct msg_run *run, struct arena *arena, text_list *out, struct err *err)
{
    bool is_started = run->pins.file.sha256.len || run->rung.kind == PROGRAM_CANARY;
    const char *python = interpreter_find (run, arena);
    out->items = arena_array (arena, INTERPRETER_PATHS_MAX, sizeof *out->items);
    out->n = 0;
    if (!python || access (python, X_OK) < 0)
        return 0; /* whoever starts it says so */
    int rc = interpreter_ask (run, python, arena, out, err);
    const char *environment = rc == 0 ? interpreter_of_environment (run, arena) : NULL;
    if (environment)
        rc = interpreter_ask (run, environment, arena, out, err);
    return is_started ? rc : 0;
}

/* ---- the program that the kernel starts for a script, as its first line names it: execve(2) ---- */

enum { LINE_BYTES = 256 }; /* the part that the kernel reads (BINPRM_BUF_SIZE) */

bool script_interpreter (const char *path, char out[PATH_MAX])
{
    char line[LINE_BYTES + 1];
    if (file_read_start (path, line, sizeof line) < 3 || line[0] != '#' || line[1] != '!')
        return false;
    const char *name = line + 2 + strspn (line + 2, " \t");
    size_t len = strcspn (name, " \t\n");
    if (*name != '/')
        return false;
    memcpy (out, name, len);
    out[len] = '\0';
    return true;
}
