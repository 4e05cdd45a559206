#include "worker/environment/installed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/digest.h"
#include "common/base/duration.h"
#include "common/base/err.h"
#include "common/base/path.h"
#include "common/io/atomic_file.h"
#include "common/io/clock.h"
#include "common/io/fd.h"
#include "worker/environment/restore_state.h"
#include "worker/process/self.h"

/* ---- build lock ---- */

/* Lets one process at a time build in a folder: an flock on a file beside it that names the holder.
 *
 * The lock is the kernel's and ends with the last descriptor of it, so a crash leaves none behind; the file stays. Only
 * sliceup's own programs respect it. One thread a lock. */
enum { HOLDER_BYTES = 160, HOLDER_COLUMNS = 80, FIRST_WAIT_MS = 10, LONGEST_WAIT_MS = 500 };
enum { LOCK_LIMIT_MS = 2 * 60 * 60 * 1000, PHASE_BYTES = HOLDER_BYTES + 40 };

static void read_holder (int fd, char holder[HOLDER_BYTES])
{
    char raw[HOLDER_BYTES];
    ssize_t len = pread (fd, raw, sizeof raw, 0);
    LOCAL_BUF shown = { .max = HOLDER_BYTES - 1 };
    buf_escaped (&shown, (struct text){ raw, len > 0 ? (uint32_t) len : 0 }, HOLDER_COLUMNS);
    snprintf (holder, HOLDER_BYTES, "%s", shown.len ? buf_c (&shown) : "an unnamed process");
}

static int write_holder (int fd, struct err *err)
{
    char host[65] = "unknown", holder[HOLDER_BYTES];
    if (gethostname (host, sizeof host - 1))
        snprintf (host, sizeof host, "unknown");
    /* A parent that is not seen is outside our pid namespace, where we have another number (pid_namespaces(7)). */
    int len = getppid () == 0 ? snprintf (holder, sizeof holder, "a program of a worker on %s", host)
                              : snprintf (holder, sizeof holder, "process %d on %s", (int) getpid (), host);
    if (ftruncate (fd, 0) || pwrite (fd, holder, (size_t) len, 0) != len)
        return err_errno (err, ERR_IO, "cannot write the name of this process into the lock file of the environment");
    return 0;
}

static void pause_ms (uint64_t ms)
{
    struct timespec time = { .tv_sec = (time_t) (ms / 1000), .tv_nsec = (long) (ms % 1000) * 1000000 };
    (void) nanosleep (&time, NULL); /* interrupted: looked at again a little sooner */
}

/* flock has no limit of its own, and a signal to interrupt it would be the whole process's affair: hence ask again. */
static int restore_wait_for (const struct restore *restore, int fd, const char *path, struct err *err)
{
    char holder[HOLDER_BYTES] = "", before[HOLDER_BYTES] = "", phase[PHASE_BYTES];
    uint64_t deadline_ms = clock_boot_ms () + LOCK_LIMIT_MS, wait_ms = FIRST_WAIT_MS;
    while (flock (fd, LOCK_EX | LOCK_NB)) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return err_errno (err, ERR_IO, "cannot lock %.300s", path);
        read_holder (fd, holder);
        snprintf (phase, sizeof phase, "lock (held by %s)", holder);
        if (strcmp (holder, before))
            protocol_writer_phase (restore->writer, phase);
        memcpy (before, holder, sizeof before);
        if (clock_boot_ms () >= deadline_ms)
            return err_set (err, ERR_LIMIT, "%.250s is still held by %.120s after %s", path, holder,
                            DURATION_TEXT (LOCK_LIMIT_MS));
        pause_ms (wait_ms);
        wait_ms = wait_ms * 2 < LONGEST_WAIT_MS ? wait_ms * 2 : LONGEST_WAIT_MS;
    }
    return 0;
}

/* The locked descriptor, close-on-exec; it is for the caller to close. -1: not within LOCK_LIMIT_MS (ERR_LIMIT, names the
 * holder), or not possible. `path` is made when it is not there. Whoever holds it is told as a phase. */
