/* damage.c - damages one file of a stopped journal, byte by byte, and says what its readers made of each. For
 * tests/campaign/damage.
 *
 *   damage_sweep SOUND WORK ENDING FIRST LAST EVERY [held]
 *
 * SOUND is a folder with journal.db and what lies beside it; WORK an empty one, on a file system in memory. For each
 * byte FIRST, FIRST + EVERY, ... below LAST of journal.db<ENDING>, one bit of it is flipped, and then the file is cut
 * there. Each time the journal is read as every command reads it, and each OPENED-th time it is also opened as resume
 * opens it. With `held` somebody (a watcher) has the journal open all the time, so that SQLite recovers nothing and
 * believes the shared memory; then nothing is opened to write, and the shared memory is not cut (its users would die by
 * SIGBUS). Prints one line of JSON, and what passed silently on standard error; exit status 1: something did. */
#include "common/base/buf.h"
#include "common/io/atomic_file.h"
#include "coordinator/journal/journal.h"
#include "coordinator/journal/journal_private.h"
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_MAX_BYTES = 64 << 20, OPENED = 64, TOLD_MAX = 20 };

static const char *const endings[] = { "", "-wal", "-shm", ".mark" };
enum { ENDINGS = sizeof endings / sizeof endings[0] };

enum said { SAID_SAME, SAID_NAMED, SAID_TAIL, SAID_OTHERWISE, SAID_QUIET, SAIDS };
static const char *const said_words[SAIDS] = { "same", "named", "tail nobody was told of", "refused otherwise",
                                               "QUIET" };

struct sweep {
    char sound[PATH_MAX], work[PATH_MAX], journal[PATH_MAX];
    struct buf file[ENDINGS];
    int damaged;                 /* which of them */
    uint64_t last, acknowledged; /* of the sound journal */
    struct digest facts;         /* all of them */
    uint64_t counts[2][SAIDS];   /* flips, cuts */
    uint64_t opened, told;
    struct journal_reader *holder;
};

static void fail (const char *what)
{
    fprintf (stderr, "damage_sweep: %s\n", what);
    exit (2);
}

static void put (const struct sweep *sweep, int ending, size_t len)
{
    char path[PATH_MAX + 8];
    snprintf (path, sizeof path, "%s%s", sweep->journal, endings[ending]);
    if (sweep->file[ending].len == 0) {
        (void) unlink (path); /* most are not there */
        return;
    }
    /* In place: it may be mapped. */
    int fd = open (path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || write (fd, sweep->file[ending].ptr, len) != (ssize_t) len || ftruncate (fd, (off_t) len) != 0 ||
        close (fd) != 0)
        fail (path);
}

static void put_all (const struct sweep *sweep)
{
    for (int i = 0; i < ENDINGS; i++)
        put (sweep, i, sweep->file[i].len);
}

struct reading {
    struct digest_state *state;
    uint64_t last;
};

static int take (void *owner, uint64_t index, struct text bytes, struct err *err)
{
    struct reading *reading = owner;
    (void) err;
    digest_add (reading->state, bytes.ptr, bytes.len);
    reading->last = index;
    return 0;
}

static int read_facts (const struct sweep *sweep, uint64_t *last, struct digest *facts, struct err *err)
{
    struct reading reading = { .state = digest_begin () };
    *err = (struct err){ 0 };
    int rc = journal_read (sweep->journal, take, &reading, err);
    *last = reading.last;
    *facts = digest_end (reading.state);
    return rc;
}

static enum said judge (const struct sweep *sweep, struct err *err)
{
    uint64_t last;
    struct digest facts;
    if (read_facts (sweep, &last, &facts, err) != 0)
        return err->code == ERR_DAMAGE ? SAID_NAMED : SAID_OTHERWISE;
    if (last == sweep->last)
        return digest_equal (&facts, &sweep->facts) ? SAID_SAME : SAID_QUIET;
    return last < sweep->last && last >= sweep->acknowledged ? SAID_TAIL : SAID_QUIET;
}

/* Resume decides as a reader does; its commit and its checkpoint change the files, so they are put back. */
static enum said judge_opening (struct sweep *sweep, enum said read, struct err *err)
{
    sweep->opened++;
    *err = (struct err){ 0 };
    struct journal *journal = journal_open (sweep->journal, err);
    uint64_t last = journal ? journal_durable_index (journal) : 0;
    bool agrees = journal
                      ? (read == SAID_SAME && last == sweep->last) || (read == SAID_TAIL && last >= sweep->acknowledged)
                      : read == SAID_NAMED && err->code == ERR_DAMAGE;
    journal_close (journal);
    put_all (sweep);
    return agrees ? read : SAID_QUIET;
}

static void count (struct sweep *sweep, bool cut, size_t at, enum said said, const struct err *err)
{
    sweep->counts[cut][said]++;
    if (said < SAID_OTHERWISE || sweep->told++ >= TOLD_MAX)
        return;
    fprintf (stderr, "%s of journal.db%s, byte %zu: %s: %s\n", cut ? "cut" : "bit flipped", endings[sweep->damaged], at,
             said_words[said], err->text);
}

