#include "worker/builtin/builtin.h"

#include "common/io/clock.h"
#include "common/io/fd.h"
#include "worker/process/exec.h"
#include "worker/process/self.h"
#include "worker/process/subprocess.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined __x86_64__
#define MACHINE "x86_64"
#elif defined __aarch64__
#define MACHINE "aarch64"
#else
#error "define MACHINE as uname -m prints it on this architecture"
#endif

/* close_range came with 5.9, openat2 with 5.6, pidfd_open with 5.3 (their manual pages). */
#define KERNEL_NEEDED "use Linux 5.9 or later (Debian 11, Ubuntu 22.04, RHEL 9 and later releases have it)"
#define WALL_MIN_MS UINT64_C (1735689600000) /* 2025-01-01: no host that runs this code has an earlier date */
enum { PYTHON_MAJOR = 3, PYTHON_MINOR = 9, SHOWN_COLUMNS = 200, LINE_BYTES = 1024 };
enum { EXIT_READY = 0, EXIT_NOT_SAID = 1, EXIT_WRONG_USAGE = 2, EXIT_MISSING = 3 };

static const struct enum_names preflight_state_names = NAMED ("none", "ok", "note", "missing");

/* ---- judging ---- */

/* Makes texts of programs and the command line safe, since a terminal may show them. */
static struct text preflight_shown (struct preflight *preflight, const char *raw)
{
    struct buf escaped = { .max = LINE_BYTES };
    buf_escaped (&escaped, text_of (raw), SHOWN_COLUMNS);
    return buf_finish (&escaped, &preflight->arena);
}

static void preflight_add (struct preflight *preflight, const char *name, enum preflight_state state, struct text found,
                           struct text next)
{
    assert (preflight->n < PREFLIGHT_MAX);
    preflight->checks[preflight->n++] = (struct preflight_check){ name, state, found, next };
}

static void judge_machine (struct preflight *preflight, const struct host_check_results *host)
{
    struct text is = preflight_shown (preflight, host->kernel.machine);
    if (text_is (is, MACHINE))
        preflight_add (preflight, "machine", PREFLIGHT_OK, is, TEXT_LIT (""));
    else
        preflight_add (
            preflight, "machine", PREFLIGHT_MISSING,
            text_format (&preflight->arena, "this worker was built for " MACHINE ", the host is %.*s", TEXT_ARG (is)),
            TEXT_LIT ("build the worker bundle on a machine of the host's type"));
}

static void judge_kernel (struct preflight *preflight, const struct host_check_results *host)
{
    struct text release = preflight_shown (preflight, host->kernel.release);
    for (int i = 0; i < HOST_CALLS_N; i++) {
        int error = host->call_errors[i];
        if (!error)
            continue;
        struct text found = text_format (&preflight->arena, "Linux %.*s: %s does not work (%s)", TEXT_ARG (release),
                                         host_call_names[i], strerror (error));
        preflight_add (
            preflight, "kernel", PREFLIGHT_MISSING, found,
            error == ENOSYS
                ? TEXT_LIT (KERNEL_NEEDED)
                : TEXT_LIT ("allow this call in the container's seccomp profile, or use a newer container runtime"));
        return;
    }
    preflight_add (preflight, "kernel", PREFLIGHT_OK, text_format (&preflight->arena, "Linux %.*s", TEXT_ARG (release)),
                   TEXT_LIT (""));
}

static void judge_proc (struct preflight *preflight, const struct host_check_results *host)
{
    if (host->proc_error)
        preflight_add (preflight, "proc", PREFLIGHT_MISSING,
                       text_format (&preflight->arena, "/proc is not mounted (%s)", strerror (host->proc_error)),
                       TEXT_LIT ("mount -t proc proc /proc"));
    else if (host->children_error)
        preflight_add (preflight, "proc", PREFLIGHT_MISSING, TEXT_LIT ("/proc does not list the children of a process"),
                       TEXT_LIT ("use a kernel with CONFIG_PROC_CHILDREN"));
    else
        preflight_add (preflight, "proc", PREFLIGHT_OK, TEXT_LIT ("/proc is mounted"), TEXT_LIT (""));
}

static void judge_null (struct preflight *preflight, const struct host_check_results *host)
{
    if (host->null_error)
        preflight_add (preflight, "dev-null", PREFLIGHT_MISSING,
                       text_format (&preflight->arena, "/dev/null cannot be opened (%s)", strerror (host->null_error)),
                       TEXT_LIT ("mknod -m 666 /dev/null c 1 3, or mount the host's /dev"));
    else
        preflight_add (preflight, "dev-null", PREFLIGHT_OK, TEXT_LIT ("/dev/null opens"), TEXT_LIT (""));
}