static int lock_take (const struct restore *restore, const char *path, struct err *err)
{
    int fd = open (path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0)
        return err_errno (err, ERR_IO, "cannot open the lock %.300s", path);
    if (restore_wait_for (restore, fd, path, err) || write_holder (fd, err)) {
        close (fd);
        return -1;
    }
    return fd;
}

/* ---- restore ---- */

enum { MARKER_BYTES_MAX = 256, DIFFERENCES_BYTES_MAX = 1600 };
enum { EXIT_AS_PINNED = 0, EXIT_NOT_AS_PINNED = 1, EXIT_WRONG_USAGE = 2 };

typedef int step_fn (struct restore *restore, enum owner *owner, struct err *err);

/* ---- read: the pins and the place ---- */

static int check_pins_digest (struct restore *restore, struct err *err)
{
    struct digest wanted;
    restore->pins_digest = digest_of (restore->pins_bytes.ptr, restore->pins_bytes.len);
    if (!restore->pins_sha256)
        return 0;
    if (!digest_parse (text_of (restore->pins_sha256), &wanted))
        return err_set (err, ERR_PARSE, "the rung's args.pins_sha256 is not 64 hexadecimal digits");
    if (!digest_equal (&wanted, &restore->pins_digest))
        return err_set (err, ERR_DAMAGE, "the pins %.300s changed since the run started (another sha256)",
                        restore->pins_path);
    return 0;
}

static int step_read (struct restore *restore, enum owner *owner, struct err *err)
{
    struct utsname host;
    *owner = OWNER_BUNDLE;
    buf_init (&restore->pins_bytes, REQUIREMENTS_BYTES_MAX);
    if (file_read (restore->pins_path, &restore->pins_bytes, err) || check_pins_digest (restore, err) ||
        requirements_parse (buf_as_text (&restore->pins_bytes), restore->pins_path, &restore->arena, &restore->pins,
                            err))
        return -1;
    *owner = OWNER_HOST;
    if (environment_ask_version (restore->python, restore->version, err) ||
        environment_path_of_version (text_of (restore->env_dir), restore->version, restore->path, sizeof restore->path,
                                     err) ||
        uname (&host) < 0 || requirements_keep_for (&restore->pins, restore->version, host.machine, err) ||
        environment_site (restore->path, restore->version, restore->site, sizeof restore->site, err))
        return -1;
    snprintf (restore->marker, sizeof restore->marker, "%s/" ENVIRONMENT_COMPLETE, restore->path);
    return 0;
}

/* ---- setup ---- */

/* Nothing keeps workers of one machine apart here: hosts that share the environment's disk would wait for each other. */
static int step_setup (struct restore *restore, enum owner *owner, struct err *err)
{
    struct text told = { 0 };
    if (!restore->setup || restore->only_check)
        return 0;
    int rc = setup_script_run (restore->setup, restore->setup_sha256, &restore->arena, &told, owner, err);
    if (told.len)
        protocol_writer_note (restore->writer, told, "setup", DURABILITY_RERUN);
    return rc;
}

/* ---- lock ---- */

static int step_lock (struct restore *restore, enum owner *owner, struct err *err)
{
    char path[PATH_MAX_BYTES + 8], parent[PATH_MAX];
    *owner = OWNER_HOST;
    if (restore->only_check) /* nothing is made, so nothing is kept from others */
        return 0;
    snprintf (path, sizeof path, "%s.lock", restore->path);
    /* A complete environment on a disk that this host can only read: there is nothing to keep others from. */
    if (access (restore->marker, F_OK) == 0 && access (restore->path, W_OK) && (errno == EROFS || errno == EACCES))
        return 0;
    if (folder_make (path_folder_c (restore->path, parent), 0755, err))
        return -1;
    restore->lock = lock_take (restore, path, err);
    return restore->lock < 0 ? -1 : 0;
}

/* ---- check: is there one that says it is complete? ---- */