static void try_one (struct sweep *sweep, bool cut, size_t at)
{
    struct err err;
    struct buf *file = &sweep->file[sweep->damaged];
    uint8_t bit = cut ? 0 : (uint8_t) (1 << (at * 5 + 3) % 8);
    file->ptr[at] ^= bit;
    put (sweep, sweep->damaged, cut ? at : file->len);
    enum said said = judge (sweep, &err);
    bool also_open = !sweep->holder && at % OPENED == 0 && said != SAID_OTHERWISE && said != SAID_QUIET;
    if (also_open) {
        put (sweep, sweep->damaged, cut ? at : file->len);
        file->ptr[at] ^= bit;
        said = judge_opening (sweep, said, &err);
        file->ptr[at] ^= bit;
    }
    count (sweep, cut, at, said, &err);
    file->ptr[at] ^= bit;
    if (cut && at == 0)
        put_all (sweep); /* SQLite removes the log of an empty database */
}

static void load (struct sweep *sweep)
{
    struct journal_mark mark;
    struct err err = { 0 };
    uint64_t index;
    struct digest chain;
    char path[PATH_MAX + 16], run[JOURNAL_RUN_ID_MAX_BYTES + 1];
    for (int i = 0; i < ENDINGS; i++) {
        buf_init (&sweep->file[i], FILE_MAX_BYTES);
        snprintf (path, sizeof path, "%s/journal.db%s", sweep->sound, endings[i]);
        if (access (path, F_OK) == 0 && file_read (path, &sweep->file[i], &err) != 0)
            fail (err.text);
    }
    put_all (sweep);
    struct journal_reader *reader = journal_reader_open (sweep->journal, &err);
    if (!reader || read_facts (sweep, &sweep->last, &sweep->facts, &err) != 0)
        fail (err.text);
    snprintf (run, sizeof run, "%s", journal_reader_position (reader, &index, &chain));
    journal_reader_close (reader);
    if (journal_mark_read (sweep->journal, run, &mark, &err) != 0)
        fail (err.text);
    sweep->acknowledged = mark.index;
}

static void hold (struct sweep *sweep, bool wanted)
{
    struct err err = { 0 };
    uint64_t last;
    struct digest facts;
    put_all (sweep);
    sweep->holder = wanted ? journal_reader_open (sweep->journal, &err) : NULL;
    if (wanted && (!sweep->holder || read_facts (sweep, &last, &facts, &err) != 0))
        fail (err.text);
}

static bool may_cut (const struct sweep *sweep)
{
    return !sweep->holder || strcmp (endings[sweep->damaged], "-shm") != 0;
}

static uint64_t bad_n (const struct sweep *sweep)
{
    uint64_t n = 0;
    for (int cut = 0; cut < 2; cut++)
        n += sweep->counts[cut][SAID_QUIET] + sweep->counts[cut][SAID_OTHERWISE];
    return n;
}

static void print_counts (const struct sweep *sweep, bool cut)
{
    printf ("\"%s\": {", cut ? "cuts" : "flips");
    for (int i = 0; i < SAIDS; i++)
        printf ("%s\"%s\": %" PRIu64, i ? ", " : "", said_words[i], sweep->counts[cut][i]);
    printf ("}");
}

int main (int argc, char **argv)
{
    struct sweep sweep = { 0 };
    if (argc != 7 && !(argc == 8 && strcmp (argv[7], "held") == 0))
        fail ("usage: damage_sweep SOUND WORK ENDING FIRST LAST EVERY [held]");
    snprintf (sweep.sound, sizeof sweep.sound, "%s", argv[1]);
    snprintf (sweep.journal, sizeof sweep.journal, "%s/journal.db", argv[2]);
    while (sweep.damaged < ENDINGS && strcmp (endings[sweep.damaged], argv[3]) != 0)
        sweep.damaged++;
    if (sweep.damaged == ENDINGS)
        fail ("ENDING is one of: '' -wal -shm .mark");
    load (&sweep);
    hold (&sweep, argc == 8);
    size_t first = strtoull (argv[4], NULL, 10), last = strtoull (argv[5], NULL, 10),
           every = strtoull (argv[6], NULL, 10);
    if (last > sweep.file[sweep.damaged].len)
        last = sweep.file[sweep.damaged].len;
    for (size_t at = first; at < last; at += every)
        try_one (&sweep, false, at);
    put_all (&sweep);
    for (size_t at = may_cut (&sweep) ? last : first; at-- > first;)
        if ((at - first) % every == 0)
            try_one (&sweep, true, at);
    journal_reader_close (sweep.holder);
    printf ("{\"bytes\": %zu, \"last\": %" PRIu64 ", \"acknowledged\": %" PRIu64 ", \"opened\": %" PRIu64 ", ",
            sweep.file[sweep.damaged].len, sweep.last, sweep.acknowledged, sweep.opened);
    print_counts (&sweep, false);
    printf (", ");
    print_counts (&sweep, true);
    printf ("}\n");
    for (int i = 0; i < ENDINGS; i++)
        buf_release (&sweep.file[i]);
    return bad_n (&sweep) > 0;
}
