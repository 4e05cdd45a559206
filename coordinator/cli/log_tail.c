#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "coordinator/cli/logs.h"

enum { TAIL_BYTES = 16 << 10 };

/* Whole lines, but for one that is longer than a tail. */
static struct text read_end (int fd, char piece[TAIL_BYTES])
{
    struct stat st;
    if (fstat (fd, &st) < 0 || !S_ISREG (st.st_mode))
        return TEXT_LIT ("");
    off_t from = st.st_size > TAIL_BYTES ? st.st_size - TAIL_BYTES : 0;
    ssize_t len = pread (fd, piece, TAIL_BYTES, from);
    struct text rest = { piece, len > 0 ? (uint32_t) len : 0 }, cut;
    if (from > 0)
        (void) text_cut (&rest, '\n', &cut);
    return rest;
}

struct text log_tail_read (const struct run_dir *dir, const struct board *board, const struct log_source *source,
                           struct arena *arena)
{
    char path[RUN_PATH_BYTES], *piece = mem_alloc (TAIL_BYTES);
    struct buf lines;
    buf_init (&lines, 16 * TAIL_BYTES);
    run_dir_log_path (dir, &board->plan, source->host, &source->key, path);
    int fd = open (path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0) {
        log_output_put_body (read_end (fd, piece), false, &lines);
        close (fd);
    }
    mem_free (piece);
    return buf_finish (&lines, arena);
}
