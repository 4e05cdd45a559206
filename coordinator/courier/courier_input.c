#include "coordinator/courier/bootstrap_session.h"

#include "common/io/clock.h"
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

void input_init (struct courier_input *input, int fd)
{
    *input = (struct courier_input){ .fd = fd, .bytes = mem_alloc (INPUT_LINE_MAX_BYTES) };
}

void input_release (struct courier_input *input)
{
    mem_free (input->bytes);
    input->bytes = NULL;
}

int input_read (struct courier_input *input, struct err *err)
{
    memmove (input->bytes, input->bytes + input->taken_bytes, input->len - input->taken_bytes);
    input->len -= input->taken_bytes;
    input->taken_bytes = 0;
    if (input->len == INPUT_LINE_MAX_BYTES)
        return err_set (err, ERR_LIMIT, "a line on standard input is longer than %d bytes", INPUT_LINE_MAX_BYTES);
    ssize_t n = read (input->fd, input->bytes + input->len, INPUT_LINE_MAX_BYTES - input->len);
    if (n < 0 && errno != EINTR && errno != EAGAIN)
        return err_errno (err, ERR_IO, "reading standard input");
    if (n > 0)
        input->len += (size_t) n;
    input->ended = input->ended || n == 0;
    return 0;
}

bool input_next_line (struct courier_input *input, struct text *line)
{
    char *begin = input->bytes + input->taken_bytes;
    char *newline = memchr (begin, '\n', input->len - input->taken_bytes);
    if (!newline)
        return false;
    *line = (struct text){ begin, (uint32_t) (newline - begin) };
    input->taken_bytes += line->len + 1;
    return true;
}

int input_await_line (struct courier_input *input, uint64_t until_ms, const char *what, struct text *line,
                      struct err *err)
{
    while (!input_next_line (input, line)) {
        uint64_t now_ms = clock_boot_ms ();
        struct pollfd entry = { .fd = input->fd, .events = POLLIN };
        if (now_ms >= until_ms)
            return err_set (err, ERR_STATE, "%s did not arrive in time on standard input", what);
        if (poll (&entry, 1, (int) (until_ms - now_ms)) < 0 && errno != EINTR)
            return err_errno (err, ERR_IO, "cannot wait for %s", what);
        if (entry.revents && input_read (input, err) < 0)
            return -1;
        if (input->ended && !memchr (input->bytes + input->taken_bytes, '\n', input->len - input->taken_bytes))
            return err_set (err, ERR_STATE, "standard input ended before %s", what);
    }
    return 0;
}
