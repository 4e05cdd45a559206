#include "worker/run/join.h"

#include "common/io/atomic_file.h"
#include "common/io/clock.h"
#include "common/io/fd.h"
#include "common/io/program_start.h"
#include "common/io/safe_path.h"
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- the line ---- */

static int join_take_text (const json_t *line, const char *member, char *out, size_t out_bytes, struct err *err)
{
    const json_t *value = json_object_get (line, member);
    struct text text = { json_string_value (value), (uint32_t) json_string_length (value) };
    if (!json_is_string (value) || !text.len || !text_to_c (text, out, out_bytes))
        return err_set (err, ERR_PARSE, "launch line: %s: expected a string of 1 to %zu bytes", member, out_bytes - 1);
    return 0;
}

static int join_take_port (const json_t *line, const char *member, uint16_t *port, struct err *err)
{
    const json_t *value = json_object_get (line, member);
    json_int_t number = json_integer_value (value);
    if (!json_is_integer (value) || number < 1 || number > UINT16_MAX)
        return err_set (err, ERR_PARSE, "launch line: %s: expected a port, 1 to 65535", member);
    *port = (uint16_t) number;
    return 0;
}

/* Missing: false. */
static int take_flag (const json_t *line, const char *member, bool *flag, struct err *err)
{
    const json_t *value = json_object_get (line, member);
    if (value && !json_is_boolean (value))
        return err_set (err, ERR_PARSE, "launch line: %s: expected true or false", member);
    *flag = json_is_true (value);
    return 0;
}

static int hex_value (char digit)
{
    const char *digits = "0123456789abcdef";
    const char *at = digit ? strchr (digits, digit) : NULL;
    return at ? (int) (at - digits) : -1;
}

static int parse_run (struct join_config *join, struct err *err)
{
    for (uint32_t i = 0; i < RUN_ID_BYTES; i++) {
        int high = hex_value (join->run_hex[2 * i]), low = high < 0 ? -1 : hex_value (join->run_hex[2 * i + 1]);
        if (low < 0)
            return err_set (err, ERR_PARSE, "launch line: run: expected %d hexadecimal digits", 2 * RUN_ID_BYTES);
        join->run_id[i] = (uint8_t) (16 * high + low);
    }
    return 0;
}

/* Missing: 0. */
static int take_try (struct join_config *join, const json_t *line, struct err *err)
{
    json_int_t ms = json_integer_value (json_object_get (line, "try_ms"));
    if (ms < 0 || ms > JOIN_WAIT_MS)
        return err_set (err, ERR_PARSE, "launch line: try_ms: expected 0 to %d", JOIN_WAIT_MS);
    join->try_ms = (uint32_t) ms;
    return 0;
}

/* An earlier coordinator does not tell it. */
static int take_slice (struct join_config *join, const json_t *line, struct err *err)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    if (!json_object_get (line, "slice"))
        return 0;
    if (join_take_text (line, "slice", join->slice, sizeof join->slice, err) < 0)
        return -1;
    return strspn (join->slice, letters) == strlen (join->slice)
               ? 0
               : err_set (err, ERR_PARSE, "launch line: slice: expected a name of letters, digits, '.', '_' and '-'");
}

static int take_places (struct join_config *join, const json_t *line, struct err *err)
{
    if (join_take_text (line, "host", join->host, sizeof join->host, err) < 0)
        return -1;
    if (!host_name_valid (text_of (join->host)))
        return err_set (err, ERR_PARSE, "launch line: host: expected a host name");
    if (take_slice (join, line, err) < 0)
        return -1;
    if (join_take_text (line, "address", join->address, sizeof join->address, err) < 0)
        return -1;
    if (join_take_text (line, "directory", join->directory, sizeof join->directory, err) < 0)
        return -1;
    if (join->directory[0] != '/')
        return err_set (err, ERR_PARSE, "launch line: directory: expected an absolute path");
    if (take_flag (line, "tied", &join->tied, err) < 0 || take_try (join, line, err) < 0)
        return -1;
    if (join_take_port (line, "control_port", &join->control_port, err) < 0)
        return -1;
    return join_take_port (line, "bulk_port", &join->bulk_port, err);
}

static int join_take_line (struct join_config *join, const json_t *line, struct err *err)
{
    if (json_integer_value (json_object_get (line, "protocol")) != 1)
        return err_set (err, ERR_REFUSED, "launch line: protocol: expected 1, the only one that this worker speaks");
    if (join_take_text (line, "run", join->run_hex, sizeof join->run_hex, err) < 0 || parse_run (join, err) < 0)
        return -1;
    if (join_take_text (line, "key", join->hub_key, sizeof join->hub_key, err) < 0)
        return -1;
    if (strlen (join->hub_key) != LINK_KEY_BYTES - 1)
        return err_set (err, ERR_PARSE, "launch line: key: expected %d characters", LINK_KEY_BYTES - 1);
    return take_places (join, line, err);
}

