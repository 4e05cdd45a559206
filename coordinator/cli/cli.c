#include "coordinator/cli/cli.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

int cli_status (const struct err *err)
{
    switch (err->code) {
    case ERR_USAGE:
    case ERR_CONFIG:
    case ERR_PARSE: return EXIT_USAGE;
    case ERR_DAMAGE: return EXIT_DAMAGED;
    default: return EXIT_COULD_NOT;
    }
}

int cli_fail (const struct cli *cli, const struct err *err)
{
    fflush (stdout);
    log_print (&cli->log, "%s", err->text);
    return cli_status (err);
}

/* ---- what standard output can show ---- */

/* 0: standard output is no terminal. */
static uint32_t terminal_columns (void)
{
    struct winsize size = { 0 };
    return isatty (STDOUT_FILENO) && ioctl (STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

struct style cli_detect_style (const struct cli *cli)
{
    struct style style = { .color = cli->color, .columns = terminal_columns () };
    style.unicode = style_locale_is_utf8 (getenv ("LC_ALL"), getenv ("LC_CTYPE"), getenv ("LANG"));
    return style;
}

uint32_t cli_columns (void)
{
    enum { LEAST = 40, MOST = 1000, USUAL = 80 };
    const char *asked = getenv ("COLUMNS");
    uint64_t columns = terminal_columns ();
    if (!columns && !(asked && text_to_u64 (text_of (asked), &columns)))
        columns = USUAL;
    return columns < LEAST ? LEAST : columns > MOST ? MOST : (uint32_t) columns;
}

bool cli_drain_stdout (const void *bytes, size_t len, void *to)
{
    (void) to;
    return fwrite (bytes, 1, len, stdout) == len;
}

int cli_write_stdout (const struct cli *cli, struct buf *bytes)
{
    struct err err = { 0 };
    int status = EXIT_HOLDS;
    if (bytes->overflow && !ferror (stdout)) {
        err_set (&err, ERR_LIMIT, "the answer is larger than %zu bytes", bytes->max);
        status = cli_fail (cli, &err);
    } else if (bytes->overflow || (bytes->len && fwrite (bytes->ptr, 1, bytes->len, stdout) != bytes->len) ||
               fflush (stdout) != 0)
        status = cli_reader_left () ? EXIT_HOLDS : EXIT_COULD_NOT;
    int why = errno;
    buf_release (bytes);
    errno = why;
    return status;
}

int cli_print_json (const struct cli *cli, const char *schema, json_t *json)
{
    struct buf out = { .max = CLI_ANSWER_MAX_BYTES };
    json_object_set_new (json, "schema", json_string (schema));
    json_print_release (json, JSON_INDENT (2) | JSON_ENSURE_ASCII, &out);
    return cli_write_stdout (cli, &out);
}

bool cli_reader_left (void)
{
    struct pollfd out = { .fd = STDOUT_FILENO, .events = POLLOUT };
    return poll (&out, 1, 0) == 1 && out.revents & (POLLERR | POLLHUP);
}

/* ---- exit timeout ---- */

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

void cli_hint_of_home (const char *home, char hint[HINT_MAX_BYTES + 1])
{
    LOCAL_BUF line = { .max = HINT_MAX_BYTES };
    buf_puts (&line, " --home");
    shell_word_add (&line, text_of (home));
    (void) text_to_c (buf_as_text (&line), hint, HINT_MAX_BYTES + 1);
}