static int read_installed (struct restore *restore, struct err *err)
{
    char python[PATH_MAX_BYTES + 32];
    snprintf (python, sizeof python, "%s/bin/python", restore->path);
    if (environment_ask_version (python, restore->version, err))
        return err_prefix (err, "cannot ask the environment's own interpreter for its version");
    return installed_read (restore->site, &restore->arena, &restore->installed, err);
}

/* Which packages differ says more than that two digests do. */
static int refuse_other_pins (struct restore *restore, struct text claimed, struct err *err)
{
    struct err why;
    char hex[DIGEST_HEX_BYTES];
    LOCAL_BUF differences = { .max = 200 };
    if (read_installed (restore, &why))
        buf_printf (&differences, "%.150s", why.text);
    else if (installed_compare (&restore->installed, &restore->pins, &differences) == 0)
        buf_puts (&differences, "the installed versions are the same");
    err_set (err, ERR_STATE,
             "%.160s was built from other pins (sha256 %.12s, expected %.12s): %.200s; remove it, and the next run "
             "builds it again",
             restore->path, text_is_utf8 (claimed) && claimed.len >= 12 ? claimed.ptr : "?",
             digest_hex (&restore->pins_digest, hex), buf_c (&differences));
    return -1;
}

static int check_marker (struct restore *restore, struct err *err)
{
    struct digest claimed;
    int rc = -1;
    LOCAL_BUF bytes = { .max = MARKER_BYTES_MAX };
    if (file_read (restore->marker, &bytes, err) == 0) {
        struct text text = buf_as_text (&bytes);
        text.len -= text.len && text.ptr[text.len - 1] == '\n';
        if (!digest_parse (text, &claimed))
            err_set (err, ERR_DAMAGE,
                     "%.300s does not hold a sha256; remove the environment, and the next run builds it again",
                     restore->marker);
        else
            rc = digest_equal (&claimed, &restore->pins_digest) ? 0 : refuse_other_pins (restore, text, err);
    }
    return rc;
}

static int step_check (struct restore *restore, enum owner *owner, struct err *err)
{
    struct stat st;
    *owner = OWNER_BUNDLE;
    if (lstat (restore->marker, &st) == 0) {
        fd_close (restore->lock); /* nobody builds what is complete: others may look at it at the same time */
        restore->lock = -1;
        return check_marker (restore, err);
    }
    if ((errno == ENOENT || errno == ENOTDIR) && restore->only_check)
        return err_set (
            err, ERR_STATE,
            "there is no complete environment at %.300s, and a check builds none; build it with sliceup env restore",
            restore->path);
    if (errno == ENOENT || errno == ENOTDIR) {
        restore->built = true;
        return 0;
    }
    *owner = OWNER_HOST;
    return err_errno (err, ERR_IO, "cannot inspect %.300s", restore->marker);
}

/* ---- build, verify, complete ---- */

static int step_build (struct restore *restore, enum owner *owner, struct err *err)
{
    struct build_request build = { .path = restore->path,
                                   .python = restore->python,
                                   .pins = buf_as_text (&restore->pins_bytes),
                                   .wheels = restore->wheels,
                                   .lock_fd = restore->lock };
    *owner = OWNER_HOST;
    if (!restore->built)
        return 0;
    return build_remove_unfinished (&build, err) ? -1 : build_run (&build, owner, err);
}

static int refuse_differences (struct restore *restore, struct buf *differences, struct err *err)
{
    restore->differences = text_copy (&restore->arena, buf_as_text (differences));
    return err_set (err, ERR_DAMAGE, "%s", buf_c (differences));
}

/* What was installed, version for version. */
static int verify_versions (struct restore *restore, struct err *err)
{
    int rc = 0;
    if (read_installed (restore, err))
        return err_prefix (err, "%.200s", restore->path);
    LOCAL_BUF differences = { .max = DIFFERENCES_BYTES_MAX };
    if (installed_compare (&restore->installed, &restore->pins, &differences))
        rc = refuse_differences (restore, &differences, err);
    return rc;
}