int join_parse (struct join_config *join, struct text line, struct err *err)
{
    json_error_t why;
    struct join_config parsed = { 0 };
    json_auto_t *json = json_loadb (line.len ? line.ptr : "", line.len, JSON_REJECT_DUPLICATES, &why);
    int rc = json_is_object (json) ? join_take_line (&parsed, json, err)
                                   : err_set (err, ERR_PARSE, "launch line: expected a JSON object");
    if (rc == 0)
        *join = parsed;
    return rc;
}

/* ---- the exchange ---- */

/* Reads one line of at most `out_bytes - 1` bytes, byte by byte, to leave what follows. */
static int join_read_line (int fd, char *out, size_t out_bytes, const char *what, struct err *err)
{
    uint64_t until_ms = clock_boot_ms () + JOIN_WAIT_MS;
    for (size_t len = 0; len < out_bytes - 1; len++) {
        uint64_t now_ms = clock_boot_ms ();
        struct pollfd entry = { .fd = fd, .events = POLLIN };
        int ready = now_ms < until_ms ? poll (&entry, 1, (int) (until_ms - now_ms)) : 0;
        if (ready == 0)
            return err_set (err, ERR_STATE, "%s did not arrive on standard input within %d s", what,
                            JOIN_WAIT_MS / 1000);
        ssize_t got = ready < 0 ? -1 : read (fd, out + len, 1);
        if (got < 0 && errno != EINTR)
            return err_errno (err, ERR_IO, "cannot read %s", what);
        if (got == 0)
            return err_set (err, ERR_STATE, "standard input ended before %s", what);
        if (got == 1 && out[len] == '\n') {
            out[len] = 0;
            return 0;
        }
        len -= got < 0; /* interrupted */
    }
    return err_set (err, ERR_LIMIT, "%s is longer than %zu bytes", what, out_bytes - 2);
}

/* Takes `line`. */
static bool join_tell (int fd, json_t *line)
{
    LOCAL_MEM char *text = json_dumps (line, JSON_COMPACT);
    json_decref (line);
    return text && dprintf (fd, "%s\n", text) > 0;
}

static int join_answer (const struct join_config *join, int fd, const char *version, struct err *err)
{
    json_t *line = json_pack ("{s:i, s:s, s:I, s:I, s:s}", "sliceup-worker", 1, "key", join->keys.public_key, "pid",
                              (json_int_t) join->pid, "pid_start", (json_int_t) join->pid_start, "version", version);
    return join_tell (fd, line) ? 0 : err_errno (err, ERR_IO, "cannot write the answer to the launch line");
}

int join_fill_process (struct join_config *join, struct err *err)
{
    join->pid = (uint64_t) getpid ();
    if (!proc_start_time ("/proc/self/stat", &join->pid_start))
        return err_set (err, ERR_PARSE, "/proc/self/stat does not say when this process began");
    return proc_boot_id (join->boot_id, err);
}

static bool reaches (const struct join_config *join, uint16_t *port, struct err *why)
{
    *port = join->control_port;
    if (!tcp_try (join->address, *port, join->try_ms, why))
        return false;
    *port = join->bulk_port;
    return tcp_try (join->address, *port, join->try_ms, why);
}

/* Its launcher may know another way. True: it was told that there is need. */
static bool tell_cut_off (const struct join_config *join, int fd)
{
    struct err why;
    uint16_t port;
    if (!join->try_ms || reaches (join, &port, &why))
        return false;
    json_t *to = strchr (join->address, ':') ? json_sprintf ("[%s]:%u", join->address, port)
                                             : json_sprintf ("%s:%u", join->address, port);
    return join_tell (fd, json_pack ("{s:i, s:o, s:s}", "sliceup-worker", 1, "unreachable", to, "why", why.text));
}

int join_exchange_launch_line (struct join_config *join, int in_fd, int out_fd, const char *version, struct err *err)
{
    char line[JOIN_LINE_MAX_BYTES], go[4];
    do {
        if (join_read_line (in_fd, line, sizeof line, "the launch line", err) < 0 ||
            join_parse (join, text_of (line), err) < 0)
            return -1;
    } while (tell_cut_off (join, out_fd)); /* the launcher gives another line, or up */
    if (join_fill_process (join, err) < 0)
        return -1;
    link_keys_make (&join->keys);
    if (join_answer (join, out_fd, version, err) < 0 || join_read_line (in_fd, go, sizeof go, "GO", err) < 0)
        return -1;
    return strcmp (go, "GO") == 0 ? 0 : err_set (err, ERR_REFUSED, "expected GO on standard input");
}

