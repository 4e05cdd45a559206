#include "common/io/exhausted.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A thread's stack and what libzmq takes at a time are less. */
enum { LEAST_BYTES = 16 * 1024 * 1024, EXIT_STATUS = 3 };

static const char *who;

static bool has_memory (void)
{
    void *at = mmap (NULL, LEAST_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return at != MAP_FAILED && munmap (at, LEAST_BYTES) == 0;
}

static bool has_descriptor (void)
{
    int fd = fcntl (STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
    return fd >= 0 ? close (fd) == 0 : errno != EMFILE && errno != ENFILE;
}

/* Nobody is left to be told of an error. */
static void say (const char *words)
{
    ssize_t n = write (STDERR_FILENO, words, strlen (words));
    (void) n;
}

/* Only what signal-safety(7) allows; mmap is a bare system call. */
static void on_abort (int signal_number)
{
    const char *what = !has_memory () ? "memory (ulimit -v, ulimit -d, or that of the machine)"
                       : !has_descriptor () ? "open files (ulimit -n, LimitNOFILE=)" : NULL;
    if (!what) {
        signal (signal_number, SIG_DFL);
        raise (signal_number); /* comes when this returns */
        return;
    }
    say (who);
    say (": this process may not have more ");
    say (what);
    say (": raise its limit, then go on where it stopped; what was recorded is safe\n");
    _exit (EXIT_STATUS);
}

void exhausted_tell (const char *program)
{
    struct sigaction action = { .sa_handler = on_abort };
    who = program;
    sigemptyset (&action.sa_mask);
    sigaction (SIGABRT, &action, NULL); /* fails for no signal that exists */
}
