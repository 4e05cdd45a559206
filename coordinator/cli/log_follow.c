#include "coordinator/cli/logs.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LOOK_MS = 250, PIECE_BYTES = 64 << 10, LAST_LOOKS = 12, PRINT_BYTES = 8 << 20 };

struct tail {
    struct log_source source;
    uint64_t offset, hole_bytes; /* what was printed of it, holes among them */
    bool fading;
};

struct tails {
    const struct cli *cli;
    const struct run_dir *dir;
    struct board *board;
    const struct log_filter *filter;
    const struct log_told *told;
    bool raw, lost; /* `lost`: some of an output is */
    struct tail *items;
    uint32_t n, capacity;
    struct attempt_key key; /* of the pass whose hosts were added last */
    uint32_t said;          /* 1 + the tail that was printed last; 0: none */
    char *piece;
    int status; /* EXIT_HOLDS, until printing failed */
};

static void add_tail (struct tails *tails, const struct log_source *source)
{
    tails->items = mem_room (tails->items, tails->n, &tails->capacity, 16, sizeof (*tails->items));
    tails->items[tails->n++] = (struct tail){ .source = *source };
}

static void print (struct tails *tails, uint32_t at, struct text bytes, bool raw)
{
    struct buf out;
    buf_init (&out, PRINT_BYTES);
    if (tails->said != at + 1)
        log_output_put_header (tails->board, &tails->items[at].source.host, 1, &tails->items[at].source.key, &out);
    tails->said = at + 1;
    log_output_put_body (bytes, raw, log_told_lost (tails->told, &tails->items[at].source), &out);
    tails->status = cli_write_stdout (tails->cli, &out);
}

/* What `sliceup logs` says of it above its lines; of a silent host, whose lines are none, only a loss. */
static void say (struct tails *tails, uint32_t at, bool held)
{
    const struct tail *tail = &tails->items[at];
    struct buf said;
    buf_init (&said, PRINT_BYTES);
    bool lost = log_told_put (tails->told, &tail->source, tail->offset, tail->hole_bytes, held, &said);
    if (said.len && (lost || tail->offset))
        print (tails, at, buf_as_text (&said), true);
    tails->lost |= lost;
    buf_release (&said);
}

/* The hosts of a pass that has just begun; those of passes that are over stay for one more look. */
static void refresh (struct tails *tails)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < tails->n; i++) {
        if (tails->items[i].fading) {
            say (tails, i, true);
            continue;
        }
        tails->items[kept] = tails->items[i];
        tails->items[kept].fading = !(tails->board->running &&
                                      attempt_key_equal (&tails->items[i].source.key, &tails->board->key));
        kept++;
    }
    if (kept != tails->n)
        tails->said = 0;
    tails->n = kept;
    if (!tails->board->running || attempt_key_equal (&tails->board->key, &tails->key))
        return;
    tails->key = tails->board->key;
    for (uint32_t i = 0; i < tails->board->plan.hosts.n; i++) {
        struct log_source source = { i, tails->key };
        if (tails->board->hosts[i].in_pass && log_filter_takes (tails->filter, &source))
            add_tail (tails, &source);
    }
}

/* Whole lines only, unless a line is longer than a piece or nothing more will come. */
static uint32_t whole_lines (const char *piece, uint32_t len, bool last)
{
    const char *end = memrchr (piece, '\n', len);
    return last || (end == NULL && len == PIECE_BYTES) ? len : end ? (uint32_t) (end + 1 - piece) : 0;
}

static uint64_t size_of (int fd)
{
    struct stat st;
    return fstat (fd, &st) == 0 && st.st_size > 0 ? (uint64_t) st.st_size : 0;
}

static void grow (struct tails *tails, uint32_t at, bool last)
{
    char path[RUN_PATH_BYTES];
    struct tail *tail = &tails->items[at];
    run_dir_log_path (tails->dir, &tails->board->plan, tail->source.host, &tail->source.key, path);
    int fd = open (path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    uint64_t size_bytes = fd >= 0 ? size_of (fd) : 0; /* what is added meanwhile is for the next look */
    ssize_t len = 0;
    while (tail->offset < size_bytes && tails->status == EXIT_HOLDS &&
           (len = pread (fd, tails->piece, PIECE_BYTES, (off_t) tail->offset)) > 0) {
        uint32_t whole = whole_lines (tails->piece, (uint32_t) len, last || tail->fading);
        if (whole == 0)
            break;
        print (tails, at, (struct text){ tails->piece, whole }, tails->raw);
        tail->hole_bytes += log_output_hole_bytes ((struct text){ tails->piece, whole });
        tail->offset += whole;
    }
    if (len < 0 || (fd < 0 && errno != ENOENT))
        log_detail (&tails->cli->log, "%s cannot be read: %s", path, strerror (errno));
    if (fd >= 0)
        close (fd);
}

static void grow_all (struct tails *tails, bool last)
{
    for (uint32_t i = 0; i < tails->n; i++)
        grow (tails, i, last);
}

/* The coordinator writes logs behind the facts: what it still had is there once it has let go of the run. */
static void grow_last (struct tails *tails, struct follow *follow)
{
    for (uint32_t i = 0; i < LAST_LOOKS && follow_check_coordinator (follow, NULL, NULL) != 0; i++)
        (void) poll (NULL, 0, LOOK_MS);
    grow_all (tails, true);
    for (uint32_t i = 0; i < tails->n && tails->status == EXIT_HOLDS; i++)
        say (tails, i, follow_check_coordinator (follow, NULL, NULL) > 0);
}

static int follow_to_end (struct tails *tails, struct follow *follow, struct err *err)
{
    while (tails->status == EXIT_HOLDS && !cli_reader_left ()) {
        int held = follow_check_coordinator (follow, NULL, err);
        if (held < 0 || follow_read_journal (follow, err) < 0)
            return -1;
        refresh (tails);
        if (tails->board->ended || !held)
            return 0;
        grow_all (tails, false);
        (void) poll (NULL, 0, LOOK_MS);
    }
    return 0;
}

int log_follow (const struct cli *cli, const struct run_dir *dir, struct follow *follow, struct board *board,
                const struct log_filter *filter, const struct log_told *told, bool raw)
{
    struct tails tails = { .cli = cli,
                           .dir = dir,
                           .board = board,
                           .filter = filter,
                           .told = told,
                           .raw = raw,
                           .piece = mem_alloc (PIECE_BYTES) };
    struct err err = { 0 };
    if (follow_to_end (&tails, follow, &err) < 0)
        tails.status = cli_fail (cli, &err);
    else if (!cli_reader_left ())
        grow_last (&tails, follow);
    if (tails.status == EXIT_HOLDS && !board->ended && !cli_reader_left ()) {
        err_set (&err, ERR_STATE,
                 "no coordinator holds run %.8s, so no output arrives; take it over with sliceup resume", dir->id);
        tails.status = cli_fail (cli, &err);
    }
    if (tails.status == EXIT_HOLDS && tails.lost)
        tails.status = EXIT_BROKEN;
    mem_free (tails.items);
    mem_free (tails.piece);
    return tails.status;
}
