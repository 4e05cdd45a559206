#include "worker/builtin/host_check.h"

#include "common/io/clock.h"
#include "worker/process/pid_namespace.h"
#include "worker/process/subprocess.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

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

/* Each is asked for something harmless: no descriptor is as high as this one, and the others only open. */
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
    int fd = mkostemp (path, O_CLOEXEC);
    host->directory_error = error_of (fd);
    if (fd < 0)
        return;
    if (unlink (path) < 0 || fstatvfs (fd, &disk) < 0) {
        host->directory_error = errno;
    } else {
        host->directory_noexec = disk.f_flag & ST_NOEXEC;
        host->directory_free_bytes = (uint64_t) disk.f_bavail * disk.f_frsize;
    }
    close (fd);
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
    struct buf said;
    int status = 0;
    buf_init (&said, PYTHON_SAID_BYTES);
    if (subprocess_run (&subprocess, &said, &status, &err) < 0)
        snprintf (host->python_problem, sizeof host->python_problem, "%s", err.text);
    else
        read_python (host, &said, status);
    buf_release (&said);
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
