#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "coordinator/cli/logs.h"

enum { TAIL_BYTES = 16 << 10 };

/* Whole lines, but for one that is longer than a tail. */
static int read_end (int fd, char piece[TAIL_BYTES], struct text *rest, struct err *err)
{
    struct stat st;
    struct text cut;
    if (fstat (fd, &st) < 0 || !S_ISREG (st.st_mode))
        return err_set (err, ERR_STATE, "its log is no regular file");
    off_t from = st.st_size > TAIL_BYTES ? st.st_size - TAIL_BYTES : 0;
    ssize_t len = pread (fd, piece, TAIL_BYTES, from);
    if (len < 0)
        return err_errno (err, ERR_IO, "its log cannot be read");
    *rest = (struct text){ piece, (uint32_t) len };
    if (from > 0)
        (void) text_cut (rest, '\n', &cut);
    return 0;
}

/* The file is made when the first output comes. */
static int open_log (const char *path, struct err *err)
{
    int fd = open (path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return err_set (err, ERR_STATE, "no log here: nothing printed, or removed");
    return fd < 0 ? err_errno (err, ERR_IO, "its log cannot be read") : fd;
}

int log_tail_read (const struct run_dir *dir, const struct board *board, const struct log_source *source,
                   struct arena *arena, struct text *out, struct err *err)
{
    char path[RUN_PATH_BYTES], *piece = mem_alloc (TAIL_BYTES);
    struct text rest = { 0 };
    struct buf lines;
    buf_init (&lines, 16 * TAIL_BYTES);
    int fd = open_log (run_dir_log_path (dir, &board->plan, source->host, &source->key, path), err);
    int rc = fd < 0 ? -1 : read_end (fd, piece, &rest, err);
    if (rest.len)
        log_output_put_body (rest, false, &lines);
    if (fd >= 0)
        close (fd);
    mem_free (piece);
    *out = buf_finish (&lines, arena);
    return rc;
}
