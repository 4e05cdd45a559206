/* host_files.c - what hosts give to one another: a port for others, opened with the first file that is here as a whole,
 * and the host that this one asks. */
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/wire/wire.h"
#include "worker/run/join.h"

/* ---- the files ---- */

/* Each is kept open, since the folder of wheels is removed as soon as an environment is complete. */
struct shared {
    char sha256[DIGEST_HEX_BYTES];
    int fd;
    uint64_t bytes;
};

struct share {
    struct shared files[FETCH_FILES_MAX];
    uint32_t n;
    char piece[FILE_CHUNK_MAX_BYTES];
};

static void share_destroy (struct share *share)
{
    for (uint32_t i = 0; share && i < share->n; i++)
        close (share->files[i].fd);
    mem_free (share);
}

/* The newest: a copy that was damaged on the disk is fetched again. */
static const struct shared *share_find (const struct share *share, struct text sha256)
{
    for (uint32_t i = share->n; i-- > 0;)
        if (text_is (sha256, share->files[i].sha256))
            return &share->files[i];
    return NULL;
}

static bool share_add (struct share *share, struct text sha256, const char *path)
{
    struct shared *file = &share->files[share->n];
    struct stat status;
    if (share->n == FETCH_FILES_MAX || !text_to_c (sha256, file->sha256, sizeof file->sha256))
        return false;
    file->fd = open (path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (file->fd < 0)
        return false;
    if (fstat (file->fd, &status) < 0 || !S_ISREG (status.st_mode)) {
        close (file->fd);
        return false;
    }
    file->bytes = (uint64_t) status.st_size;
    share->n++;
    return true;
}

static struct msg_chunk share_answer (struct share *share, const struct msg_fetch *ask)
{
    struct msg_chunk chunk = { .sha256 = ask->sha256, .offset = ask->offset };
    const struct shared *file = share_find (share, ask->sha256);
    ssize_t n = file ? pread (file->fd, share->piece, sizeof share->piece, (off_t) ask->offset) : -1;
    if (n <= 0) {
        chunk.problem = TEXT_LIT ("this host does not have it");
        return chunk;
    }
    chunk.bytes = (struct text){ share->piece, (uint32_t) n };
    chunk.size_bytes = file->bytes;
    return chunk;
}

/* ---- the links ---- */

enum { ASK_MAX_BYTES = 1024, PIECE_MAX_BYTES = FILE_CHUNK_MAX_BYTES + 4096, FRAMES_AT_ONCE = 64, ASKS_AT_ONCE = 4 };

struct host_files {
    struct loop *loop;
    const struct join_config *join;
    const struct log *log;
    struct share *share;
    struct peer *listener, *asked;
    char asked_key[LINK_KEY_BYTES];
    struct buf frame;
    struct arena arena; /* of the last frame */
};

struct host_files *host_files_make (struct loop *loop, const struct join_config *join, const struct log *log)
{
    struct host_files *files = mem_alloc (sizeof *files);
    *files = (struct host_files){ .loop = loop, .join = join, .log = log };
    buf_init (&files->frame, PIECE_MAX_BYTES);
    return files;
}

static void link_close (struct host_files *files, struct peer **peer)
{
    if (*peer)
        loop_forget (files->loop, peer_fd (*peer));
    peer_close (*peer);
    *peer = NULL;
}

void host_files_close (struct host_files *files)
{
    link_close (files, &files->listener);
    link_close (files, &files->asked);
    share_destroy (files->share);
    files->share = NULL;
}

void host_files_destroy (struct host_files *files)
{
    if (!files)
        return;
    host_files_close (files);
    buf_release (&files->frame);
    explicit_bzero (files->asked_key, sizeof files->asked_key);
    arena_release (&files->arena);
    mem_free (files);
}

/* The event only ends the wait: host_files_take follows at the end of the pass. */
static void on_event (void *owner, int fd, uint32_t events)
{
    (void) owner;
    (void) fd;
    (void) events;
}

static struct peer *link_watch (struct host_files *files, struct peer *peer, struct err *err)
{
    if (!peer || loop_watch (files->loop, peer_fd (peer), EPOLLIN, on_event, files, err) == 0)
        return peer;
    peer_close (peer);
    return NULL;
}

static bool link_send (struct host_files *files, struct peer *peer, struct msg *msg)
{
    msg->major = PROTOCOL_MAJOR;
    msg->minor = PROTOCOL_MINOR;
    msg->run_id = (struct text){ (const char *) files->join->run_id, RUN_ID_BYTES };
    buf_clear (&files->frame);
    wire_put_msg (&files->frame, msg);
    return !files->frame.overflow && peer_send (peer, files->frame.ptr, files->frame.len);
}

/* Frames of others are no reason to say anything: who sends them knows this run's key. */
static bool link_receive (struct host_files *files, struct peer *peer, enum msg_kind kind, struct msg *msg)
{
    struct text bytes, run_id = { (const char *) files->join->run_id, RUN_ID_BYTES };
    if (!peer || !peer_receive (peer, &bytes))
        return false;
    arena_reset (&files->arena);
    if (wire_get_msg (bytes, msg, &files->arena, NULL) < 0 || msg->kind != kind || !text_equal (msg->run_id, run_id))
        msg->kind = MSG_NONE;
    return true;
}

/* ---- asking ---- */

static bool ask_connect (struct host_files *files, const struct giver *giver)
{
    struct err err = { 0 };
    char address[NAME_MAX_BYTES + 1];
    bool again = text_is (giver->key, files->asked_key);
    if (files->asked && again)
        return true;
    link_close (files, &files->asked);
    if (!text_to_c (giver->key, files->asked_key, sizeof files->asked_key) ||
        !text_to_c (giver->address, address, sizeof address))
        return false;
    files->asked = link_watch (
        files, peer_connect (address, (uint16_t) giver->port, files->asked_key, PIECE_MAX_BYTES, &err), &err);
    if (!again)
        log_print (files->log, "asks the host at %s, port %u, for files%s%s", address, (unsigned) giver->port,
                   files->asked ? "" : ": ", err.text);
    return files->asked != NULL;
}

void host_files_leave (struct host_files *files)
{
    link_close (files, &files->asked);
}

bool host_files_ask (struct host_files *files, const struct msg_fetch *ask, const struct giver *giver)
{
    struct msg msg = { .kind = MSG_FETCH, .of.fetch = *ask };
    return ask_connect (files, giver) && link_send (files, files->asked, &msg);
}

/* ---- giving ---- */

static bool listener_open (struct host_files *files, struct text address)
{
    struct err err = { 0 };
    char at[NAME_MAX_BYTES + 1];
    if (files->listener)
        return true;
    if (!text_to_c (address, at, sizeof at))
        return false;
    files->listener = link_watch (files, peer_listen (at, ASK_MAX_BYTES, &err), &err);
    if (!files->listener)
        log_print (files->log, "other hosts cannot ask this one for files: %s", err.text);
    return files->listener != NULL;
}

void host_files_offer (struct host_files *files, struct text address, const char *path, struct msg_fetch *have)
{
    if (!files->share)
        files->share = mem_alloc (sizeof *files->share);
    if (!share_add (files->share, have->sha256, path) || !listener_open (files, address))
        return;
    have->port = peer_port (files->listener);
    have->key = text_of (peer_public_key (files->listener));
}

/* Few, since each reads from the disk: a heartbeat waits meanwhile, however many ask. */
static uint32_t listener_answer (struct host_files *files)
{
    struct msg asked;
    uint32_t n = 0;
    for (; n < ASKS_AT_ONCE && link_receive (files, files->listener, MSG_FETCH, &asked); n++) {
        if (asked.kind != MSG_FETCH)
            continue;
        struct msg answer = { .kind = MSG_CHUNK, .of.chunk = share_answer (files->share, &asked.of.fetch) };
        (void) link_send (files, files->listener, &answer); /* lost: it is asked for again */
    }
    return n + (files->listener && peer_frames_remain (files->listener));
}

uint32_t host_files_take (struct host_files *files, host_files_fn *fn, void *owner)
{
    struct msg got;
    uint32_t n = listener_answer (files), given = 0;
    for (; given < FRAMES_AT_ONCE && link_receive (files, files->asked, MSG_CHUNK, &got); given++)
        if (got.kind == MSG_CHUNK)
            fn (owner, &got.of.chunk);
    return n + given + (files->asked && peer_frames_remain (files->asked));
}
