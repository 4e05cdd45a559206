/* protected.c - files of this machine and the hosts that sliceup executes, imports, reads as configuration or trusts:
 * no program of a rung may write them, else it would control our next process. */

#include "common/base/path.h"
#include "common/conf/draft.h"

/* Each RUN message contains them. */
enum { PROTECTED_BYTES_MAX = 16 * 1024 };

static void protected_add (struct draft *draft, struct text path)
{
    struct cache_plan *plan = &draft->plan.cache;
    const char *whole = text_copy (draft->arena, path).ptr;
    if (path.len < 2 || whole[0] != '/')
        return;
    for (uint32_t i = 0; i < plan->protected.n && i < PROTECTED_MAX; i++)
        if (path_is_below (whole, plan->protected.items[i].ptr))
            return;
    if (plan->protected.n < PROTECTED_MAX)
        plan->protected.items[plan->protected.n] = text_of (whole);
    plan->protected.n++;
}

/* Protects the folder of `path`; only the file itself where all users may write, such as /tmp. */
static void add_with_folder (struct draft *draft, struct text path)
{
    static const char *const for_all[] = { "/tmp", "/var/tmp", "/dev/shm" };
    struct text folder = path_folder (path);
    bool alone = folder.len < 2 || text_is_word (folder, for_all, sizeof for_all / sizeof for_all[0]) ||
                 text_is_among (folder, draft->plan.cache.writable.items, draft->plan.cache.writable.n);
    protected_add (draft, alone ? path : folder);
}

static void add_environments (struct draft *draft)
{
    if (draft->plan.pins.env_dir.len)
        add_with_folder (draft, draft->plan.pins.env_dir);
    for (uint32_t i = 0; i < draft->plan.hosts.n; i++)
        if (draft->plan.hosts.items[i].env_dir.len)
            add_with_folder (draft, draft->plan.hosts.items[i].env_dir);
}

static void add_plugin (struct draft *draft, const struct rung *rung)
{
    for (uint32_t i = 0; i < rung->args.n; i++) {
        struct text value = rung->args.items[i].value; /* JSON */
        if (text_is (rung->args.items[i].name, "plugin") && value.len > 2 && value.ptr[0] == '"')
            add_with_folder (draft, (struct text){ value.ptr + 1, value.len - 2 });
    }
}

static void add_programs (struct draft *draft)
{
    for (uint32_t i = 0; i < draft->plan.rungs.n; i++) {
        const struct rung *rung = &draft->plan.rungs.items[i];
        add_with_folder (draft, rung->program.path);
        for (uint32_t k = 0; k < rung->files.n; k++)
            add_with_folder (draft, rung->files.items[k].file.path);
        if (rung->argv.n)
            add_with_folder (draft, rung->argv.items[0]);
        if (rung->kind == PROGRAM_BUILTIN)
            add_plugin (draft, rung);
    }
}

static void add_ssh (struct draft *draft)
{
    const struct ssh_plan *ssh = &draft->plan.start.ssh;
    protected_add (draft, ssh->known_hosts);
    for (uint32_t i = 0; i < ssh->identities.n; i++)
        protected_add (draft, ssh->identities.items[i]);
}

/* A writable path below a protected folder would not be writable. */
static void check_writable (struct draft *draft)
{
    const struct cache_plan *plan = &draft->plan.cache;
    for (uint32_t i = 0; i < plan->writable.n; i++)
        for (uint32_t k = 0; k < plan->protected.n && k < PROTECTED_MAX; k++)
            if (path_is_below (text_copy (draft->arena, plan->writable.items[i]).ptr, plan->protected.items[k].ptr))
                problem_at (draft->problems, draft->root,
                            "cache.writable %.*s lies in %.*s, a folder of sliceup itself that programs may not write; "
                            "expected a folder apart from it",
                            TEXT_ARG (plan->writable.items[i]), TEXT_ARG (plan->protected.items[k]));
}

static void check_room (struct draft *draft)
{
    struct cache_plan *plan = &draft->plan.cache;
    uint32_t bytes = 0;
    for (uint32_t i = 0; i < plan->protected.n && i < PROTECTED_MAX; i++)
        bytes += plan->protected.items[i].len;
    if (plan->protected.n > PROTECTED_MAX || bytes > PROTECTED_BYTES_MAX)
        problem_at (draft->problems, draft->root,
                    "the run uses %u folders with programs, environments and configuration, expected at most %d with "
                    "%d bytes of paths: put canaries and files of the slice into fewer folders",
                    plan->protected.n, PROTECTED_MAX, PROTECTED_BYTES_MAX);
}

void draft_protected_paths (struct draft *draft)
{
    struct cache_plan *plan = &draft->plan.cache;
    if (plan->mode == CACHE_OFF || plan->mode == CACHE_NONE)
        return;
    plan->protected.items = arena_array (draft->arena, PROTECTED_MAX, sizeof *plan->protected.items);
    if (draft->options->home_named)
        draft_note_path (draft, draft->options->home_named);
    protected_add (draft, text_of (draft->options->home));
    protected_add (draft, text_of (draft->options->share_dir));
    add_with_folder (draft, text_of (draft->options->program));
    protected_add (draft, draft->plan.start.directory);
    add_environments (draft);
    add_programs (draft);
    if (draft->plan.pins.wheels.n)
        add_with_folder (draft, draft->plan.pins.wheels.items[0].file.path);
    add_ssh (draft);
    for (uint32_t i = 0; i < draft->read.n; i++)
        protected_add (draft, draft->read.items[i]);
    check_room (draft);
    check_writable (draft);
}