static void judge_containment (struct preflight *preflight, const struct host_check_results *host)
{
    struct text problem = preflight_shown (preflight, host->namespace_problem);
    if (!problem.len)
        preflight_add (preflight, "containment", PREFLIGHT_OK, TEXT_LIT ("programs get a pid namespace"),
                       TEXT_LIT (""));
    else
        preflight_add (
            preflight, "containment", PREFLIGHT_NOTE,
            text_format (&preflight->arena, "no pid namespace for programs: %.*s", TEXT_ARG (problem)),
            TEXT_LIT ("allow user namespaces for this user, or delegate a cgroup to it; without either, processes "
                      "that a program hides may outlive a killed worker"));
}

static void judge_directory (struct preflight *preflight, const struct host_check_results *host)
{
    struct arena *arena = &preflight->arena;
    struct text is = preflight_shown (preflight, host->directory);
    if (host->directory_error)
        preflight_add (
            preflight, "directory", PREFLIGHT_MISSING,
            text_format (arena, "cannot make a file in %.*s (%s)", TEXT_ARG (is), strerror (host->directory_error)),
            TEXT_LIT ("create this directory and make this user its owner, or name another directory"));
    else if (host->directory_noexec)
        preflight_add (preflight, "directory", PREFLIGHT_MISSING,
                       text_format (arena, "%.*s is on a file system mounted noexec", TEXT_ARG (is)),
                       TEXT_LIT ("name a directory from which programs may be executed"));
    else
        preflight_add (
            preflight, "directory", PREFLIGHT_OK,
            text_format (arena, "%.*s, %" PRIu64 " MiB free", TEXT_ARG (is), host->directory_free_bytes >> 20),
            TEXT_LIT (""));
}

static bool is_new_enough (const char *version)
{
    unsigned major = 0, minor = 0;
    return sscanf (version, "%9u.%9u", &major, &minor) == 2 &&
           (major > PYTHON_MAJOR || (major == PYTHON_MAJOR && minor >= PYTHON_MINOR));
}

static void judge_python (struct preflight *preflight, const struct host_check_results *host, bool needed)
{
    struct arena *arena = &preflight->arena;
    enum preflight_state state = needed ? PREFLIGHT_MISSING : PREFLIGHT_NOTE;
    struct text is = preflight_shown (preflight, host->python),
                version = preflight_shown (preflight, host->python_version);
    struct text problem = preflight_shown (preflight, host->python_problem);
    if (!version.len)
        preflight_add (preflight, "python", state,
                       text_format (arena, "%.*s did not report its version: %.*s", TEXT_ARG (is), TEXT_ARG (problem)),
                       TEXT_LIT ("install Python 3.9 or later with venv (Debian: python3-venv); canaries need it"));
    else if (!is_new_enough (version.ptr))
        preflight_add (preflight, "python", state,
                       text_format (arena, "%.*s is Python %.*s, too old", TEXT_ARG (is), TEXT_ARG (version)),
                       TEXT_LIT ("install Python 3.9 or later, or name another interpreter"));
    else if (!host->python_venv)
        preflight_add (
            preflight, "python", state,
            text_format (arena, "%.*s is Python %.*s without venv", TEXT_ARG (is), TEXT_ARG (version)),
            TEXT_LIT ("install the system's python3-venv package; the Python environment cannot be built without it"));
    else
        preflight_add (preflight, "python", PREFLIGHT_OK,
                       text_format (arena, "%.*s is Python %.*s with venv", TEXT_ARG (is), TEXT_ARG (version)),
                       TEXT_LIT (""));
}

/* The worker needs no calendar, but its programs may (certificates of a package index). */
static void judge_clock (struct preflight *preflight, const struct host_check_results *host)
{
    if (host->wall_ms < WALL_MIN_MS)
        preflight_add (
            preflight, "clock", PREFLIGHT_NOTE, TEXT_LIT ("the clock shows a year before 2025"),
            TEXT_LIT ("set the clock (timedatectl set-ntp true); until then certificates count as not yet valid"));
    else
        preflight_add (preflight, "clock", PREFLIGHT_OK, TEXT_LIT ("the clock shows 2025 or later"), TEXT_LIT (""));
}

void preflight_judge (struct preflight *preflight, const struct host_check_results *host, bool python_needed)
{
    *preflight = (struct preflight){ .n = 0 };
    judge_machine (preflight, host);
    judge_kernel (preflight, host);
    judge_proc (preflight, host);
    judge_null (preflight, host);
    if (host->directory)
        judge_directory (preflight, host);
    if (host->namespace_asked)
        judge_containment (preflight, host);
    if (host->python)
        judge_python (preflight, host, python_needed);
    judge_clock (preflight, host);
}

bool preflight_is_ready (const struct preflight *preflight)
{
    for (uint32_t i = 0; i < preflight->n; i++)
        if (preflight->checks[i].state == PREFLIGHT_MISSING)
            return false;
    return true;
}

