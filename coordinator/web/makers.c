#include "coordinator/web/makers.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/mem.h"
#include "common/io/fd.h"

enum { KEY_BYTES = 256, OUTPUT_MAX_BYTES = 512 << 20 };

struct maker {
    char key[KEY_BYTES]; /* "": free */
    pid_t pid;           /* 0: it has ended */
    int fd;              /* what it wrote */
    bool lasting, failed;
    uint64_t began_ms, ended_ms, used_ms;
};
struct makers {
    const char *program, *home;
    struct maker items[MAKERS_MAX];
};

struct makers *makers_open (const char *program, const char *home)
{
    struct makers *makers = mem_alloc (sizeof *makers);
    *makers = (struct makers){ .program = program, .home = home };
    return makers;
}

static void forget (struct maker *maker)
{
    if (maker->pid > 0) {
        (void) kill (maker->pid, SIGKILL); /* it may be gone */
        (void) waitpid (maker->pid, NULL, 0);
    }
    if (maker->key[0])
        fd_close (maker->fd);
    *maker = (struct maker){ .fd = -1 };
}

void makers_close (struct makers *makers)
{
    for (size_t i = 0; makers && i < MAKERS_MAX; i++)
        forget (&makers->items[i]);
    mem_free (makers);
}

/* ---- a process ---- */

/* In the child: nothing is allocated between fork and exec. */
static void become (char *const *argv, int out_fd)
{
    const struct rlimit cpu = { MAKERS_LIMIT_MS / 1000, MAKERS_LIMIT_MS / 1000 };
    const struct rlimit file = { OUTPUT_MAX_BYTES, OUTPUT_MAX_BYTES };
    sigset_t none;
    sigemptyset (&none);
    (void) sigprocmask (SIG_SETMASK, &none, NULL);
    (void) setrlimit (RLIMIT_CPU, &cpu);
    (void) setrlimit (RLIMIT_FSIZE, &file);
    if (dup2 (out_fd, STDOUT_FILENO) >= 0)
        execv (argv[0], argv);
    _exit (127);
}

static int start (const struct makers *makers, struct maker *maker, const char *const *words, struct err *err)
{
    char *argv[MAKER_WORDS_MAX + 4] = { (char *) makers->program, (char *) "--home", (char *) makers->home };
    for (size_t i = 0; i < MAKER_WORDS_MAX && words[i]; i++)
        argv[3 + i] = (char *) words[i];
    maker->fd = memfd_create ("sliceup-answer", MFD_CLOEXEC);
    if (maker->fd < 0)
        return err_errno (err, ERR_IO, "no memory for an answer");
    maker->pid = fork ();
    if (maker->pid == 0)
        become (argv, maker->fd);
    return maker->pid > 0 ? 0 : err_errno (err, ERR_IO, "cannot start %s", makers->program);
}

/* Statuses say how the run went; what could not be made has no output. */
static void look_whether_ended (struct maker *maker, uint64_t boot_ms)
{
    int status;
    struct stat at;
    if (maker->pid <= 0 || waitpid (maker->pid, &status, WNOHANG) != maker->pid)
        return;
    maker->pid = 0;
    maker->ended_ms = boot_ms;
    maker->failed = !WIFEXITED (status) || fstat (maker->fd, &at) < 0 || at.st_size == 0;
}

void makers_tick (struct makers *makers, uint64_t boot_ms)
{
    for (size_t i = 0; i < MAKERS_MAX; i++) {
        struct maker *maker = &makers->items[i];
        look_whether_ended (maker, boot_ms);
        bool late = maker->pid > 0 && boot_ms - maker->began_ms > MAKERS_LIMIT_MS;
        bool lasts = maker->pid > 0 || (maker->lasting && !maker->failed);
        if (maker->key[0] && (late || (!lasts && boot_ms - maker->used_ms > MAKERS_KEPT_MS)))
            forget (maker);
    }
}

/* ---- who asks ---- */

static bool print_key (const char *const *words, char key[KEY_BYTES])
{
    size_t len = 0;
    for (size_t i = 0; words[i] && len < KEY_BYTES; i++)
        len += (size_t) snprintf (key + len, KEY_BYTES - len, "%s ", words[i]);
    return len < KEY_BYTES;
}

/* A free place, or that of the answer which nobody asked for longest; NULL: all are at work. */
static struct maker *find_place (struct makers *makers)
{
    struct maker *place = NULL;
    size_t at_work = 0;
    for (size_t i = 0; i < MAKERS_MAX; i++) {
        struct maker *maker = &makers->items[i];
        at_work += maker->pid > 0;
        if (maker->pid == 0 && (!place || maker->used_ms < place->used_ms))
            place = maker;
    }
    return at_work < MAKERS_AT_ONCE ? place : NULL;
}

/* `lasting`: the run has ended. What it gave before, it would not give now. */
static bool is_old (const struct maker *maker, bool lasting, uint64_t boot_ms)
{
    uint64_t age_ms = boot_ms - maker->ended_ms;
    if (maker->pid > 0 || maker->failed)
        return maker->failed && age_ms > MAKERS_KEPT_MS;
    return !maker->lasting && (lasting || age_ms > MAKERS_AGE_MS);
}

static struct maker *find_made (struct makers *makers, const char *key, bool lasting, uint64_t boot_ms)
{
    struct maker *maker = NULL;
    for (size_t i = 0; i < MAKERS_MAX && !maker; i++)
        if (strcmp (makers->items[i].key, key) == 0)
            maker = &makers->items[i];
    if (!maker)
        return NULL;
    look_whether_ended (maker, boot_ms);
    if (!is_old (maker, lasting, boot_ms))
        return maker;
    forget (maker);
    return NULL;
}

static int begin (struct makers *makers, const char *const *words, const char *key, bool lasting, uint64_t boot_ms,
                  struct err *err)
{
    struct maker *maker = find_place (makers);
    if (!maker)
        return 0;
    forget (maker);
    if (start (makers, maker, words, err) < 0) {
        fd_close (maker->fd);
        *maker = (struct maker){ .fd = -1 };
        return -1;
    }
    snprintf (maker->key, sizeof maker->key, "%s", key);
    maker->lasting = lasting;
    maker->began_ms = maker->used_ms = boot_ms;
    return 0;
}

int makers_ask (struct makers *makers, const char *const *words, bool lasting, uint64_t boot_ms, int *fd,
                uint64_t *bytes, struct err *err)
{
    char key[KEY_BYTES];
    struct stat at;
    if (!print_key (words, key))
        return err_set (err, ERR_LIMIT, "that is too long to ask for");
    struct maker *maker = find_made (makers, key, lasting, boot_ms);
    if (!maker)
        return begin (makers, words, key, lasting, boot_ms, err);
    maker->used_ms = boot_ms;
    if (maker->pid > 0)
        return 0;
    if (maker->failed || fstat (maker->fd, &at) < 0)
        return err_set (err, ERR_STATE, "this could not be made; the server's terminal has the reason");
    if ((*fd = dup (maker->fd)) < 0)
        return err_errno (err, ERR_IO, "no descriptor for the answer");
    *bytes = (uint64_t) at.st_size;
    return 1;
}
