#include "worker/preload/preload.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/io/atomic_file.h"
#include "common/io/fd.h"

/* The bytes of two files: the library of inside.c, and the interpreter's program. */
#define FILE_BYTES(name, path)                                                                                         \
    __asm__(".section .rodata\n" #name ":\n.incbin \"" path "\"\n" #name "_end:\n.byte 0\n.previous");                 \
    extern const char name[], name##_end[]
FILE_BYTES (preload_library, PRELOAD_LIBRARY);
FILE_BYTES (preload_program, PRELOAD_PROGRAM);

enum { KEY_BYTES_MAX = 256 * 1024, WHY_BYTES = 512, FDS_N = 6, INTERPRETERS_MAX = 2 };
enum { IMPORT_MS = 60 * 1000, RESTARTS_MAX = 2 };

struct interpreter {
    struct loop *loop;
    enum preload_state state;
    struct buf key; /* what it was made for; empty: never made */
    int channel_fd, process_fd;
    uint64_t until_ms, wanted_ms;
    bool was_ready;
    uint32_t restarts; /* after it was ready, and failed */
    char why[WHY_BYTES];
};

struct preload {
    const char *directory;
    struct interpreter all[INTERPRETERS_MAX], *wanted;
};

struct preload *preload_make (struct loop *loop, const char *directory)
{
    struct preload *preload = mem_alloc (sizeof *preload);
    preload->directory = directory;
    for (struct interpreter *one = preload->all; one < preload->all + INTERPRETERS_MAX; one++) {
        *one = (struct interpreter){ .loop = loop, .channel_fd = -1, .process_fd = -1 };
        buf_init (&one->key, KEY_BYTES_MAX);
    }
    preload->wanted = preload->all;
    return preload;
}

/* The worker's next wait for children collects it. */
static void interpreter_end (struct interpreter *one)
{
    if (one->channel_fd >= 0)
        loop_forget (one->loop, one->channel_fd);
    if (one->process_fd >= 0)
        (void) syscall (SYS_pidfd_send_signal, one->process_fd, SIGKILL, NULL, 0);
    fd_close (one->channel_fd);
    fd_close (one->process_fd);
    one->channel_fd = one->process_fd = -1;
}

static enum preload_state interpreter_refuse (struct interpreter *one, const char *why)
{
    interpreter_end (one);
    one->was_ready = one->state == PRELOAD_READY;
    snprintf (one->why, sizeof one->why, "%s", why);
    return one->state = PRELOAD_REFUSED;
}

void preload_destroy (struct preload *preload)
{
    if (!preload)
        return;
    for (struct interpreter *one = preload->all; one < preload->all + INTERPRETERS_MAX; one++) {
        interpreter_end (one);
        buf_release (&one->key);
    }
    mem_free (preload);
}

const char *preload_why (const struct preload *preload)
{
    return preload->wanted->why;
}

uint64_t preload_deadline_ms (const struct preload *preload)
{
    return preload->wanted->state == PRELOAD_STARTING ? preload->wanted->until_ms : UINT64_MAX;
}

/* ---- what it is made for ---- */

/* Variables that no import reads: they are set in each copy. XLA reads its flags when it makes a client. */
static bool is_of_attempt (const char *entry)
{
    static const char *const names[] = { "HOME=", "TMPDIR=", "PYTHONPATH=", "XLA_FLAGS=", "SLICEUP_", NULL };
    for (const char *const *name = names; *name; name++)
        if (strncmp (entry, *name, strlen (*name)) == 0)
            return true;
    return false;
}

static void put_key (const struct preload_need *need, struct buf *out)
{
    buf_printf (out, "%s%c%s%c", need->python, 0, need->modules, 0);
    for (char *const *entry = need->envp; *entry; entry++)
        if (!is_of_attempt (*entry))
            buf_printf (out, "%s%c", *entry, 0);
}

/* ---- starting it ---- */

/* cmsg(3). In one packet: it is taken whole or not at all. */
static bool send_packet (int channel_fd, struct text bytes, const int *fds, uint32_t fds_n)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE (FDS_N * sizeof (int))];
    } control = { .bytes = { 0 } };
    struct iovec body = { (void *) bytes.ptr, bytes.len };
    struct msghdr message = {
        .msg_iov = &body, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = CMSG_SPACE (fds_n * sizeof (int))
    };
    control.head = (struct cmsghdr){ .cmsg_level = SOL_SOCKET,
                                     .cmsg_type = SCM_RIGHTS,
                                     .cmsg_len = CMSG_LEN (fds_n * sizeof (int)) };
    memcpy (CMSG_DATA (&control.head), fds, fds_n * sizeof (int));
    return sendmsg (channel_fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t) bytes.len;
}

