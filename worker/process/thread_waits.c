#include "worker/process/exec.h"

#include "common/io/atomic_file.h"
#include "common/io/clock.h"
#include "common/io/fd.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

enum { PROCESSES_MAX = 64, THREADS_MAX = 1024, KINDS_MAX = 40, FILE_MAX_BYTES = 16 * 1024, SIGNALS_N = 64 };

/* ---- the texts of /proc ---- */

/* System calls in which programs wait; others are shown by their number, which depends on the machine. */
#define CALL(name)                                                                                                     \
    {                                                                                                                  \
        SYS_##name, #name                                                                                              \
    }
static const struct {
    long number;
    const char *word;
} calls[] = { CALL (futex),  CALL (read),     CALL (write),           CALL (recvfrom),      CALL (recvmsg),
              CALL (sendto), CALL (sendmsg),  CALL (connect),         CALL (accept),        CALL (accept4),
              CALL (ppoll),  CALL (pselect6), CALL (epoll_pwait),     CALL (nanosleep),     CALL (clock_nanosleep),
              CALL (wait4),  CALL (waitid),   CALL (ioctl),           CALL (openat),        CALL (fsync),
              CALL (flock),  CALL (fcntl),    CALL (rt_sigtimedwait), CALL (rt_sigsuspend),
#ifdef SYS_poll
              CALL (poll),   CALL (select),   CALL (epoll_wait),      CALL (pause)
#endif
};

/* The value of "Name:\tvalue". */
static struct text value_of (struct text status, const char *name)
{
    for (struct text line; status.len;) {
        line = text_take_until (&status, '\n');
        struct text word = text_take_until (&line, ':');
        if (text_is (word, name))
            return text_trimmed (line);
    }
    return (struct text){ 0 };
}

/* "S (sleeping)"; "D (disk sleep)", which seldom has to do with a disk. */
static void put_state (struct text state, struct buf *out)
{
    struct text letter = text_take_until (&state, '(');
    if (text_starts (letter, "D"))
        buf_puts (out, "waiting uninterruptibly");
    else
        buf_escaped (out, text_take_until (&state, ')'), 0);
}

/* "202 0x7f... 0x..."; "running"; "-1 0x...": in no call, as after a fault. */
static void put_call (struct text syscall, struct buf *out)
{
    uint64_t number;
    struct text word = text_take_until (&syscall, ' ');
    if (!text_to_u64 (word, &number))
        return;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if ((uint64_t) calls[i].number == number) {
            buf_printf (out, " in %s", calls[i].word);
            return;
        }
    buf_printf (out, " in system call %u", (unsigned) number);
}

static uint64_t hex_value (struct text digits)
{
    char text[32];
    return text_to_c (digits, text, sizeof text) ? strtoull (text, NULL, 16) : 0;
}

static struct text last_word (struct text words)
{
    struct text last = { 0 };
    while (words.len) {
        struct text word = text_take_until (&words, '\t');
        last = word.len ? word : last;
    }
    return last;
}

void thread_state_read (struct text status, struct text syscall, struct text wchan, struct thread_state *out)
{
    uint64_t pid = 0;
    *out = (struct thread_state){ 0 };
    LOCAL_BUF place = { .max = 4 * THREAD_PLACE_BYTES };
    LOCAL_BUF name = { .max = 4 * THREAD_NAME_BYTES };
    buf_escaped (&name, text_clip (value_of (status, "Name"), THREAD_NAME_BYTES / 4), 0);
    put_state (value_of (status, "State"), &place);
    put_call (text_take_until (&syscall, '\n'), &place);
    struct text where = text_take_until (&wchan, '\n');
    if (where.len && !text_is (where, "0"))
        buf_escaped_after (&place, " (", text_clip (where, THREAD_PLACE_BYTES / 2), 0);
    buf_puts (&place, where.len && !text_is (where, "0") ? ")" : "");
    snprintf (out->name, sizeof out->name, "%s", buf_c (&name));
    snprintf (out->place, sizeof out->place, "%s", buf_c (&place));
    if (text_to_u64 (last_word (value_of (status, "NSpid")), &pid) && pid <= INT32_MAX)
        out->pid = (uint32_t) pid;
    out->caught = hex_value (value_of (status, "SigCgt"));
}

/* ---- of this machine ---- */

struct kind {
    char process[THREAD_NAME_BYTES], place[THREAD_PLACE_BYTES];
    bool main;
    uint32_t n;
};

struct look {
    pid_t pids[PROCESSES_MAX]; /* found so far; looked at in this order */
    uint32_t pids_n, threads_n, kinds_n;
    struct kind kinds[KINDS_MAX];
    uint64_t until_ms;
    bool cut;
    uint32_t told_pid, signal;
    pid_t catcher;
    struct buf file;
};

