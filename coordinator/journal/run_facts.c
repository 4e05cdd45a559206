#include "coordinator/journal/run_dir.h"

#include <inttypes.h>
#include <string.h>

#include "common/io/log.h"
#include "common/wire/wire.h"
#include "coordinator/journal/journal_private.h"

struct reading {
    const char *run_id;
    run_fact_fn *fn;
    void *owner;
    struct arena arena;
};

int run_facts_set_lost_error (const char *run_id, struct text why, struct err *err)
{
    return err_set (err, ERR_DAMAGE,
                    "the journal of run %.8s lacks facts that were acknowledged: %.*s; " JOURNAL_REMEDY, run_id,
                    TEXT_ARG (why));
}

/* The run read last: hosts that contradict its record, and how many of them were already reported. */
static struct {
    char run[RUN_ID_HEX_BYTES], text[2 * ERR_TEXT_BYTES];
    uint32_t n, told;
    bool by[HOSTS_MAX];
} claims;

static void take_claim (const struct fact *fact)
{
    const struct fact_loss_told *told = fact->kind == FACT_LOSS_TOLD ? &fact->of.loss_told : NULL;
    if (fact->kind == FACT_RUN_OPENED || (told && told->believed)) { /* the latter is an error by itself */
        claims.n = 0;
        claims.text[0] = '\0';
        memset (claims.by, 0, sizeof claims.by);
    }
    if (!told || told->believed || told->host >= HOSTS_MAX || claims.by[told->host])
        return;
    size_t len = strlen (claims.text);
    snprintf (claims.text + len, sizeof claims.text - len, "%s%.*s", len ? "; " : "", TEXT_ARG (told->why));
    claims.by[told->host] = true;
    claims.n++;
}

void run_facts_warn (const char *run_id)
{
    if (strcmp (claims.run, run_id) != 0)
        claims.told = 0;
    if (claims.n > claims.told)
        log_print (&(struct log){ .to = stderr, .program = "sliceup" },
                   "warning: run %.8s: %u host%s contradict%s the record, and %s: %s", run_id, claims.n,
                   plural (claims.n), claims.n == 1 ? "s" : "",
                   claims.n == 1 ? "no other host confirms it" : "they are not more than the others", claims.text);
    snprintf (claims.run, sizeof claims.run, "%s", run_id);
    claims.told = claims.n > claims.told ? claims.n : claims.told;
}

int run_facts_check_fact (const char *run_id, const struct fact *fact, struct err *err)
{
    take_claim (fact);
    if (fact->kind == FACT_LOSS_TOLD && fact->of.loss_told.believed)
        return run_facts_set_lost_error (run_id, fact->of.loss_told.why, err);
    struct text run = fact->of.run_opened.run;
    if (fact->kind == FACT_RUN_OPENED && !text_is (run, run_id))
        return err_set (err, ERR_DAMAGE, "the journal in the folder of run %.8s belongs to run %.*s; " JOURNAL_REMEDY,
                        run_id, TEXT_ARG (run));
    return 0;
}

int run_facts_decode (const char *run_id, uint64_t index, struct text bytes, struct arena *arena, struct fact *fact,
                      struct err *err)
{
    struct err why = { 0 };
    arena_reset (arena);
    if (wire_get_fact (bytes, fact, arena, &why) == 0 && fact->index != index)
        err_set (&why, ERR_DAMAGE, "it says that it is fact %" PRIu64, fact->index);
    else if (!why.code && (index == 1) != (fact->kind == FACT_RUN_OPENED))
        err_set (&why, ERR_DAMAGE, "a journal begins with run-opened, and has it once");
    if (why.code)
        return err_set (err, ERR_DAMAGE, "the journal of run %.8s is damaged at fact %" PRIu64 ": %s; " JOURNAL_REMEDY,
                        run_id, index, why.text);
    return run_facts_check_fact (run_id, fact, err);
}

static int read_fact (void *owner, uint64_t index, struct text bytes, struct err *err)
{
    struct reading *reading = owner;
    struct fact fact;
    if (run_facts_decode (reading->run_id, index, bytes, &reading->arena, &fact, err) != 0)
        return -1;
    reading->fn (reading->owner, &fact);
    return 0;
}

int run_facts_each (const struct run_dir *dir, run_fact_fn *fn, void *owner, struct err *err)
{
    struct reading reading = { .run_id = dir->id, .fn = fn, .owner = owner };
    int rc = journal_read (RUN_PATH (dir, "journal.db"), read_fact, &reading, err);
    arena_release (&reading.arena);
    if (rc == 0)
        run_facts_warn (dir->id);
    return rc;
}

static int run_facts_read_one (const struct run_dir *dir, bool last, run_fact_fn *fn, void *owner, struct err *err)
{
    struct reading reading = { .run_id = dir->id, .fn = fn, .owner = owner };
    bool more = false;
    struct journal_reader *reader = journal_reader_open (RUN_PATH (dir, "journal.db"), err);
    int rc = reader ? 0 : -1;
    if (rc == 0 && last)
        rc = journal_reader_seek_last (reader, err);
    if (rc == 0)
        rc = journal_reader_read_some (reader, 1, read_fact, &reading, &more, err);
    journal_reader_close (reader);
    arena_release (&reading.arena);
    return rc < 0 || more ? rc : err_set (err, ERR_STATE, "run %.8s has no facts", dir->id);
}

int run_facts_read_first (const struct run_dir *dir, run_fact_fn *fn, void *owner, struct err *err)
{
    return run_facts_read_one (dir, false, fn, owner, err);
}

int run_facts_read_last (const struct run_dir *dir, run_fact_fn *fn, void *owner, struct err *err)
{
    return run_facts_read_one (dir, true, fn, owner, err);
}

struct plan_copy {
    struct arena *arena;
    struct plan *plan;
};

static void copy_plan (void *owner, const struct fact *fact)
{
    struct plan_copy *copy = owner;
    record_copy (&plan_record, copy->plan, &fact->of.run_opened.plan, copy->arena);
}

int run_facts_read_plan (const struct run_dir *dir, struct arena *arena, struct plan *plan, struct err *err)
{
    struct plan_copy copy = { arena, plan };
    *plan = (struct plan){ 0 };
    return run_facts_read_first (dir, copy_plan, &copy, err);
}

static void note_end (void *owner, const struct fact *fact)
{
    *(bool *) owner |= fact->kind == FACT_RUN_ENDED;
}

int run_facts_read_end (const struct run_dir *dir, bool *ended, struct err *err)
{
    *ended = false;
    return run_facts_each (dir, note_end, ended, err);
}
