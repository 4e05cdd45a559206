#include "coordinator/cli/cli.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

int cli_fail (const struct cli *cli, const struct err *err)
{
    fflush (stdout);
    log_print (&cli->log, "%s", err->text);
    switch (err->code) {
    case ERR_USAGE:
    case ERR_CONFIG:
    case ERR_PARSE: return EXIT_USAGE;
    case ERR_DAMAGE: return EXIT_DAMAGED;
    default: return EXIT_COULD_NOT;
    }
}

/* ---- what standard output can show ---- */

struct style cli_detect_style (const struct cli *cli)
{
    struct winsize size = { 0 };
    struct style style = { .color = cli->color };
    style.unicode = style_locale_is_utf8 (getenv ("LC_ALL"), getenv ("LC_CTYPE"), getenv ("LANG"));
    if (isatty (STDOUT_FILENO) && ioctl (STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
        style.columns = size.ws_col;
    return style;
}

int cli_write_stdout (const struct cli *cli, struct buf *bytes)
{
    struct err err = { 0 };
    int status = EXIT_HOLDS;
    if (bytes->overflow) {
        err_set (&err, ERR_LIMIT, "the answer is larger than %zu bytes", bytes->max);
        status = cli_fail (cli, &err);
    } else if ((bytes->len && fwrite (bytes->ptr, 1, bytes->len, stdout) != bytes->len) || fflush (stdout) != 0)
        status = cli_reader_left () ? EXIT_HOLDS : EXIT_COULD_NOT;
    int why = errno;
    buf_release (bytes);
    errno = why;
    return status;
}

bool cli_reader_left (void)
{
    struct pollfd out = { .fd = STDOUT_FILENO, .events = POLLOUT };
    return poll (&out, 1, 0) == 1 && out.revents & (POLLERR | POLLHUP);
}
