#include "tests/plugins/mischief.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, REPORTER = 3, FDS = 64 };

static char lie[128];
static volatile int *volatile nowhere = NULL;

bool lies (const char *how)
{
    return strcmp (lie, how) == 0;
}

bool lacks (const char *slot)
{
    return strncmp (lie, "none-", 5) == 0 && strcmp (lie + 5, slot) == 0;
}

static void hang (void)
{
    for (;;)
        pause ();
}

/* Statements of the probe as it sends them (probe_statement_record): one that all is done, a step, a call. */
#define SAYS_DONE "\x81\x01\x08"
#define SAYS_STEP_ATTRIBUTES "\x82\x01\x01\x02\x05"
#define SAYS_CALL(length) "\x82\x01\x02\x03" length

/* ---- in a slot ---- */

static void say (const char *words)
{
    (void) !write (REPORTER, words, strlen (words));
}

static void abort_aloud (void)
{
    fprintf (stderr, "I0000 all is well\nF1121 15:00:00.000000 1 liar.cc:1] Check failed: it lies\n*** stack ***\n");
    abort ();
}

static void touch_nowhere (void)
{
    *nowhere = 1;
}

static void leave (void)
{
    exit (0);
}

/* In the last slot it is believed, for a moment. */
static void say_done_and_crash (void)
{
    say (SAYS_DONE);
    touch_nowhere ();
}

static void kill_itself (void)
{
    (void) raise (SIGKILL);
}

static const struct {
    const char *word;
    void (*act) (void);
} acts[] = {
    { "hang-", hang },        { "crash-", touch_nowhere }, { "abort-", abort_aloud },
    { "kill-", kill_itself }, { "exit-", leave },          { "done-", say_done_and_crash },
};

void act (const char *slot)
{
    for (size_t i = 0; i < sizeof acts / sizeof acts[0]; i++) {
        size_t len = strlen (acts[i].word);
        if (strncmp (lie, acts[i].word, len) == 0 && strcmp (lie + len, slot) == 0)
            acts[i].act ();
    }
}

/* What this file is called decides; without the folder and ".so". */
__attribute__ ((constructor)) static void begin (void)
{
    Dl_info info;
    if (!dladdr (lie, &info))
        abort ();
    const char *slash = strrchr (info.dli_fname, '/');
    snprintf (lie, sizeof lie, "%s", slash ? slash + 1 : info.dli_fname);
    char *dot = strrchr (lie, '.');
    if (dot)
        *dot = '\0';
    act ("dlopen");
}

const char *at_the_edge (const char *text)
{
    size_t len = strlen (text);
    char *pages = mmap (NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED || mprotect (pages + PAGE, PAGE, PROT_NONE) < 0)
        abort ();
    return memcpy (pages + PAGE - len, text, len);
}

/* ---- descriptors ---- */

static void scream (int fd, const char *line)
{
    for (;;)
        if (write (fd, line, strlen (line)) < 0)
            hang ();
}

static void babble (void)
{
    say ("\x01 nonsense\n");
}

static void babble_call (void)
{
    say (SAYS_CALL ("\xa2") "\xff\xfe");
}

static void double_step (void)
{
    say (SAYS_STEP_ATTRIBUTES);
    say (SAYS_STEP_ATTRIBUTES);
}

static void say_done (void)
{
    say (SAYS_DONE);
    exit (0);
}

static void flood (void)
{
    scream (1, "and on and on and on and on and on\n");
}

static void flood_reporter (void)
{
    scream (REPORTER, "note and on");
}

/* Each of them is one that the probe could say. */
static void flood_calls (void)
{
    scream (REPORTER, SAYS_CALL ("\xb6") "PJRT_Plugin_Initialize");
}

static void endless_line (void)
{
    static const char much[64 * 1024];
    (void) !write (REPORTER, much, sizeof much);
    hang ();
}

static void close_all (void)
{
    for (int fd = REPORTER; fd < FDS; fd++)
        close (fd);
}

static void tell_place (void)
{
    struct rlimit core;
    char link[64], to[256];
    if (getrlimit (RLIMIT_CORE, &core) == 0)
        printf ("a core file has at most %llu bytes\n", (unsigned long long) core.rlim_cur);
    for (int fd = 0; fd < FDS; fd++) {
        snprintf (link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t len = readlink (link, to, sizeof to);
        if (len > 0)
            printf ("descriptor %d: %.*s\n", fd, (int) len, to);
    }
    fflush (stdout);
    abort ();
}

/* ---- processes ---- */

/* One that hears no polite signal, and holds the plugin's output open. */
static void stay (void)
{
    (void) signal (SIGTERM, SIG_IGN);
    (void) signal (SIGINT, SIG_IGN);
    (void) signal (SIGHUP, SIG_IGN);
    hang ();
}

static void leave_child (void)
{
    if (fork () == 0)
        stay ();
}

/* As a daemon does: its group and session are others, and its parent is gone. */
static void leave_daemon (void)
{
    pid_t child = fork ();
    if (child != 0) {
        (void) waitpid (child, NULL, 0); /* so that one process is left, however slow the machine */
        return;
    }
    (void) setsid ();
    if (fork () == 0)
        stay ();
    _exit (0);
}

static void daemon_and_hang (void)
{
    leave_daemon ();
    hang ();
}

/* Its parent's death is nothing to it; of its group it cannot get out, as the leader of a session (setpgid(2)). */
static void change_group (void)
{
    (void) prctl (PR_SET_PDEATHSIG, 0);
    if (setpgid (0, getpgid (getppid ())) == 0)
        abort ();
    stay ();
}

static const struct {
    const char *name;
    void (*act) (void);
} others[] = {
    { "babble", babble },
    { "babble_call", babble_call },
    { "double", double_step },
    { "done", say_done },
    { "flood", flood },
    { "flood_voice", flood_reporter },
    { "flood_calls", flood_calls },
    { "endless_line", endless_line },
    { "close", close_all },
    { "tell_place", tell_place },
    { "leave_child", leave_child },
    { "leave_daemon", leave_daemon },
    { "daemon_and_hang", daemon_and_hang },
    { "change_group", change_group },
};

void misbehave (void)
{
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (lies (others[i].name))
            others[i].act ();
}
