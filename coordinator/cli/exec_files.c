/* exec_files.c - files to hosts (copy), and home from them (outputs): a command on each, with tar on both sides. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/digest.h"
#include "common/io/atomic_file.h"
#include "common/io/fd.h"
#include "common/io/program_start.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/exec.h"
#include "coordinator/journal/run_begun.h"
#include "coordinator/monitor/follow.h"
#include "coordinator/story/board.h"

enum { TAR_STANDS_S = 60, TAR_COUNTS_BYTES = 512 };

static bool has_ended (pid_t pid)
{
    siginfo_t info = { 0 };
    return waitid (P_PID, (id_t) pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

/* One that neither reads nor writes for so long waits for a mount, which not even SIGKILL ends, or for a pipe. */
static int tar_wait (pid_t pid, struct err *err)
{
    char path[32], counts[TAR_COUNTS_BYTES], before[TAR_COUNTS_BYTES] = "";
    struct pollfd end = { .fd = pidfd_open (pid, 0), .events = POLLIN }; /* -1: only the time passes */
    int status = 0, stood_s = 0;
    snprintf (path, sizeof path, "/proc/%d/io", pid);
    for (; stood_s < TAR_STANDS_S && poll (&end, 1, 1000) <= 0 && !has_ended (pid); stood_s++)
        if (!file_read_start (path, counts, sizeof counts) || strcmp (counts, before) != 0) {
            memcpy (before, counts, sizeof before);
            stood_s = 0;
        }
    fd_close (end.fd);
    if (stood_s == TAR_STANDS_S && kill (pid, SIGKILL) == 0)
        return err_set (err, ERR_STATE, "tar stood still for %d s: a mount does not answer, or it waits for a pipe",
                        TAR_STANDS_S);
    (void) waitpid (pid, &status, 0);
    return status == 0 ? 0 : err_set (err, ERR_IO, "tar did not succeed; what it said stands before this");
}

/* The system's tar. -1: it failed, and has said why. */
static int tar_run (const char *const words[], int in, int out, struct err *err)
{
    static const char *const plain[] = { "LC_ALL=C", "PATH=/usr/local/bin:/usr/bin:/bin",
                                         NULL }; /* names are written out */
    const struct program tar = {
        .argv = words, .envp = (char *const *) (uintptr_t) plain, .in = in, .out = out, .error = STDERR_FILENO
    };
    pid_t pid;
    errno = program_start (&pid, &tar);
    return errno == 0 ? tar_wait (pid, err) : err_errno (err, ERR_IO, "the program tar cannot be started");
}

static int nameless_file (const char *folder, struct err *err)
{
    char path[PATH_MAX];
    int fd = open (folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR) &&
        snprintf (path, sizeof path, "%s/.sliceup-XXXXXX", folder) < (int) sizeof path &&
        (fd = mkostemp (path, O_CLOEXEC)) >= 0)
        (void) unlink (path); /* as on NFS */
    return fd >= 0 ? fd : err_errno (err, ERR_IO, "cannot make a temporary file in %s", folder);
}

/* ---- copy ---- */

/* $1: the folder, $2: the sha256 of what comes. Beside it first, so that nothing of a broken upload is unpacked. */
static const char unpack_script[] =
    "mkdir -p -- \"$1\" && cd -- \"$1\" && new=$(mktemp \"$PWD/.sliceup-copy-XXXXXX\") || exit 1; "
    "trap 'rm -f \"$new\"' EXIT; trap 'exit 1' HUP INT PIPE TERM; "
    "cat >\"$new\" || { echo \"cannot write into $PWD\" >&2; exit 1; }; got=$(sha256sum <\"$new\") || exit 1; "
    "[ \"${got%% *}\" = \"$2\" ] || { echo \"what arrived has sha256 ${got%% *}, expected $2: copy again\"; exit 1; }; "
    "tar -xof \"$new\"";

/* "-C FOLDER ./NAME" for each, with absolute folders, because tar takes one as relative to the one before. */
static int add_files (const char *const *files, uint32_t n, const char **words, struct arena *arena, struct err *err)
{
    for (uint32_t i = 0; i < n; i++) {
        char *folder = (char *) text_copy (arena, text_of (files[i])).ptr,
             *name = (char *) text_copy (arena, text_of (files[i])).ptr, at[PATH_MAX];
        struct stat found = { .st_mode = S_IFREG };
        if (stat (files[i], &found) == 0 && !S_ISREG (found.st_mode) && !S_ISDIR (found.st_mode))
            return err_set (err, ERR_USAGE, "%s: expected a file or a folder, and no pipe, socket or device", files[i]);
        if (access (files[i], R_OK) < 0 || !realpath (dirname (folder), at))
            return err_errno (err, ERR_USAGE, "%s", files[i]);
        for (uint32_t k = 0; k < i; k++) /* one would replace the other there */
            if (strcmp (words[3 * k + 2] + 2, basename (name)) == 0)
                return err_set (err, ERR_USAGE, "%s: another file of the same name goes to the same folder", files[i]);
        words[3 * i] = "-C";
        words[3 * i + 1] = text_copy (arena, text_of (at)).ptr;
        words[3 * i + 2] = text_format (arena, "./%s", basename (name)).ptr;
    }
    return 0;
}