static bool send_library (int channel_fd)
{
    size_t bytes = (size_t) (preload_library_end - preload_library);
    LOCAL_FD fd = memfd_create ("sliceup-inside", MFD_CLOEXEC);
    return fd >= 0 && fd_write (fd, preload_library, bytes) == 0 &&
           send_packet (channel_fd, TEXT_LIT ("library"), &fd, 1);
}

static int start_process (const char *program, const struct preload_need *need, int program_fd, int output_fd,
                          pid_t *pid, struct err *err)
{
    LOCAL_ARENA arena = { 0 };
    char *argv[] = {
        (char *) need->python, (char *) "-s", (char *) "-B", (char *) program, (char *) need->modules, NULL
    };
    uint32_t n = 0;
    while (need->envp[n])
        n++;
    char **envp = arena_array (&arena, n + 1, sizeof *envp);
    for (uint32_t i = n = 0; need->envp[i]; i++)
        if (!is_of_attempt (need->envp[i]))
            envp[n++] = need->envp[i];
    struct spawn_request request = { .program = need->python,
                                     .argv = argv,
                                     .envp = envp,
                                     .directory = "/",
                                     .output_fd = output_fd,
                                     .channel_fd = program_fd };
    return spawn_start (&request, &spawn_target_here, pid, err);
}

static void interpreter_heard (void *owner, int fd, uint32_t events);

