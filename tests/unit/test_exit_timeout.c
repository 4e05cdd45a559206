/* alone: simulated cli */

#include "coordinator/cli/cli.h"
#include "test.h"

static int said_fd;

static void say (void)
{
    (void) !write (said_fd, "bye", 3);
}

static void end_by (int signal_number, bool before)
{
    sigset_t set;
    sigemptyset (&set);
    sigaddset (&set, signal_number);
    sigprocmask (SIG_BLOCK, &set, NULL);
    exit_timeout_set_last (say);
    if (before)
        raise (signal_number);
    exit_timeout_default_signals (130);
    if (!before)
        raise (signal_number);
    pause ();
}

/* Returns the status with which the process ended, and what it said. */
static int ended (int signal_number, bool before, char said[8])
{
    int ends[2], status;
    assert_int_equal (pipe (ends), 0);
    pid_t child = fork ();
    if (child == 0) {
        said_fd = ends[1];
        end_by (signal_number, before);
        _exit (1);
    }
    close (ends[1]);
    memset (said, 0, 8);
    assert_int_equal (waitpid (child, &status, 0), child);
    assert_true (read (ends[0], said, 7) >= 0);
    close (ends[0]);
    return status;
}

TEST (a_signal_has_its_default_action_behind_the_last_words)
{
    static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
    char said[8];
    for (size_t i = 0; i < 3; i++) {
        int status = ended (signals[i], false, said);
        assert_true (WIFSIGNALED (status));
        assert_int_equal (WTERMSIG (status), signals[i]);
        assert_string_equal (said, "bye");
    }
}

TEST (one_that_came_before_ends_it_with_the_status_that_was_named)
{
    char said[8];
    int status = ended (SIGTERM, true, said);
    assert_true (WIFEXITED (status));
    assert_int_equal (WEXITSTATUS (status), 130);
    assert_string_equal (said, "bye");
}
