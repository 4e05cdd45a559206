/* ssh_answers.c - `ssh -G` for many hosts: some at a time, each bounded in time and in what it says; and a folder as one
 * archive, by git and tar. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/io/clock.h"
#include "common/io/fd.h"
#include "common/io/program_start.h"
#include "coordinator/cli/planning.h"

extern char **environ;

enum { AT_ONCE = 16, LIMIT_MS = 10 * 1000, ANSWER_MAX_BYTES = 256 << 10, REASON_BYTES = 400, WORDS_MAX = 16 };

/* Answer and errors are files in memory: they are there when ssh ends, whoever else writes to them for longer. */
struct asked {
    pid_t pid;
    const char *what; /* for errors */
    size_t max;       /* of its answer */
    int pidfd, answer, errors;
    uint64_t until_ms; /* boot clock */
};

static void asked_close (struct asked *asked)
{
    fd_close (asked->pidfd);
    fd_close (asked->answer);
    fd_close (asked->errors);
}

/* It grows to `max` and no further. */
static int memory_open (size_t max)
{
    int fd = memfd_create ("ssh", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd >= 0 && (ftruncate (fd, (off_t) max) != 0 || fcntl (fd, F_ADD_SEALS, F_SEAL_GROW) != 0)) {
        fd_close (fd);
        fd = -1;
    }
    return fd;
}

/* What was written into it, in `bytes`. */
static struct text memory_read (int fd, char *bytes)
{
    off_t end = lseek (fd, 0, SEEK_CUR); /* its writers share the place */
    ssize_t len = end > 0 ? pread (fd, bytes, (size_t) end, 0) : 0;
    return (struct text){ bytes, len > 0 ? (uint32_t) len : 0 };
}

