#include "coordinator/cli/terminal.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

struct style terminal_style (const struct cli *cli)
{
    struct winsize size = { 0 };
    struct style style = { .color = cli->color };
    style.unicode = style_speaks_utf8 (getenv ("LC_ALL"), getenv ("LC_CTYPE"), getenv ("LANG"));
    if (isatty (STDOUT_FILENO) && ioctl (STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
        style.columns = size.ws_col;
    return style;
}

int terminal_write (const struct cli *cli, struct buf *bytes)
{
    struct err err = { 0 };
    if (bytes->overflow)
        err_set (&err, ERR_LIMIT, "the answer is larger than %zu bytes", bytes->max);
    else if (fwrite (bytes->ptr, 1, bytes->len, stdout) != bytes->len || fflush (stdout) != 0)
        err_errno (&err, ERR_IO, "standard output cannot be written");
    buf_release (bytes);
    return err.code ? cli_fail (cli, &err) : EXIT_HOLDS;
}