/* ---- printing ---- */

void preflight_sentence (const struct preflight *preflight, struct buf *out)
{
    uint32_t missing = 0;
    for (uint32_t i = 0; i < preflight->n; i++) {
        const struct preflight_check *check = &preflight->checks[i];
        if (check->state == PREFLIGHT_MISSING && ++missing == 1)
            buf_printf (out, "%.*s: %.*s", TEXT_ARG (check->found), TEXT_ARG (check->next));
    }
    if (missing > 1)
        buf_printf (out, " (and %u more problems: run sliceup-worker preflight)", missing - 1);
}

static void say_lines (const struct preflight *preflight)
{
    for (uint32_t i = 0; i < preflight->n; i++) {
        const struct preflight_check *check = &preflight->checks[i];
        printf ("%-8s %-12s %.*s%s%.*s\n", enum_name_of (&preflight_state_names, check->state), check->name,
                TEXT_ARG (check->found), check->next.len ? "; to do: " : "", TEXT_ARG (check->next));
    }
}

static void say_json (const struct preflight *preflight)
{
    json_t *checks = json_array ();
    for (uint32_t i = 0; i < preflight->n; i++) {
        const struct preflight_check *check = &preflight->checks[i];
        json_array_append_new (checks, json_pack ("{s:s, s:s, s:s%, s:s%}", "check", check->name, "state",
                                                  enum_name_of (&preflight_state_names, check->state), "found",
                                                  check->found.ptr, (size_t) check->found.len, "next", check->next.ptr,
                                                  (size_t) check->next.len));
    }
    json_auto_t *all = json_pack ("{s:s, s:b, s:o}", "schema", "sliceup.preflight/1", "ready",
                                  preflight_is_ready (preflight), "checks", checks);
    json_dumpf (all, stdout, JSON_COMPACT | JSON_ENSURE_ASCII);
    putchar ('\n');
}

/* ---- the command ---- */

struct options {
    const char *directory, *python;
    bool brief, json, help;
};

static const char usage[] =
    "usage: sliceup-worker preflight [--directory DIR] [--python PYTHON] [--json | --brief]\n"
    "Checks whether this host has what a worker needs, and prints what to do where it does not.\n";

static bool preflight_read_options (int argc, char **argv, struct options *options)
{
    const struct word_option known[] = { { "--brief", .set = &options->brief },
                                         { "--json", .set = &options->json },
                                         { "--help", .set = &options->help },
                                         { "--directory", .value = &options->directory },
                                         { "--python", .value = &options->python } };
    return word_options_read (argc, argv, known, sizeof known / sizeof *known, NULL) == 0 &&
           !(options->brief && options->json);
}

/* Every start waits for this, so it skips checks that give only notes. */
int preflight_demand (const char *directory, const char *python, struct err *err)
{
    LOCAL_MEM struct host_check_results *host = mem_alloc (sizeof *host);
    LOCAL_BUF line = { .max = 2 * LINE_BYTES };
    struct preflight preflight;
    host_check_run (host, directory, python);
    preflight_judge (&preflight, host, python != NULL);
    preflight_sentence (&preflight, &line);
    arena_release (&preflight.arena);
    return line.len ? err_set (err, ERR_REFUSED, "%s", buf_c (&line)) : 0;
}

static int look_and_say (const struct options *options)
{
    LOCAL_MEM struct host_check_results *host = mem_alloc (sizeof *host);
    struct preflight preflight;
    struct err err = { 0 };
    if (options->brief) {
        if (preflight_demand (options->directory, options->python, &err) == 0)
            return EXIT_READY;
        return puts (err.text) < 0 || fflush (stdout) != 0 ? EXIT_NOT_SAID : EXIT_MISSING;
    }
    host_check_run (host, options->directory, options->python ? options->python : "python3");
    host_check_pid_namespace (host);
    preflight_judge (&preflight, host, options->python != NULL);
    (options->json ? say_json : say_lines) (&preflight);
    bool ready = preflight_is_ready (&preflight), said = fflush (stdout) == 0 && !ferror (stdout);
    arena_release (&preflight.arena);
    return !said ? EXIT_NOT_SAID : ready ? EXIT_READY : EXIT_MISSING;
}

int preflight_main (int argc, char **argv)
{
    struct options options = { 0 };
    bool understood = preflight_read_options (argc, argv, &options);
    if (!understood || options.help) {
        fputs (usage, understood ? stdout : stderr);
        return understood ? EXIT_READY : EXIT_WRONG_USAGE;
    }
    return look_and_say (&options);
}

/* ---- what is looked at ---- */

enum { PYTHON_LIMIT_MS = 20 * 1000, PYTHON_SAID_BYTES = 4096 };

const char *const host_call_names[HOST_CALLS_N] = { "close_range", "pidfd_open", "openat2" };