/* A nameless file with all of them, at its beginning. */
static int pack (const struct cli *cli, const struct cli_arguments *arguments, struct digest *digest, struct err *err)
{
    LOCAL_ARENA arena = { 0 };
    uint32_t n = arguments->operands_n - 1;
    uint64_t bytes;
    const char **words = arena_array (&arena, 4 + 3 * n + 1, sizeof *words);
    const char *const tar[] = { "tar", "-chf", "-", "--format=gnu" };
    memcpy (words, tar, sizeof tar);
    int fd = nameless_file (cli->home, err);
    if (fd >= 0 &&
        (add_files (arguments->operands, n, words + 4, &arena, err) < 0 || tar_run (words, -1, fd, err) < 0 ||
         lseek (fd, 0, SEEK_SET) < 0 || digest_of_fd (fd, digest, &bytes, err) < 0)) {
        fd_close (fd);
        fd = -1;
    }
    return fd;
}

static int copy_run (struct cli *cli, const struct cli_arguments *arguments)
{
    char hex[DIGEST_HEX_BYTES];
    struct digest digest;
    struct err err = { 0 };
    const char *to = arguments->operands[arguments->operands_n - 1];
    if (to[0] != ':' || !to[1] || to[1] == '~')
        err_set (&err, ERR_USAGE,
                 "'%s': expected the folder on the hosts behind the files, such as :/data or :work, which lies in the "
                 "home folder there",
                 to);
    LOCAL_FD fd = err.code ? -1 : pack (cli, arguments, &digest, &err);
    if (fd < 0)
        return cli_fail (cli, &err);
    const char *const words[] = { "/bin/sh", "-c", unpack_script, "sliceup-copy", to + 1, digest_hex (&digest, hex) };
    const struct exec_job job = { .words = words, .words_n = 6, .input_fd = fd };
    return exec_job_run (cli, arguments, &job);
}

static const struct cli_option copy_options[] = { EXEC_HOST_OPTIONS, EXEC_PACE_OPTIONS, { 0 } };

const struct cli_command copy_command = {
    .name = "copy",
    .usage = "(-w HOSTS | --slice FILE) [OPTIONS] FILE... :DIR",
    .task = TASK_RUN,
    .summary = "copy files and folders to many hosts, and compare what arrived",
    .help = "Goes the way of sliceup exec: no slice file, no run, no installation. All files go at once, as one stream "
            "that "
            "is compared by its sha256 on every host before anything of it is unpacked. DIR is made if it is missing; "
            "relative, it lies in the home folder there. Files of the same name are replaced; links are followed here. "
            "Hosts "
            "need tar and sha256sum, and room for twice the size.",
    .examples = "sliceup copy -w 'v6e-[0-3]' train.py data :/tmp/work\n"
                "sliceup copy --slice slice.yaml tokens.bin :/data\n",
    .exit_status =
        "0 all hosts have them; 1 some do not; 2 usage or configuration; 3 a host was not reached; 130 cancelled.",
    .operands = (const struct cli_operand[]){ { "FILE", 1, UINT32_MAX, .kind = KIND_FILE },
                                              { ":DIR", 1, 1, .kind = KIND_TEXT },
                                              { 0 } },
    .options = copy_options,
    .run = copy_run,
};

/* ---- outputs ---- */

/* $1: the folder of the run's workers there. Only regular files; what tar says would stand among its bytes. */
static const char gather_script[] =
    "cd -- \"$1/$SLICEUP_HOST/scratch\" 2>/dev/null || exit 0; "
    "find ./*/output -type f -print0 2>/dev/null | tar -cf - --hard-dereference --null --no-recursion -T - 2>/dev/null";

enum { LISTING_MAX_BYTES = 64 << 20 };          /* ulimit counts in 512 bytes */
#define OUTPUTS_MAX_BYTES ((uint64_t) 16 << 30) /* of one host: no host fills this machine by itself */

