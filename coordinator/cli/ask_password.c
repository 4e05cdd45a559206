/* ask_password.c - asks for a password: on the terminal, or by the program of SSH_ASKPASS, when ssh would. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <termios.h>

#include "common/io/fd.h"
#include "coordinator/cli/cli.h"

/* A courier takes 1023 bytes (coordinator/courier/request.h). */
enum { PAGE_BYTES = 4096, PASSWORD_MAX_BYTES = 1023, ANSWER_MS = 5 * 60 * 1000 };
#define PROMPT "Password for the hosts (ssh): "

/* As ssh(1) has it under SSH_ASKPASS_REQUIRE. */
static bool by_program (bool terminal)
{
    const char *require = getenv ("SSH_ASKPASS_REQUIRE"), *how = require ? require : "";
    bool screen = getenv ("DISPLAY") || getenv ("WAYLAND_DISPLAY");
    return getenv ("SSH_ASKPASS") && (strcmp (how, "force") == 0 || (screen && strcmp (how, "prefer") == 0) ||
                                      (screen && !terminal && strcmp (how, "never") != 0));
}

/* A signal that ends the question waits until the terminal is as it was. */
static ssize_t ask_terminal (int terminal, char *out)
{
    struct termios shown, hidden;
    sigset_t ending, before;
    ssize_t n = -1;
    if (tcgetattr (terminal, &shown) != 0)
        return -1;
    sigemptyset (&ending);
    for (int i = 0; i < 4; i++)
        sigaddset (&ending, (const int[]){ SIGINT, SIGTERM, SIGHUP, SIGQUIT }[i]);
    sigprocmask (SIG_BLOCK, &ending, &before);
    struct pollfd entries[] = { { .fd = terminal, .events = POLLIN },
                                { .fd = signalfd (-1, &ending, SFD_CLOEXEC), .events = POLLIN } };
    hidden = shown;
    hidden.c_lflag = (hidden.c_lflag & ~(tcflag_t) ECHO) | ECHONL | ICANON | ISIG;
    if (tcsetattr (terminal, TCSAFLUSH, &hidden) == 0 && fd_write (terminal, PROMPT, strlen (PROMPT)) == 0 &&
        poll (entries, 2, ANSWER_MS) > 0 && entries[0].revents)
        n = fd_read (terminal, out, PAGE_BYTES - 1);
    (void) tcsetattr (terminal, TCSAFLUSH, &shown);
    fd_close (entries[1].fd);
    sigprocmask (SIG_SETMASK, &before, NULL);
    return n;
}

/* Unbuffered, so that no copy stays. One that gives no answer is left alone: this process ends. */
static ssize_t ask_program (char *out)
{
    FILE *program = popen ("exec \"$SSH_ASKPASS\" '" PROMPT "'", "re");
    struct pollfd answer = { .fd = program ? fileno (program) : -1, .events = POLLIN };
    if (!program || setvbuf (program, NULL, _IONBF, 0) != 0 || poll (&answer, 1, ANSWER_MS) <= 0)
        return -1;
    size_t n = fread (out, 1, PAGE_BYTES - 1, program);
    return pclose (program) == 0 ? (ssize_t) n : -1;
}

/* Into memory that is neither swapped, where RLIMIT_MEMLOCK allows that, nor part of an image of this process. */
static int ask_password (struct text *out, struct err *err)
{
    static _Alignas(PAGE_BYTES) char page[PAGE_BYTES];
    LOCAL_FD terminal = open ("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
    bool program = by_program (terminal >= 0);
    if (terminal < 0 && !program)
        return err_set (err, ERR_USAGE,
                        "--ask-pass: there is no terminal to ask at. Without one a program answers: "
                        "SSH_ASKPASS=PROGRAM SSH_ASKPASS_REQUIRE=force");
    (void) mlock (page, PAGE_BYTES);
    (void) madvise (page, PAGE_BYTES, MADV_DONTDUMP);
    ssize_t n = program ? ask_program (page) : ask_terminal (terminal, page);
    *out = (struct text){ page, n > 0 ? (uint32_t) strcspn (page, "\r\n") : 0 };
    if (out->len == 0 || out->len > PASSWORD_MAX_BYTES)
        return err_set (err, ERR_USAGE, "--ask-pass: expected a password of 1 to %d bytes from %s", PASSWORD_MAX_BYTES,
                        program ? getenv ("SSH_ASKPASS") : "the terminal");
    page[out->len++] = '\n';
    return 0;
}

int cli_ask_password (struct cli *cli, const struct cli_arguments *arguments, const struct plan *plan)
{
    struct err err = { 0 };
    if (!arguments->values[CLI_ASK_PASS])
        return EXIT_HOLDS;
    if (plan && plan->launcher != LAUNCHER_SSH)
        err_set (&err, ERR_USAGE, "--ask-pass: only hosts of launcher: ssh ask for a password, not those of %s",
                 enum_name_of (&launcher_names, plan->launcher));
    return err.code || ask_password (&cli->password, &err) < 0 ? cli_fail (cli, &err) : EXIT_HOLDS;
}