/* Empty: the thread is gone, or may not be inspected. */
static struct text read_of (struct look *look, pid_t pid, const char *task, const char *name, struct arena *arena)
{
    char path[96];
    buf_clear (&look->file);
    snprintf (path, sizeof path, "/proc/%d/task/%.16s/%s", (int) pid, task, name);
    if (file_read (path, &look->file, NULL) < 0)
        return (struct text){ 0 };
    return text_copy (arena, buf_as_text (&look->file));
}

static void add_children (struct look *look, struct text children)
{
    uint64_t pid;
    while (children.len) {
        struct text word = text_take_until (&children, ' ');
        if (!text_to_u64 (word, &pid) || pid > INT32_MAX)
            continue;
        if (look->pids_n < PROCESSES_MAX)
            look->pids[look->pids_n++] = (pid_t) pid;
        else
            look->cut = true;
    }
}

static void thread_waits_count (struct look *look, const char *process, bool main, const struct thread_state *state)
{
    for (uint32_t i = 0; i < look->kinds_n; i++) {
        struct kind *kind = &look->kinds[i];
        if (kind->main == main && !strcmp (kind->process, process) && !strcmp (kind->place, state->place)) {
            kind->n++;
            return;
        }
    }
    if (look->kinds_n == KINDS_MAX) {
        look->cut = true;
        return;
    }
    struct kind *kind = &look->kinds[look->kinds_n++];
    *kind = (struct kind){ .main = main, .n = 1 };
    memcpy (kind->process, process, sizeof kind->process);
    memcpy (kind->place, state->place, sizeof kind->place);
}

static void look_at_thread (struct look *look, pid_t pid, const char *task, char process[THREAD_NAME_BYTES])
{
    LOCAL_ARENA arena = { 0 };
    struct thread_state state;
    struct text status = read_of (look, pid, task, "status", &arena);
    struct text syscall = read_of (look, pid, task, "syscall", &arena);
    struct text wchan = read_of (look, pid, task, "wchan", &arena);
    bool main = atoi (task) == (int) pid;
    if (status.len) {
        thread_state_read (status, syscall, wchan, &state);
        if (main)
            memcpy (process, state.name, THREAD_NAME_BYTES);
        if (main && look->signal && state.pid == look->told_pid && (state.caught >> (look->signal - 1) & 1))
            look->catcher = pid;
        thread_waits_count (look, process, main, &state);
    }
    add_children (look, read_of (look, pid, task, "children", &arena));
}

/* The main thread comes first in its folder: the kernel lists them by age. */
static void look_at_process (struct look *look, pid_t pid)
{
    char path[64], process[THREAD_NAME_BYTES] = "";
    snprintf (path, sizeof path, "/proc/%d/task", (int) pid);
    LOCAL_DIR tasks = opendir (path);
    for (struct dirent *task = tasks ? readdir (tasks) : NULL; task; task = readdir (tasks)) {
        if (task->d_name[0] == '.')
            continue;
        if (look->threads_n == THREADS_MAX || clock_boot_ms () >= look->until_ms) {
            look->cut = true;
            break;
        }
        look->threads_n++;
        look_at_thread (look, pid, task->d_name, process);
    }
}

static void print_kind (const struct kind *kind, struct buf *out)
{
    buf_printf (out, "%s: ", kind->process);
    if (kind->main && kind->n > 1)
        buf_printf (out, "main threads of %u processes", kind->n);
    else if (kind->main)
        buf_puts (out, "main thread");
    else
        buf_printf (out, "%u thread%s", kind->n, kind->n == 1 ? "" : "s");
    buf_printf (out, " %s\n", kind->place);
}

pid_t thread_waits_print (pid_t program, uint32_t told_pid, uint32_t signal, uint64_t until_ms, struct buf *out)
{
    LOCAL_MEM struct look *look = mem_alloc (sizeof *look);
    look->until_ms = until_ms;
    look->told_pid = told_pid;
    look->signal = signal <= SIGNALS_N ? signal : 0;
    look->pids[look->pids_n++] = program;
    buf_init (&look->file, FILE_MAX_BYTES);
    for (uint32_t i = 0; i < look->pids_n; i++)
        look_at_process (look, look->pids[i]);
    for (uint32_t i = 0; i < look->kinds_n; i++)
        print_kind (&look->kinds[i], out);
    buf_puts (out, look->cut ? "more threads or processes are not listed\n" : "");
    pid_t catcher = look->catcher;
    buf_release (&look->file);
    return catcher;
}