struct arriving {
    struct arriving *next;
    struct text host;
    int fd;
    uint64_t bytes;
    int error; /* errno of what could not be written */
    bool good; /* its command ended well */
};
struct outputs {
    struct cli *cli;
    const struct plan *plan;
    const char *folder; /* -o */
    struct arena arena;
    struct arriving *arriving;
    uint64_t files_n;
    uint32_t hosts_n;
    bool broken, stuck; /* stuck: tar stood still, as it would for the next host */
};

static struct arriving *outputs_of (struct outputs *outputs, struct text host)
{
    struct arriving *at = outputs->arriving;
    struct err err;
    while (at && !text_equal (at->host, host))
        at = at->next;
    if (at)
        return at;
    at = arena_array (&outputs->arena, 1, sizeof *at);
    *at = (struct arriving){ .next = outputs->arriving, .host = text_copy (&outputs->arena, host) };
    at->fd = nameless_file (outputs->folder, &err);
    at->error = at->fd < 0 ? errno : 0;
    outputs->arriving = at;
    return at;
}

static void outputs_take (void *owner, struct text host, struct text bytes)
{
    struct arriving *at = outputs_of (owner, host);
    at->bytes += bytes.len;
    if (!at->error && at->bytes > OUTPUTS_MAX_BYTES)
        at->error = EFBIG;
    if (!at->error && fd_write (at->fd, bytes.ptr, bytes.len) < 0)
        at->error = errno;
}

/* How many files; -1: something else is in it, or it cannot be read. A host may send anything, and root could make
 * devices of it. */
static int64_t count_files (int fd, struct err *err)
{
    static const char *const words[] = { "/bin/sh", "-c", "ulimit -f 131072; exec tar -tvf -", NULL };
    LOCAL_BUF lines = { .max = LISTING_MAX_BYTES };
    int64_t n = 0;
    LOCAL_FD list = memfd_create ("outputs", MFD_CLOEXEC);
    if (list < 0 || lseek (fd, 0, SEEK_SET) < 0 || tar_run (words, fd, list, err) < 0 ||
        lseek (list, 0, SEEK_SET) < 0 || fd_read_all (list, &lines) < 0 || lines.overflow)
        n = err->code ? -1 : err_set (err, ERR_LIMIT, "it has too many files to be listed");
    struct text rest = buf_as_text (&lines);
    while (n >= 0 && rest.len) {
        struct text line = text_take_until (&rest, '\n');
        n = text_starts (line, "-") ? n + 1 : err_set (err, ERR_REFUSED, "it holds something that is no file");
    }
    return n;
}

/* "./3.run.1/output/a" becomes "soak.run.1/a". */
static int unpack (struct outputs *outputs, const struct arriving *at, struct err *err)
{
    LOCAL_ARENA arena = { 0 };
    uint32_t rungs_n = outputs->plan->rungs.n;
    const char *into = text_format (&arena, "%s/%.*s", outputs->folder, TEXT_ARG (at->host)).ptr;
    const char **words = arena_array (&arena, rungs_n + 8, sizeof *words), *const tar[] = {
        "tar", "-xf", "-", "--no-same-owner", "--no-same-permissions", "-C", into
    };
    memcpy (words, tar, sizeof tar);
    for (uint32_t i = 0; i < rungs_n; i++)
        words[7 + i] = text_format (&arena, "--transform=s,^\\./%u\\.\\([^/]*\\)/output/,%.*s.\\1/,", i,
                                    TEXT_ARG (outputs->plan->rungs.items[i].id))
                           .ptr;
    return mkdir (into, 0700) < 0 ? err_errno (err, ERR_IO, "cannot make %s, expected that it is not there", into)
           : lseek (at->fd, 0, SEEK_SET) < 0 ? err_errno (err, ERR_IO, "cannot read what arrived")
                                             : tar_run (words, at->fd, -1, err);
}

static void outputs_note_end (void *owner, struct text host, bool good)
{
    outputs_of (owner, host)->good = good;
}

static void outputs_keep (struct outputs *outputs, struct arriving *at)
{
    struct err err = { 0 };
    errno = at->error;
    if (at->error)
        err_errno (&err, ERR_IO, "what it sends cannot be kept in %s", outputs->folder);
    int64_t n = at->good && !at->error && at->bytes && !outputs->stuck ? count_files (at->fd, &err) : 0;
    if (n > 0 && unpack (outputs, at, &err) == 0) {
        outputs->files_n += (uint64_t) n;
        outputs->hosts_n++;
    }
    if (err.code == ERR_STATE && (outputs->stuck = true))
        (void) err_prefix (&err, "%s, where nothing more is unpacked", outputs->folder);
    if (err.code)
        log_print (&outputs->cli->log, "%.*s: %s", TEXT_ARG (at->host), err.text);
    outputs->broken = outputs->broken || err.code;
    fd_close (at->fd);
}