/* And byte for byte, unless no file changed since. */
static int verify_files (struct restore *restore, struct err *err)
{
    LOCAL_BUF differences = { .max = DIFFERENCES_BYTES_MAX };
    struct text seen = verified_look (restore->path, restore->built, &restore->arena);
    restore->files_read = !restore->only_check &&
                          verified_recall (restore->path, seen, &restore->arena, &restore->files);
    if (restore->files_read)
        return 0;
    int rc = installed_files_check (restore->site, &restore->installed, &restore->arena, &restore->files, &differences,
                                    err);
    restore->files_read = rc == 0;
    if (rc == 0 && restore->files.differences) {
        rc = refuse_differences (restore, &differences, err);
        restore->wrong_files = restore->differences;
    }
    if (rc == 0)
        verified_keep (restore->path, seen, &restore->files, &restore->arena);
    return rc;
}

static int step_verify (struct restore *restore, enum owner *owner, struct err *err)
{
    *owner = OWNER_BUNDLE;
    return verify_versions (restore, err) ? -1 : verify_files (restore, err);
}

/* The marker promises that the packages are there, so they reach the disk before it does. */
static int step_complete (struct restore *restore, enum owner *owner, struct err *err)
{
    char line[DIGEST_HEX_BYTES + 1];
    *owner = OWNER_HOST;
    if (!restore->built)
        return 0;
    int fd = open (restore->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || syncfs (fd)) {
        err_errno (err, ERR_IO, "cannot sync %.300s to disk", restore->path);
        fd_close (fd);
        return -1;
    }
    close (fd);
    digest_hex (&restore->pins_digest, line);
    line[DIGEST_HEX_BYTES - 1] = '\n';
    return atomic_file_write (restore->marker, line, DIGEST_HEX_BYTES, 0644, err);
}

/* Those that came with this run are of no further use; a folder that somebody named by hand is theirs. */
static int step_clear (struct restore *restore, enum owner *owner, struct err *err)
{
    *owner = OWNER_HOST;
    if (!restore->built || !restore->wheels || protocol_writer_by_hand (restore->writer))
        return 0;
    return folder_remove (restore->wheels, err);
}

/* What is done, in the order that makes it safe. */
static const struct step {
    const char *phase;
    step_fn *run;
} steps[] = {
    { "read", step_read },   /* pins that are not the ones that were checked touch nothing */
    { "setup", step_setup }, /* the host is made ready before anything is built or used on it */
    { "lock", step_lock },   /* from here on nobody else builds */
    { "check", step_check },       { "build", step_build },
    { "verify", step_verify }, /* what was built is believed no more than what was found */
    { "complete", step_complete }, { "clear", step_clear },
};
enum { STEPS = sizeof steps / sizeof *steps };

/* ---- the order ---- */

static int usage (FILE *to)
{
    fputs (
        "usage: sliceup-worker restore --pins FILE --env-dir DIR [--python PYTHON] [--wheels DIR] [--check]\n"
        "Builds the Python environment DIR-py<version> from the pins in FILE, unless it is complete, and verifies it.\n"
        "With --wheels it takes the wheels in DIR and asks no package index; with --check it builds nothing.\n"
        "Exit status: 0 it is as pinned; 1 it is not, or could not be built; 2 usage.\n",
        to);
    return EXIT_WRONG_USAGE;
}

/* -1: there is an order; otherwise the exit status. */
static int request_from_words (struct restore *restore, int argc, char **argv)
{
    bool help = false;
    const struct word_option known[] = {
        { "--pins", .value = &restore->pins_path }, { "--env-dir", .value = &restore->env_dir },
        { "--python", .value = &restore->python },  { "--wheels", .value = &restore->wheels },
        { "--check", .set = &restore->only_check }, { "--help", .set = &help },
    };
    struct err err = { 0 };
    restore->python = "python3";
    if (word_options_read (argc, argv, known, sizeof known / sizeof *known, &err) < 0)
        fprintf (stderr, "sliceup-worker restore: %s\n", err.text);
    else if (help)
        return usage (stdout), EXIT_AS_PINNED;
    return !err.text[0] && restore->pins_path && restore->env_dir ? -1 : usage (stderr);
}