static int interpreter_open (struct interpreter *one, const char *directory, const struct preload_need *need,
                             struct err *err)
{
    char program[PATH_MAX];
    size_t bytes = (size_t) (preload_program_end - preload_program);
    if (snprintf (program, sizeof program, "%s/sliceup_preload.py", directory) >= (int) sizeof program ||
        atomic_file_write (program, preload_program, bytes, 0444, err) < 0)
        return -1;
    int pair[2], output_fd = open ("/dev/null", O_WRONLY | O_CLOEXEC);
    pid_t pid = -1;
    if (output_fd < 0 || socketpair (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
        fd_close (output_fd);
        return err_errno (err, ERR_IO, "its socket cannot be made");
    }
    int rc = start_process (program, need, pair[1], output_fd, &pid, err);
    close (output_fd);
    close (pair[1]);
    if (rc == 0 && (one->process_fd = (int) syscall (SYS_pidfd_open, pid, 0)) < 0)
        rc = err_errno (err, ERR_IO, "its process cannot be opened");
    if (rc == 0 && !send_library (pair[0]))
        rc = err_errno (err, ERR_IO, "its library cannot be sent");
    if (rc == 0)
        rc = loop_watch (one->loop, pair[0], EPOLLIN, interpreter_heard, one, err);
    if (rc < 0)
        close (pair[0]);
    else
        one->channel_fd = pair[0];
    return rc;
}

static enum preload_state interpreter_begin (struct interpreter *one, const char *directory,
                                             const struct preload_need *need, uint64_t now_ms)
{
    struct err err = { 0 };
    interpreter_end (one);
    buf_clear (&one->key);
    put_key (need, &one->key);
    if (one->key.overflow)
        return interpreter_refuse (one, "its variables are too long");
    if (interpreter_open (one, directory, need, &err) < 0)
        return interpreter_refuse (one, err.text);
    one->until_ms = now_ms + IMPORT_MS;
    return one->state = PRELOAD_STARTING;
}

/* That of the key, else the one that was not wanted for longest. */
static struct interpreter *interpreter_for (struct preload *preload, struct text key)
{
    struct interpreter *oldest = preload->all;
    for (struct interpreter *one = preload->all; one < preload->all + INTERPRETERS_MAX; one++) {
        if (key.len && text_equal (key, buf_as_text (&one->key)))
            return one;
        oldest = one->wanted_ms < oldest->wanted_ms ? one : oldest;
    }
    return oldest;
}

enum preload_state preload_want (struct preload *preload, const struct preload_need *need, uint64_t now_ms)
{
    LOCAL_BUF key = { .max = KEY_BYTES_MAX };
    put_key (need, &key);
    struct interpreter *one = preload->wanted = interpreter_for (preload, buf_as_text (&key));
    bool known = one->key.len && text_equal (buf_as_text (&key), buf_as_text (&one->key));
    one->wanted_ms = now_ms;
    one->restarts = known ? one->restarts : 0;
    if (known && one->state == PRELOAD_REFUSED && one->was_ready && one->restarts < RESTARTS_MAX) {
        one->restarts++;
        known = false;
    }
    return known ? preload_poll (preload, now_ms) : interpreter_begin (one, preload->directory, need, now_ms);
}

/* ---- hearing of it ---- */

/* False: it is over. Its bytes become text as they are; the reader knows what to expect. */
static bool receive_word (int fd, char word[WHY_BYTES])
{
    ssize_t got = recv (fd, word, WHY_BYTES - 1, MSG_DONTWAIT);
    if (got > 0)
        word[got] = '\0';
    return got > 0;
}

static void interpreter_heard (void *owner, int fd, uint32_t events)
{
    struct interpreter *one = owner;
    char word[WHY_BYTES] = "it ended";
    (void) events;
    if (receive_word (fd, word) && one->state == PRELOAD_STARTING && strcmp (word, "ready") == 0)
        one->state = PRELOAD_READY;
    else
        (void) interpreter_refuse (one, word);
}

enum preload_state preload_poll (struct preload *preload, uint64_t now_ms)
{
    struct interpreter *one = preload->wanted;
    if (one->state == PRELOAD_STARTING && now_ms >= one->until_ms)
        return interpreter_refuse (one, "its imports took too long");
    return one->state;
}

/* ---- a copy ---- */

/* NULL: one of them is not UTF-8. */
static json_t *json_words (char *const *words)
{
    json_t *list = json_array ();
    for (; list && words && *words; words++)
        if (json_array_append_new (list, json_string (*words)) < 0) {
            json_decref (list);
            list = NULL;
        }
    return list;
}

/* NULL: something in it is not UTF-8. */
static char *print_request (const struct spawn_request *request, const struct preload_copy *copy,
                            const struct spawn_target *target)
{
    json_t *env = json_object ();
    bool good = true;
    for (char *const *entry = request->envp; *entry; entry++) {
        const char *equals = strchr (*entry, '=');
        good &= equals && json_object_setn_new (env, *entry, (size_t) (equals - *entry), json_string (equals + 1)) == 0;
    }
    json_t *message = json_pack ("{s:o, s:o, s:o, s:s, s:i}", "env", env, "words", json_words (copy->words), "confine",
                                 json_words (copy->confine), "directory", request->directory, "namespaces",
                                 target->namespaces);
    char *text = good && message ? json_dumps (message, JSON_COMPACT) : NULL;
    json_decref (message);
    return text;
}

/* A child of this process, as it has to be: the answer comes from a process that has imported packages of others. */
static bool is_child (uint64_t pid)
{
    siginfo_t info = { 0 };
    return pid > 1 && pid <= INT32_MAX && waitid (P_PID, (id_t) pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == 0;
}

static bool await_copy (int channel_fd, pid_t *pid, char word[WHY_BYTES])
{
    struct pollfd entry = { .fd = channel_fd, .events = POLLIN };
    uint64_t number;
    snprintf (word, WHY_BYTES, "it made no copy in %d s", COPY_MAX_MS / 1000);
    if (poll (&entry, 1, COPY_MAX_MS) <= 0 || !receive_word (channel_fd, word))
        return false;
    if (!text_to_u64 (text_of (word), &number) || !is_child (number))
        return false;
    *pid = (pid_t) number;
    return true;
}

/* The copy begins only at this process's word, so that one which is told too late never runs. */
static int ask_for_copy (struct interpreter *one, struct text request, int fds[FDS_N], pid_t *pid, struct err *err)
{
    char word[WHY_BYTES] = "it ended";
    int go[2];
    if (pipe2 (go, O_CLOEXEC) < 0)
        return err_errno (err, ERR_IO, "a pipe for the copy cannot be made");
    fds[FDS_N - 1] = go[0];
    bool sent = send_packet (one->channel_fd, request, fds, FDS_N);
    bool made = sent && await_copy (one->channel_fd, pid, word) && write (go[1], "g", 1) == 1;
    close (go[0]);
    close (go[1]);
    if (made)
        return 0;
    if (!sent && errno == EMSGSIZE)
        return err_set (err, ERR_LIMIT, "the variables of this attempt are too long for a copy");
    (void) interpreter_refuse (one, word);
    return err_set (err, ERR_IO, "%s", one->why);
}

int preload_copy (struct preload *preload, const struct spawn_request *request, const struct preload_copy *copy,
                  const struct spawn_target *target, pid_t *pid, struct err *err)
{
    /* A program without a sandbox has no report: then the same descriptor twice, which the copy closes. */
    int fds[FDS_N] = { target->namespaces_fd, target->root_fd, request->output_fd, request->channel_fd,
                       request->report_fd > 0 ? request->report_fd : request->output_fd };
    LOCAL_MEM char *text = print_request (request, copy, target);
    if (!text)
        return err_set (err, ERR_PARSE, "a variable or a path of this attempt is not UTF-8");
    return ask_for_copy (preload->wanted, text_of (text), fds, pid, err);
}