static int outputs_fetch (struct outputs *outputs, const struct run_dir *dir, const struct cli_arguments *arguments)
{
    const struct plan *plan = outputs->plan;
    char here[RUN_PATH_BYTES];
    const char *there =
        plan->launcher == LAUNCHER_LOCAL
            ? run_dir_path (dir, "hosts", here)
            : text_format (&outputs->arena, "%.*s/runs/%s", TEXT_ARG (plan->start.directory), dir->id).ptr;
    const char *const words[] = { "/bin/sh", "-c", gather_script, "sliceup-outputs", there };
    const struct exec_job job = {
        .words = words, .words_n = 5, .plan = plan, .sink = outputs_take, .ended = outputs_note_end, .owner = outputs
    };
    int status = exec_job_run (outputs->cli, arguments, &job);
    for (struct arriving *at = outputs->arriving; at; at = at->next)
        outputs_keep (outputs, at);
    struct buf said = { .max = 8 * PATH_MAX };
    buf_escaped (&said, text_of (outputs->folder), 0);
    buf_printf (&said, ": %" PRIu64 " file%s from %u host%s\n", outputs->files_n, outputs->files_n == 1 ? "" : "s",
                outputs->hosts_n, outputs->hosts_n == 1 ? "" : "s");
    if (status != EXIT_HOLDS && !outputs->files_n)
        buf_clear (&said);
    int written = cli_write_stdout (outputs->cli, &said);
    if (status == EXIT_HOLDS && written != EXIT_HOLDS)
        return written;
    return status == EXIT_HOLDS && outputs->broken ? EXIT_BROKEN : status;
}

enum { OUTPUTS_FOLDER = EXEC_OWN };

static int outputs_run (struct cli *cli, const struct cli_arguments *arguments)
{
    struct outputs outputs = { .cli = cli, .folder = arguments->values[OUTPUTS_FOLDER] };
    struct run_dir dir;
    struct err err = { 0 };
    const char *run = arguments->operands[0];
    if (!outputs.folder)
        err_set (&err, ERR_USAGE, "expected the folder for the files: sliceup outputs %s -o DIR", run ? run : "RUN");
    if (err.code || run_begun_find_checked (&dir, cli->home, run ? run : "last", &err) < 0)
        return cli_fail (cli, &err);
    struct board *board = board_create (BOARD_JUDGED_STATE);
    struct follow *follow = follow_open (&dir, board_take_fact, board);
    outputs.plan = &board->plan;
    int status = follow_read_journal (follow, &err) < 0 || folder_make (outputs.folder, 0700, &err) < 0
                     ? cli_fail (cli, &err)
                     : outputs_fetch (&outputs, &dir, arguments);
    follow_close (follow);
    board_destroy (board);
    arena_release (&outputs.arena);
    return status;
}

static const struct cli_option outputs_options[] = {
    { OUTPUTS_FOLDER, "--output", .also = "-o", .value = "DIR",
      .help = "a folder for them, made if it is missing; of a host that is there already nothing is taken",
      .kind = KIND_FOLDER },
    { OPTION_HOSTS },
    { OPTION_EXCLUDE },
    EXEC_PACE_OPTIONS,
    { 0 },
};

const struct cli_command outputs_command = {
    .name = "outputs",
    .usage = "[RUN] -o DIR [-w HOSTS]",
    .task = TASK_LOOK,
    .summary = "bring home what the programs of a run left in SLICEUP_OUTPUT_DIR",
    .help =
        "Asks the hosts of the run in the way of sliceup exec, and puts their files into DIR/HOST/RUNG.PASS.ATTEMPT/. "
        "Only "
        "files are taken, at most 16 GiB of a host; links and devices stay there. They lie on the hosts as long as the "
        "run's folder does. Without RUN the last one is meant.",
    .examples = "sliceup outputs 3fa9 -o outputs\n"
                "sliceup outputs -o /tmp/profiles -w 'v6e-[0-3]'\n",
    .exit_status =
        "0 all files are here; 1 those of some hosts are not; 2 usage; 3 a host was not reached; 130 cancelled.",
    .operands = (const struct cli_operand[]){ { "RUN", 0, 1, .kind = KIND_RUN }, { 0 } },
    .options = outputs_options,
    .run = outputs_run,
};