/* ---- its place ---- */

/* Checks the directory alone, not its parents: a pod's volume may be writable for all, but only the pod sees it. */
static int check_place (const char *directory, struct err *err)
{
    const struct safe_path_rule rule = { .what = "worker's directory", .instead = "name another one", .own = true };
    struct stat st;
    if (stat (".", &st) < 0)
        return err_errno (err, ERR_IO, "cannot inspect %s", directory);
    return safe_path_check_end (directory, &st, &rule, err);
}

int join_enter_directory (const char *directory, struct err *err)
{
    if (folder_make (directory, 0700, err) < 0)
        return -1;
    if (chdir (directory) < 0)
        return err_errno (err, ERR_IO, "cannot enter %s", directory);
    return check_place (directory, err);
}

struct spoke *join_open_spoke (const struct join_config *join, uint32_t bulk_bytes_max, struct err *err)
{
    const struct spoke_options options = { .address = join->address,
                                           .control_port = join->control_port,
                                           .bulk_port = join->bulk_port,
                                           .hub_public_key = join->hub_key,
                                           .keys = &join->keys,
                                           .control_bytes_max = MSG_MAX_BYTES,
                                           .bulk_bytes_max = bulk_bytes_max };
    return spoke_open (&options, err);
}

void join_show_in_ps (const struct join_config *join)
{
    char title[sizeof join->host + sizeof join->slice + 64];
    snprintf (title, sizeof title, "sliceup-worker: run %.8s host %s%s%s%s", join->run_hex, join->host,
              join->slice[0] ? " (slice " : "", join->slice, join->slice[0] ? ")" : "");
    process_title_set (title);
}

/* ---- one worker a directory ---- */

/* Uses fcntl's lock, not an open file description's, because it shows the holder's pid, and no child inherits it. It
 * would end with the first close of the file in this process; the one descriptor stays open. */

enum { ASK_AGAIN_MS = 20 };

/* 0: nobody. */
static pid_t holder (int fd)
{
    struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    if (fcntl (fd, F_GETLK, &whole) != 0 || whole.l_type == F_UNLCK)
        return 0;
    return whole.l_pid;
}

/* Reads the pid again once a pidfd holds the process, so it cannot be another's. */
static void tell_to_go (int fd, pid_t pid, int signal_number)
{
    LOCAL_FD pidfd = (int) syscall (SYS_pidfd_open, pid, 0);
    if (pidfd < 0)
        return; /* gone meanwhile */
    if (holder (fd) == pid)
        (void) syscall (SYS_pidfd_send_signal, pidfd, signal_number, NULL, 0); /* gone meanwhile: just as well */
}

static int wait_for_instance_lock (int fd, const char *path, struct err *err)
{
    struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    uint64_t began_ms = clock_boot_ms ();
    pid_t asked = 0;
    while (fcntl (fd, F_SETLK, &whole) != 0) {
        if (errno != EACCES && errno != EAGAIN && errno != EINTR)
            return err_errno (err, ERR_IO, "cannot lock %s", path);
        uint64_t waited_ms = clock_boot_ms () - began_ms;
        pid_t pid = holder (fd);
        if (waited_ms >= INSTANCE_LOCK_WAIT_MS)
            return err_set (
                err, ERR_STATE,
                "%s is locked by the worker with pid %d, which did not end when asked: end that process, then resume",
                path, (int) pid);
        if (pid > 0 && waited_ms >= INSTANCE_LOCK_POLITE_MS)
            tell_to_go (fd, pid, SIGKILL);
        else if (pid > 0 && pid != asked)
            tell_to_go (fd, pid, SIGTERM);
        asked = pid;
        (void) poll (NULL, 0, ASK_AGAIN_MS);
    }
    return 0;
}

int instance_lock_take_over (const char *directory, struct err *err)
{
    char path[PATH_MAX];
    if (snprintf (path, sizeof path, "%s/worker.lock", directory) >= (int) sizeof path)
        return err_set (err, ERR_LIMIT, "the path %s is too long", directory);
    int fd = plain_file_open (path, O_RDWR | O_CREAT, err);
    if (fd < 0)
        return -1;
    if (wait_for_instance_lock (fd, path, err) == 0)
        return 0;
    close (fd);
    return -1;
}
