#include "coordinator/io/run_facts.h"

#include "common/wire/wire.h"
#include "coordinator/io/journal.h"

struct reading { run_fact_fn *fn; void *owner; struct arena arena; };

static int read_fact (void *owner, uint64_t index, struct text bytes, struct err *err)
{
    struct reading *reading = owner;
    struct fact fact;
    arena_reset (&reading->arena);
    if (wire_get_fact (bytes, &fact, &reading->arena, err) < 0) {
        err->code = ERR_DAMAGE;
        return err_prefix (err, "fact %llu of the journal", (unsigned long long) index);
    }
    reading->fn (reading->owner, &fact);
    return 0;
}

int run_facts (const struct run_dir *dir, run_fact_fn *fn, void *owner, struct err *err)
{
    char path[RUN_PATH_BYTES];
    struct reading reading = { .fn = fn, .owner = owner };
    int rc = journal_read (run_dir_path (dir, "journal.db", path), 0, read_fact, &reading, err);
    arena_release (&reading.arena);
    return rc;
}
