#include "worker/environment/restore_state.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/digest.h"
#include "common/io/atomic_file.h"
#include "common/io/fd.h"
#include "common/model/plan.h"
#include "common/model/requirements.h"
#include "worker/process/subprocess.h"

enum { VENV_LIMIT_MS = 10 * 60 * 1000, PIP_LIMIT_MS = 2 * 60 * 60 * 1000 };
enum { OUTPUT_BYTES_MAX = 256 * 1024, SHOWN_COLUMNS = 240 };

enum { JOINED_BYTES = PATH_MAX_BYTES + 32 }; /* the path of an environment, and a name of ours behind it */

static const char *builder_join (const char *path, const char *name, char out[JOINED_BYTES])
{
    snprintf (out, JOINED_BYTES, "%s%s", path, name);
    return out;
}

/* ---- clearing ---- */

static bool is_empty (const char *path)
{
    LOCAL_DIR folder = opendir (path);
    int names = 0;
    if (!folder)
        return false;
    while (names <= 2 && readdir (folder))
        names++;
    return names <= 2; /* "." and ".." */
}

static bool builder_holds (const char *path, const char *name)
{
    char file[JOINED_BYTES];
    struct stat st;
    return lstat (builder_join (path, name, file), &st) == 0 && S_ISREG (st.st_mode);
}

static int check_ours (const char *path, struct err *err)
{
    struct stat st;
    if (lstat (path, &st))
        return err_errno (err, ERR_IO, "cannot inspect %.300s", path);
    if (S_ISDIR (st.st_mode) && (builder_holds (path, "/" ENVIRONMENT_OURS) || is_empty (path)))
        return 0;
    return err_set (
        err, ERR_STATE,
        "%.300s is not an environment that sliceup started to build; move it away, or choose another env_dir", path);
}

int build_remove_unfinished (const struct build_request *build, struct err *err)
{
    char aside[JOINED_BYTES];
    struct stat st;
    if (folder_remove (builder_join (build->path, ".removing", aside), err))
        return -1;
    if (lstat (build->path, &st) && errno == ENOENT)
        return 0;
    if (check_ours (build->path, err))
        return -1;
    /* In one step, so that a removal that is cut short does not leave a folder that no longer says whose it is. */
    if (rename (build->path, aside))
        return err_errno (err, ERR_IO, "cannot move the unfinished %.300s away", build->path);
    return folder_remove (aside, err);
}

/* ---- building ---- */

/* What pip says, and what it means. The first line that occurs counts: a hash that differs is not a network's fault,
 * and a connection that failed also ends in "No matching distribution". */
struct reading {
    const char *text;
    enum owner owner;
    const char *meaning;
};
static const struct reading readings[] = {
    { "DO NOT MATCH THE HASHES", OWNER_BUNDLE, "a downloaded package does not have the pinned sha256" },
    { "No space left on device", OWNER_HOST, "the disk is full" },
    { "Disk quota exceeded", OWNER_HOST, "the disk quota is used up" },
    { "ensurepip is not available", OWNER_HOST, "this Python has no venv; install the system's python3-venv package" },
    { "No module named venv", OWNER_HOST, "this Python has no venv; install the system's python3-venv package" },
    { "CERTIFICATE_VERIFY_FAILED", OWNER_PLATFORM, "this host does not trust the certificate of the package index" },
    { "ProxyError", OWNER_PLATFORM, "the proxy to the package index does not answer" },
    { "NewConnectionError", OWNER_PLATFORM, "this host cannot reach the package index" },
    { "NameResolutionError", OWNER_PLATFORM, "this host cannot resolve the name of the package index" },
    { "ConnectTimeoutError", OWNER_PLATFORM, "this host cannot reach the package index (timeout)" },
    { "ReadTimeoutError", OWNER_PLATFORM, "the package index stopped answering" },
    { "Max retries exceeded", OWNER_PLATFORM, "this host cannot reach the package index" },
    { "after connection broken by", OWNER_PLATFORM, "the connection to the package index broke" },
    { "No matching distribution found", OWNER_BUNDLE,
      "there is no wheel of a pinned version for this Python and machine" },
    { "Permission denied", OWNER_HOST, "this user has no permission for a file that the build needs" },
};