/* Ends it with all that it started, as the user's own `Match exec` may have. Its status. */
static int ssh_end (struct asked *asked)
{
    int status = 1; /* somebody else waited for it */
    kill (-asked->pid, SIGKILL);
    while (waitpid (asked->pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

/* 0, or an error's number. */
static int ssh_spawn (const char *const words[], struct asked *asked)
{
    const struct program ssh = { .argv = words,
                                 .envp = environ,
                                 .in = -1,
                                 .out = asked->answer,
                                 .error = asked->errors,
                                 .apart = POSIX_SPAWN_SETPGROUP };
    int rc = program_start (&asked->pid, &ssh);
    if (rc != 0 || (asked->pidfd = (int) syscall (SYS_pidfd_open, asked->pid, 0)) >= 0)
        return rc;
    rc = errno;
    (void) ssh_end (asked);
    return rc;
}

static int ssh_begin (const char *what, const char *const words[], size_t max, struct asked *asked, struct err *err)
{
    *asked = (struct asked){
        .what = what, .max = max, .pidfd = -1, .answer = memory_open (max), .errors = memory_open (ANSWER_MAX_BYTES)
    };
    asked->until_ms = clock_boot_ms () + LIMIT_MS;
    errno = asked->answer < 0 || asked->errors < 0 ? errno : ssh_spawn (words, asked);
    if (errno == 0)
        return 0;
    (void) err_errno (err, ERR_IO, "the program %s cannot be started", words[0]);
    asked_close (asked);
    return -1;
}

static int ssh_start (const char *file, const struct ssh_route *route, struct asked *asked, struct err *err)
{
    char name[NAME_MAX_BYTES + 1], user[NAME_MAX_BYTES + 1], port[16];
    const char *words[WORDS_MAX] = { "ssh", "-T", "-G", "-F", file };
    uint32_t n = 5;
    if (text_starts (route->address, "-") || !text_to_c (route->address, name, sizeof name))
        return err_set (err, ERR_CONFIG, "ssh takes no host name that begins with '-': %.*s",
                        TEXT_ARG (route->address));
    if (route->user.len > 0 && snprintf (user, sizeof user, "-l%.*s", TEXT_ARG (route->user)) > 0)
        words[n++] = user;
    if (route->port > 0 && snprintf (port, sizeof port, "-p%u", route->port) > 0)
        words[n++] = port;
    words[n++] = "--";
    words[n++] = name;
    return ssh_begin ("ssh -G", words, ANSWER_MAX_BYTES, asked, err);
}

/* Its lines in one, as far as there is room. */
static struct text reason_of (struct text lines, struct buf *out)
{
    while (lines.len > 0) {
        struct text line = text_trimmed (text_take_until (&lines, '\n'));
        buf_puts (out, out->len > 0 && line.len > 0 ? "; " : "");
        buf_add_text (out, line);
    }
    return text_clip (out->len > 0 ? buf_as_text (out) : TEXT_LIT ("it says no reason"), REASON_BYTES);
}

static int ssh_finish (struct text name, struct asked *asked, char *bytes, struct text *lines, struct err *err)
{
    uint64_t now_ms = clock_boot_ms ();
    struct pollfd process = { .fd = asked->pidfd, .events = POLLIN };
    int rc;
    while ((rc = poll (&process, 1, asked->until_ms > now_ms ? (int) (asked->until_ms - now_ms) : 0)) < 0 &&
           errno == EINTR)
        ;
    int status = ssh_end (asked);
    if (rc <= 0)
        return err_set (err, ERR_LIMIT, "%s %.*s took longer than %d s", asked->what, TEXT_ARG (name), LIMIT_MS / 1000);
    LOCAL_BUF reason = { .max = 2 * ANSWER_MAX_BYTES };
    struct text why = reason_of (memory_read (asked->errors, bytes), &reason);
    rc = status != 0 ? err_set (err, ERR_CONFIG, "%s %.*s: %.*s", asked->what, TEXT_ARG (name), TEXT_ARG (why)) : 0;
    *lines = memory_read (asked->answer, bytes);
    return lines->len == asked->max
               ? err_set (err, ERR_LIMIT, "%s %.*s: more than %zu bytes", asked->what, TEXT_ARG (name), asked->max)
               : rc;
}

/* What git has or does not know, but for what it ignores and what is there no more; else all. Equal folders give equal
 * bytes. Environments of Python do not run elsewhere. */
int planning_pack_folder (const char *folder, struct buf *out, struct err *err)
{
    static const char script[] =
        "to=/dev/null; cd \"$1\" && pack() { tar --exclude=.git --exclude=__pycache__ --exclude=node_modules "
        "--exclude-tag-all=pyvenv.cfg --sort=name --format=gnu --hard-dereference --mtime=@946684800 --owner=0 "
        "--group=0 --numeric-owner -cf $to \"$@\"; }; list() { git ls-files -coz --exclude-standard; }; "
        "all() { if list >/dev/null 2>&1; then list | xargs -0r sh -c 'for f; do [ ! -e \"$f\" ] && [ ! -L \"$f\" ] || "
        "printf \"%s\\0\" \"$f\"; done' sh | LC_ALL=C sort -zu | pack \"$@\" --null -T -; else pack \"$@\" .; fi; }; "
        "up() { d=$PWD; while [ ! -e \"$d/.git\" ]; do [ \"$d\" != / ] || return 1; d=$(dirname \"$d\"); done; }; "
        "ignores() { [ -e \"$d/.gitignore\" ] || find . -name .gitignore | grep -q .; }; "
        "list >/dev/null 2>&1 || ! up || ! ignores || { list >/dev/null; exit 1; }; " /* else that would travel */
        "sizes=$(all -vv 2>/dev/null | tr -s ' ' | cut -d' ' -f3,6- | sort -rn); "
        "bytes=$(echo \"$sizes\" | awk '{ n += $1 } END { printf \"%.0f\", n }'); to=-; " /* KIT_FILE_MAX_BYTES */
        "[ \"$bytes\" -lt 16777216 ] || { echo \"$(echo $bytes | numfmt --to=iec-i)B in all, the largest:\"; "
        "echo \"$sizes\" | head -n 3 | numfmt --to=iec-i --suffix=B; exit 1; } >&2; all";
    struct asked asked;
    struct text bytes;
    LOCAL_MEM char *room = mem_alloc (KIT_FILE_MAX_BYTES);
    int rc = ssh_begin ("packing", (const char *[]){ "sh", "-c", script, "sh", folder, NULL }, KIT_FILE_MAX_BYTES,
                        &asked, err);
    if (rc == 0) {
        rc = ssh_finish (text_of (folder), &asked, room, &bytes, err);
        asked_close (&asked);
    }
    if (rc == 0)
        buf_add_text (out, bytes);
    return rc;
}

int planning_ask_ssh (const char *file, const struct ssh_route *routes, uint32_t n, ssh_answer_fn *take, void *owner,
                      struct err *err)
{
    struct asked asked[AT_ONCE];
    struct text lines;
    LOCAL_MEM char *bytes = mem_alloc (ANSWER_MAX_BYTES);
    uint32_t started = 0, done = 0;
    int rc = 0;
    while (rc == 0 && done < n) {
        for (; rc == 0 && started < n && started - done < AT_ONCE; started += rc == 0)
            rc = ssh_start (file, &routes[started], &asked[started % AT_ONCE], err);
        if (rc != 0)
            break;
        rc = ssh_finish (routes[done].address, &asked[done % AT_ONCE], bytes, &lines, err);
        asked_close (&asked[done % AT_ONCE]);
        if (rc == 0)
            take (owner, done, lines);
        done++;
    }
    for (; done < started; done++) {
        (void) ssh_end (&asked[done % AT_ONCE]);
        asked_close (&asked[done % AT_ONCE]);
    }
    return rc;
}