static int request_from_attempt (struct restore *restore, enum owner *owner, struct err *err)
{
    *owner = OWNER_SLICEUP;
    restore->pins_path = protocol_writer_arg (restore->writer, "pins");
    restore->pins_sha256 = protocol_writer_arg (restore->writer, "pins_sha256");
    restore->env_dir = protocol_writer_arg (restore->writer, "env_dir");
    restore->python = protocol_writer_arg (restore->writer, "python");
    restore->wheels = protocol_writer_arg (restore->writer, "wheels");
    restore->setup = protocol_writer_arg (restore->writer, "setup");
    restore->setup_sha256 = protocol_writer_arg (restore->writer, "setup_sha256");
    restore->only_check = protocol_writer_arg_is_false (restore->writer, "build");
    if (!restore->pins_path || !restore->pins_sha256 || !restore->env_dir || !restore->python)
        return err_set (err, ERR_PARSE, "the rung's args lack pins, pins_sha256, env_dir or python");
    if (restore->setup && (!restore->setup_sha256 || restore->setup[0] != '/'))
        return err_set (err, ERR_PARSE, "the rung's args.setup is not an absolute path with its setup_sha256");
    if (restore->pins_path[0] != '/' || (restore->wheels && restore->wheels[0] != '/'))
        return err_set (err, ERR_PARSE, "the rung's args.%s is not an absolute path",
                        restore->pins_path[0] == '/' ? "wheels" : "pins");
    return 0;
}

static int run_steps (struct restore *restore, enum owner *owner, struct err *err)
{
    if (!protocol_writer_by_hand (restore->writer) && request_from_attempt (restore, owner, err))
        return -1;
    for (int i = 0; i < STEPS; i++) {
        protocol_writer_phase (restore->writer, steps[i].phase);
        if (steps[i].run (restore, owner, err))
            return -1;
    }
    return 0;
}

/* Where it is, too: the coordinator says what to do. */
static struct text restore_sentence_of (struct restore *restore, const struct err *err)
{
    if (!restore->differences.len)
        return text_of (err->text);
    return text_format (&restore->arena, "%.*s; in %.300s", TEXT_ARG (restore->differences), restore->path);
}

static int run (struct restore *restore)
{
    struct err err = { 0 };
    enum owner owner = OWNER_UNKNOWN;
    int failed = run_steps (restore, &owner, &err);
    struct text sentence = restore_sentence_of (restore, &err);
    if (failed) {
        restore_report_contents (restore);
        protocol_writer_failure (restore->writer, owner, sentence);
    } else
        restore_report_success (restore);
    if (failed)
        fprintf (stderr, "sliceup-worker restore: %.*s\n", TEXT_ARG (sentence));
    if (protocol_writer_close (restore->writer, &err) && !failed)
        failed = fprintf (stderr, "sliceup-worker restore: %s\n", err.text);
    return failed ? EXIT_NOT_AS_PINNED : EXIT_AS_PINNED;
}

int restore_main (int argc, char **argv)
{
    struct err err;
    LOCAL_MEM struct restore *restore = mem_alloc (sizeof *restore);
    int rc = getenv ("SLICEUP_FD") ? -1 : request_from_words (restore, argc, argv);
    restore->lock = -1;
    if (rc < 0) {
        restore->writer = protocol_writer_open (&err);
        if (!restore->writer)
            fprintf (stderr, "sliceup-worker restore: %s\n", err.text);
        rc = restore->writer ? run (restore) : EXIT_NOT_AS_PINNED;
    }
    fd_close (restore->lock);
    if (restore->pins_bytes.max)
        buf_release (&restore->pins_bytes);
    arena_release (&restore->arena);
    return rc;
}