/* The last line that pip marked as an error, or just the last one. */
static struct text last_words (struct text output)
{
    struct text best = { 0 }, last = { 0 };
    while (output.len) {
        struct text line = text_take_until (&output, '\n');
        if (line.len)
            last = line;
        if (text_starts (line, "ERROR:") || text_starts (line, "Error:"))
            best = line;
    }
    return best.len ? best : last;
}

static int builder_explain (const char *what, struct text output, int status, enum owner *owner, struct err *err)
{
    const char *meaning = "it failed";
    *owner = OWNER_BUNDLE;
    for (size_t i = 0; i < sizeof readings / sizeof *readings; i++)
        if (text_find (output, text_of (readings[i].text), NULL)) {
            *owner = readings[i].owner;
            meaning = readings[i].meaning;
            break;
        }
    LOCAL_BUF words = { .max = 1024 };
    buf_escaped (&words, last_words (output), SHOWN_COLUMNS);
    err_set (err, ERR_STATE, "%s: %s (status %d, \"%.300s\")", what, meaning, status, buf_c (&words));
    return -1;
}

static int builder_run (const struct build_request *build, const char *what, const char *const argv[],
                        uint64_t limit_ms, enum owner *owner, struct err *err)
{
    struct subprocess subprocess = {
        .argv = argv, .limit_ms = limit_ms, .echo_fd = STDERR_FILENO, .held_fd = build->lock_fd
    };
    int status, rc;
    *owner = OWNER_HOST;
    LOCAL_BUF output = { .max = OUTPUT_BYTES_MAX };
    rc = subprocess_run (&subprocess, &output, &status, err);
    if (rc)
        err_prefix (err, "%s", what);
    else if (status)
        rc = builder_explain (what, buf_as_text (&output), status, owner, err);
    return rc;
}

/* With wheels at hand no index is asked, whatever the pin file says: the lines of its options are left out. */
static void add_without_options (struct text pins, struct buf *out)
{
    bool begins = true; /* not the rest of a line that ended in '\\' */
    while (pins.len) {
        struct text line = text_take_until (&pins, '\n');
        uint32_t blanks = 0;
        while (blanks < line.len && (line.ptr[blanks] == ' ' || line.ptr[blanks] == '\t'))
            blanks++;
        bool option = begins && blanks < line.len && line.ptr[blanks] == '-';
        begins = !line.len || line.ptr[line.len - 1] != '\\';
        if (!option)
            buf_add_text (out, line);
        buf_byte (out, '\n');
    }
}

static int builder_begin (const struct build_request *build, const char *copy, struct err *err)
{
    char mark[JOINED_BYTES];
    if (mkdir (build->path, 0755))
        return err_errno (err, ERR_IO, "cannot make %.300s", build->path);
    if (atomic_file_write (builder_join (build->path, "/" ENVIRONMENT_OURS, mark), "", 0, 0644, err))
        return -1;
    /* pip reads this copy: what was verified is what is installed, whatever the file becomes meanwhile. */
    if (!build->wheels)
        return atomic_file_write (copy, build->pins.ptr, build->pins.len, 0644, err);
    LOCAL_BUF kept = { .max = (size_t) build->pins.len + 1 };
    add_without_options (build->pins, &kept);
    return atomic_file_write (copy, kept.ptr, kept.len, 0644, err);
}

int build_run (const struct build_request *build, enum owner *owner, struct err *err)
{
    char copy[JOINED_BYTES], python[JOINED_BYTES];
    /* -I: variables and folders of the caller's Python do not reach into the build. */
    const char *venv[] = { build->python, "-I", "-m", "venv", build->path, NULL };
    const char *pip[] = { builder_join (build->path, "/bin/python", python),
                          "-I",
                          "-m",
                          "pip",
                          "install",
                          "--require-hashes",
                          "--no-deps",
                          "--only-binary",
                          ":all:",
                          "--no-input",
                          "--disable-pip-version-check",
                          "--no-warn-script-location",
                          "--progress-bar",
                          "off",
                          "--retries",
                          "3",
                          "--timeout",
                          "30",
                          "-r",
                          builder_join (build->path, "/" ENVIRONMENT_PINS, copy),
                          build->wheels ? "--no-index" : NULL,
                          "--find-links",
                          build->wheels,
                          NULL };
    *owner = OWNER_HOST;
    if (builder_begin (build, copy, err) || builder_run (build, "python -m venv", venv, VENV_LIMIT_MS, owner, err))
        return -1;
    return builder_run (build, "pip install", pip, PIP_LIMIT_MS, owner, err);
}

