#include "coordinator/cli/exit_timeout.h"

#include <signal.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

enum { LEAVE_S = 1 };

static const int asking[] = { SIGINT, SIGTERM, SIGHUP };
enum { ASKING_N = sizeof (asking) / sizeof (asking[0]) };

static volatile sig_atomic_t asked, leave_status;

static void (*last_words) (void);

/* By signal-safety(7), and without what exit would write. */
static void on_alarm (int signal_number)
{
    (void) signal_number;
    if (last_words)
        last_words ();
    _exit (leave_status);
}

static void on_asked (int signal_number)
{
    (void) signal_number;
    if (!asked)
        alarm (LEAVE_S);
    asked = true;
}

static void handle (int signal_number, void (*handler) (int))
{
    struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };
    sigemptyset (&action.sa_mask);
    sigaction (signal_number, &action, NULL); /* fails for no signal that exists */
}

static void on_default (int signal_number)
{
    if (last_words)
        last_words ();
    (void) signal (signal_number, SIG_DFL);
    raise (signal_number);
}

void exit_timeout_default_signals (int status)
{
    static const struct timespec at_once = { 0 };
    sigset_t set;
    sigemptyset (&set);
    for (int i = 0; i < ASKING_N; i++)
        sigaddset (&set, asking[i]);
    while (sigtimedwait (&set, NULL, &at_once) > 0)
        exit_timeout_start (status);
    for (int i = 0; i < ASKING_N; i++)
        handle (asking[i], on_default);
    sigprocmask (SIG_UNBLOCK, &set, NULL);
}

void exit_timeout_start (int status)
{
    leave_status = status;
    handle (SIGALRM, on_alarm);
    alarm (LEAVE_S);
}

void exit_timeout_catch_signals (int status)
{
    leave_status = status;
    handle (SIGALRM, on_alarm);
    for (int i = 0; i < ASKING_N; i++)
        handle (asking[i], on_asked);
}

void exit_timeout_set_last (void (*last) (void))
{
    last_words = last;
}

bool exit_timeout_signal_seen (void)
{
    return asked;
}