/* ---- system calls ---- */

static int error_of (long rc)
{
    return rc < 0 ? errno : 0;
}

static int error_of_open (long fd)
{
    int error = error_of (fd);
    if (fd >= 0)
        close ((int) fd);
    return error;
}

/* Calls each harmlessly: no descriptor is as high as this one, and the others only open. */
static void probe_calls (struct host_check_results *host)
{
    struct open_how how = { .flags = O_PATH | O_CLOEXEC };
    host->call_errors[HOST_CALL_CLOSE_RANGE] = error_of (syscall (SYS_close_range, ~0U, ~0U, 0));
    host->call_errors[HOST_CALL_PIDFD_OPEN] = error_of_open (syscall (SYS_pidfd_open, getpid (), 0));
    host->call_errors[HOST_CALL_OPENAT2] = error_of_open (syscall (SYS_openat2, AT_FDCWD, "/", &how, sizeof how));
}

/* ---- files ---- */

static void probe_files (struct host_check_results *host)
{
    char path[64];
    snprintf (path, sizeof path, "/proc/self/task/%d/children", (int) getpid ());
    host->proc_error = error_of (access ("/proc/self/stat", R_OK));
    host->children_error = error_of (access (path, R_OK));
    host->null_error = error_of_open (open ("/dev/null", O_RDWR | O_CLOEXEC));
}

static void probe_directory (struct host_check_results *host)
{
    char path[PATH_MAX_BYTES + 1];
    struct statvfs disk;
    if (snprintf (path, sizeof path, "%s/.preflight-XXXXXX", host->directory) >= (int) sizeof path) {
        host->directory_error = ENAMETOOLONG;
        return;
    }
    LOCAL_FD fd = mkostemp (path, O_CLOEXEC);
    host->directory_error = error_of (fd);
    if (fd < 0)
        return;
    if (unlink (path) < 0 || fstatvfs (fd, &disk) < 0) {
        host->directory_error = errno;
    } else {
        host->directory_noexec = disk.f_flag & ST_NOEXEC;
        host->directory_free_bytes = (uint64_t) disk.f_bavail * disk.f_frsize;
    }
}

/* ---- Python ---- */

static const char python_question[] = "import sys\n"
                                      "print('version', '.'.join(map(str, sys.version_info[:3])))\n"
                                      "try:\n"
                                      "    import ensurepip, venv\n"
                                      "except ImportError:\n"
                                      "    sys.exit()\n"
                                      "print('venv')\n";

static void read_python (struct host_check_results *host, struct buf *said, int status)
{
    char *line = strstr (buf_c (said), "version "), *end;
    if (status == 0 && line && (end = strchr (line, '\n')) && end - line < WORD_MAX_BYTES) {
        host->python_venv = strcmp (end, "\nvenv\n") == 0;
        snprintf (host->python_version, sizeof host->python_version, "%.*s", (int) (end - line - 8), line + 8);
        return;
    }
    size_t len = said->len;
    while (len && (said->ptr[len - 1] == '\n' || said->ptr[len - 1] == ' '))
        said->ptr[--len] = '\0';
    const char *last = len ? strrchr ((char *) said->ptr, '\n') : NULL; /* of a traceback, the line that says it */
    snprintf (host->python_problem, sizeof host->python_problem, "it exited with status %d%s%.200s", status,
              len ? ": " : "", last ? last + 1 : buf_c (said));
}

static void probe_python (struct host_check_results *host)
{
    const char *argv[] = { host->python, "-I", "-c", python_question, NULL };
    struct subprocess subprocess = { .argv = argv, .limit_ms = PYTHON_LIMIT_MS, .echo_fd = -1, .held_fd = -1 };
    struct err err = { 0 };
    int status = 0;
    LOCAL_BUF said = { .max = PYTHON_SAID_BYTES };
    if (subprocess_run (&subprocess, &said, &status, &err) < 0)
        snprintf (host->python_problem, sizeof host->python_problem, "%s", err.text);
    else
        read_python (host, &said, status);
}

void host_check_run (struct host_check_results *host, const char *directory, const char *python)
{
    *host = (struct host_check_results){ .directory = directory, .python = python, .wall_ms = clock_wall_ms () };
    if (uname (&host->kernel) < 0)
        memset (&host->kernel, 0, sizeof host->kernel);
    probe_calls (host);
    probe_files (host);
    if (directory)
        probe_directory (host);
    if (python)
        probe_python (host);
}

void host_check_pid_namespace (struct host_check_results *host)
{
    struct err err = { 0 };
    struct pid_namespace *pid_namespace = pid_namespace_open (&err);
    host->namespace_asked = true;
    snprintf (host->namespace_problem, sizeof host->namespace_problem, "%s", pid_namespace ? "" : err.text);
    pid_namespace_close (pid_namespace);
}
