#include "worker/attempt/log_search.h"

#include "common/io/fd.h"
#include "common/wire/wire.h"
#include "worker/attempt/attempt.h"
#include "worker/attempt/task_channel.h"
#include "worker/files/kit.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE_BYTES = 256 * 1024 };

/* The program could have put anything in the place of its log: a pipe that nobody writes to, a file without end. */
static int open_log (const char *path, struct err *err)
{
    struct stat is;
    int fd = open (path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return err_errno (err, ERR_IO, "cannot open the log %s", path);
    if (fstat (fd, &is) == 0 && S_ISREG (is.st_mode))
        return fd;
    close (fd);
    return err_set (err, ERR_REFUSED, "the log %s is no longer a regular file", path);
}

/* Of a line that stayed of a cut: where the cut begins. */
static uint64_t printed_at (const struct output_cut *cut, uint64_t log_at)
{
    if (!cut->tail_at || log_at < cut->cut_at)
        return log_at;
    return log_at < cut->tail_at ? cut->cut_at : cut->tail_from + (log_at - cut->tail_at);
}

/* Of what a program printed before it was stopped. */
static bool ends_in_cut (const struct printed_log *place)
{
    return place->output_bytes > place->cut.cut_at && place->output_bytes <= place->cut.tail_from;
}

/* No more than was printed. */
static int scan_file (const struct printed_log *place, struct classify_run *run, uint64_t *bytes, struct err *err)
{
    bool in_tail = place->output_bytes > place->cut.tail_from;
    uint64_t behind_bytes = in_tail ? place->output_bytes - place->cut.tail_from : 0;
    uint64_t most = in_tail || ends_in_cut (place) ? place->cut.tail_at + behind_bytes : place->output_bytes;
    int fd = open_log (place->log, err);
    if (fd < 0)
        return -1;
    char *piece = mem_alloc (PIECE_BYTES);
    ssize_t got = 1;
    while (*bytes < most && got != 0) {
        uint64_t left_bytes = most - *bytes;
        got = fd_read (fd, piece, left_bytes < PIECE_BYTES ? (size_t) left_bytes : PIECE_BYTES);
        if (got < 0)
            break;
        classify_bytes (run, (struct text){ piece, (uint32_t) got });
        *bytes += (uint64_t) got;
    }
    int rc = got < 0 ? err_errno (err, ERR_IO, "cannot read the log %s to search it for signatures", place->log) : 0;
    mem_free (piece);
    close (fd);
    return rc;
}

/* Each has its place in all that was printed; behind a cut its line was not counted. */
static void place_sightings (struct signature_scan_result *seen, const struct printed_log *place, uint64_t log_bytes)
{
    uint64_t tail_at = place->output_bytes - place->tail.len;
    for (uint32_t i = 0; i < seen->sightings_n; i++) {
        struct sighting *sighting = &seen->sightings[i];
        uint64_t at = sighting->offset;
        sighting->offset = at > log_bytes ? tail_at + (at - log_bytes - 1) : printed_at (&place->cut, at);
        if (at > log_bytes || (place->cut.tail_at && at >= place->cut.cut_at))
            sighting->line = 0;
    }
}

/* What it makes lives in `arena`. */
static int search (const struct printed_log *place, const struct signature_table *table, struct arena *arena,
                   struct signature_scan_result *out, struct err *err)
{
    uint64_t log_bytes = 0;
    struct signature_set *set = signature_set_build (table->signatures.items, table->signatures.n);
    if (!set)
        return err_set (err, ERR_LIMIT, "the texts in the table of signatures have more than %d bytes",
                        SIGNATURE_SET_TEXT_BYTES);
    struct classify_run *run = classify_begin (set);
    int rc = scan_file (place, run, &log_bytes, err);
    bool cut = (ends_in_cut (place) || printed_at (&place->cut, log_bytes) < place->output_bytes) &&
               place->tail.len <= place->output_bytes;
    if (cut) {
        classify_bytes (run, TEXT_LIT ("\n")); /* what was dropped in between ends the line */
        classify_bytes (run, place->tail);
    }
    classify_end (run, arena, out);
    place_sightings (out, place, log_bytes);
    signature_set_free (set);
    return cut && place->tail.len ? 0 : rc; /* its end alone is worth something */
}

/* ---- the task ---- */

static int read_table (struct text bytes, struct signature_table *table, struct arena *arena, struct err *err)
{
    if (wire_get_record (bytes, &signature_table_record, table, arena, err) < 0)
        return err_prefix (err, "cannot read the table of signatures");
    return 0;
}

static bool is_among_backends (const struct signature *signature, struct text backend)
{
    return signature->backends.n == 0 || text_is_among (backend, signature->backends.items, signature->backends.n);
}

/* Of what succeeded, only texts count that no program may print which does what it should. */
static void keep_always (struct signature_table *table, const struct msg_run *run)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < table->signatures.n; i++)
        if (table->signatures.items[i].always && is_among_backends (&table->signatures.items[i], run->profile.backend))
            table->signatures.items[kept++] = table->signatures.items[i];
    table->signatures.n = kept;
}

/* The form of an error says nothing against a program that succeeded. */
static void drop_rules (struct signature_scan_result *seen, const struct signature_table *table)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < seen->sightings_n; i++)
        for (uint32_t k = 0; k < table->signatures.n; k++)
            if (text_equal (seen->sightings[i].signature, table->signatures.items[k].id))
                seen->sightings[kept++] = seen->sightings[i];
    seen->sightings_n = kept;
    seen->shown_n = 0;
}

static int read_log (const struct msg_run *run, const struct task_request *request, const char *directory,
                     struct text table_bytes, struct arena *arena, struct task_answer *answer, struct err *err)
{
    struct signature_table table = { 0 };
    struct signature_scan_result seen = { 0 };
    struct text log = attempt_file_path (arena, directory, "logs", &run->key, ".log");
    struct printed_log place = { log.ptr, request->tail, request->output_bytes, request->cut };
    if (read_table (table_bytes, &table, arena, err) < 0)
        return -1;
    if (request->succeeded)
        keep_always (&table, run);
    if (table.signatures.n && search (&place, &table, arena, &seen, err) < 0)
        return -1;
    if (request->succeeded)
        drop_rules (&seen, &table);
    answer->sightings.items = seen.sightings;
    answer->sightings.n = seen.sightings_n;
    answer->shown.items = seen.shown;
    answer->shown.n = seen.shown_n;
    answer->done = true;
    return 0;
}

void log_search_task (const struct msg_run *run, const struct task_request *request, const char *directory,
                      struct arena *arena, struct task_answer *answer)
{
    struct err err = { 0 };
    struct buf bytes;
    buf_init (&bytes, KIT_FILE_MAX_BYTES);
    if (!kit_read_file (&run->signatures, directory, arena, &bytes)) {
        answer->missing.items = arena_array (arena, 1, sizeof *answer->missing.items);
        answer->missing.items[answer->missing.n++] = run->signatures.sha256;
    } else if (read_log (run, request, directory, buf_as_text (&bytes), arena, answer, &err) < 0) {
        task_answer_set_failure (answer, arena, OWNER_SLICEUP, &err);
    }
    buf_release (&bytes);
}