/* ---- setup script ---- */

enum { SETUP_LIMIT_MS = 20 * 60 * 1000, SETUP_OUTPUT_BYTES = 16 * 1024, LINES_SHOWN = 3, LINE_COLUMNS = 130 };

static int read_script (const char *path, const char *sha256, struct buf *out, struct err *err)
{
    struct digest wanted;
    if (!digest_parse (text_of (sha256), &wanted))
        return err_set (err, ERR_PARSE, "the rung's args.setup_sha256 is not 64 hexadecimal digits");
    if (file_read (path, out, err))
        return -1;
    struct digest is = digest_of (out->ptr, out->len);
    if (!digest_equal (&is, &wanted))
        return err_set (err, ERR_DAMAGE, "the setup script %.300s changed since the run started (another sha256)",
                        path);
    return 0;
}

/* Only these two are asked to take a script as an argument, by which what was verified is what runs. */
static const char *shell_of (struct text script)
{
    struct text first = text_take_until (&script, '\n');
    return text_starts (first, "#!") && text_find (first, TEXT_LIT ("bash"), NULL) ? "bash" : "sh";
}

/* The last lines, as one: "a | b | c". */
static void add_last_lines (struct text output, struct buf *out)
{
    struct text lines[LINES_SHOWN] = { 0 };
    while (output.len) {
        struct text line = text_take_until (&output, '\n');
        for (size_t i = 1; line.len && i < LINES_SHOWN; i++)
            lines[i - 1] = lines[i];
        if (line.len)
            lines[LINES_SHOWN - 1] = line;
    }
    const char *before = ": ";
    for (size_t i = 0; i < LINES_SHOWN; i++) {
        buf_escaped_after (out, lines[i].len ? before : "", lines[i], LINE_COLUMNS);
        before = lines[i].len ? " | " : before;
    }
}

static int builder_refuse (int status, struct text output, struct err *err)
{
    LOCAL_BUF lines = { .max = LINES_SHOWN * 4 * LINE_COLUMNS };
    add_last_lines (output, &lines);
    err_set (err, ERR_STATE, "the setup script ended with status %d%s", status,
             lines.len ? buf_c (&lines) : ", and printed nothing");
    return -1;
}

static int run_script (const struct buf *script, struct arena *arena, struct text *told, struct err *err)
{
    struct text bytes = buf_as_text (script);
    const char *argv[] = { shell_of (bytes), "-c", text_copy (arena, bytes).ptr, "setup.sh", NULL };
    struct subprocess subprocess = {
        .argv = argv, .limit_ms = SETUP_LIMIT_MS, .echo_fd = STDERR_FILENO, .held_fd = -1
    };
    int status, rc;
    LOCAL_BUF output = { .max = SETUP_OUTPUT_BYTES };
    rc = subprocess_run (&subprocess, &output, &status, err);
    if (rc)
        err_prefix (err, "the setup script");
    else {
        *told = text_format (arena, "ended with status %d", status);
        rc = status ? builder_refuse (status, buf_as_text (&output), err) : 0;
    }
    return rc;
}

int setup_script_run (const char *path, const char *sha256, struct arena *arena, struct text *told, enum owner *owner,
                      struct err *err)
{
    LOCAL_BUF script = { .max = SETUP_MAX_BYTES };
    *owner = OWNER_SLICEUP;
    int rc = read_script (path, sha256, &script, err);
    if (rc == 0) {
        *owner = OWNER_HOST;
        rc = run_script (&script, arena, told, err);
    }
    return rc;
}
