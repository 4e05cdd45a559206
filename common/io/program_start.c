#include "common/io/program_start.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/mem.h"
#include "common/io/atomic_file.h"
#include "common/io/process_capacity.h"

void standard_fds_keep (void)
{
    int fd = open ("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO)
        fd = open ("/dev/null", O_RDWR);
    if (fd > STDERR_FILENO)
        close (fd);
}

/* ---- the end by a limit ---- */

/* More than a thread's stack, or one allocation of libzmq. */
enum { LEAST_BYTES = 16 * 1024 * 1024, EXIT_STATUS = 3 };

static const char *who;

static const char table_is_full[] = "open files, because the file table of the system is full: end processes that hold "
                                    "many files, or raise fs.file-max";

/* Which limit prevents one more open file; NULL: none. */
static const char *lacks_descriptor (void)
{
    int fd = eventfd (0, EFD_CLOEXEC);
    if (fd >= 0)
        close (fd);
    else if (errno == EMFILE)
        return "open files (ulimit -n, LimitNOFILE=)";
    else if (errno == ENFILE)
        return table_is_full;
    return NULL;
}

/* A process is refused like a thread (setrlimit(2), pids.max). A bare call, because fork runs libraries' handlers. */
static bool lacks_thread (void)
{
    long pid = syscall (SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (pid == 0)
        _exit (0);
    if (pid > 0)
        (void) waitpid ((pid_t) pid, NULL, 0); /* nobody waits where SIGCHLD is ignored */
    return pid < 0 && errno == EAGAIN;
}

/* Errors cannot be reported any more. */
static void program_start_say (const char *words)
{
    ssize_t n = write (STDERR_FILENO, words, strlen (words));
    (void) n;
}

/* Only what signal-safety(7) allows; mmap and eventfd are bare system calls. */
static void on_abort (int signal_number)
{
    const char *what = !process_capacity_has_memory (LEAST_BYTES)
                           ? "memory (ulimit -v, ulimit -d, or that of the machine)"
                           : lacks_descriptor ();
    if (!what && lacks_thread ())
        what = "threads (ulimit -u, TasksMax=, pids.max of its control group)";
    if (!what) {
        signal (signal_number, SIG_DFL);
        raise (signal_number); /* comes when this returns */
        return;
    }
    program_start_say (who);
    program_start_say (": this process cannot get more ");
    program_start_say (what);
    program_start_say (what == table_is_full ? ", " : ": raise its limit, ");
    program_start_say ("then resume; everything recorded so far is safe\n");
    _exit (EXIT_STATUS);
}

/* The write past the limit fails with EFBIG after this returns (setrlimit(2)). */
static void on_size (int signal_number)
{
    (void) signal_number;
}

static void handle (int signal_number, void (*handler) (int))
{
    struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };
    sigemptyset (&action.sa_mask);
    sigaction (signal_number, &action, NULL); /* fails for no signal that exists */
}

void exhaustion_install_handlers (const char *program)
{
    who = program;
    handle (SIGABRT, on_abort);
    handle (SIGXFSZ, on_size); /* not SIG_IGN, which executed programs would inherit */
}

static int set_fresh (posix_spawnattr_t *attributes, short apart)
{
    sigset_t none, all;
    sigemptyset (&none);
    sigfillset (&all);
    int rc = posix_spawnattr_setsigmask (attributes, &none);
    if (rc == 0)
        rc = posix_spawnattr_setsigdefault (attributes, &all);
    if (rc == 0)
        rc = posix_spawnattr_setflags (attributes, (short) (apart | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
    return rc;
}

/* closefrom last: closes descriptors that this process got without close-on-exec. */
static int set_descriptors (posix_spawn_file_actions_t *actions, const struct program *program)
{
    enum { HELD_FD = 3 };
    const int standard[] = { program->in, program->out, program->error };
    int rc = 0;
    for (int i = 0; i < HELD_FD && rc == 0; i++)
        rc = standard[i] < 0 ? posix_spawn_file_actions_addopen (actions, i, "/dev/null", O_RDWR, 0)
                             : posix_spawn_file_actions_adddup2 (actions, standard[i], i);
    if (rc == 0 && program->held)
        rc = posix_spawn_file_actions_adddup2 (actions, program->held, HELD_FD);
    if (rc == 0 && program->folder)
        rc = posix_spawn_file_actions_addchdir_np (actions, program->folder);
    return rc ? rc : posix_spawn_file_actions_addclosefrom_np (actions, program->held ? HELD_FD + 1 : HELD_FD);
}

int program_start (pid_t *pid, const struct program *program)
{
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    int rc = posix_spawnattr_init (&attributes);
    assert (rc == 0); /* glibc's never fail */
    rc = posix_spawn_file_actions_init (&actions);
    assert (rc == 0);
    rc = set_fresh (&attributes, program->apart);
    if (rc == 0)
        rc = set_descriptors (&actions, program);
    if (rc == 0)
        rc = posix_spawnp (pid, program->argv[0], &actions, &attributes, (char *const *) (uintptr_t) program->argv,
                           program->envp);
    if (rc == 0)
        files_limit_restore (*pid);
    posix_spawn_file_actions_destroy (&actions);
    posix_spawnattr_destroy (&attributes);
    return rc;
}

/* ---- process title ---- */

enum { STAT_MAX_BYTES = 4096, ARG_START_FIELD = 48 }; /* proc(5), stat: arg_start, arg_end, env_start, env_end */

bool process_words_find (struct process_words *out)
{
    uintptr_t from = 0, to = 0, variables = 0, end = 0;
    LOCAL_BUF stat = { .max = STAT_MAX_BYTES };
    char *at = file_read ("/proc/self/stat", &stat, NULL) == 0 ? strrchr (buf_c (&stat), ')') : NULL;
    for (int field = 2; at && field < ARG_START_FIELD; field++)
        at = strchr (at + 1, ' ');
    bool known = at &&
                 sscanf (at, "%" SCNuPTR " %" SCNuPTR " %" SCNuPTR " %" SCNuPTR, &from, &to, &variables, &end) == 4 &&
                 from && to > from + 1;
    if (known)
        *out = (struct process_words){ (char *) from, to - from, variables == to && end > to ? end - from : to - from };
    return known;
}

static void move_variables (const struct process_words *words)
{
    for (char **variable = environ; variable && *variable; variable++)
        if (*variable >= words->at && *variable < words->at + words->room)
            *variable = mem_text (*variable);
}

/* Where the last byte of the arguments is not 0, the kernel shows one text that goes on behind them. */
void process_title_set (const char *title)
{
    struct process_words words;
    if (!process_words_find (&words))
        return;
    move_variables (&words);
    memset (words.at, 0, words.room);
    size_t len = strlen (title);
    memcpy (words.at, title, len < words.room ? len : words.room - 1);
}
