/* cache.c - the compile cache of a slice: who may write it, how others are refused, and further writable paths. */

#include "common/base/path.h"
#include "common/conf/draft.h"

/* The path without '//', '.' and a '/' at its end, as path_is_below compares paths. ".." was refused before. */
static struct text plain_path (struct draft *draft, struct text path)
{
    struct text plain = { .ptr = "", .len = 0 };
    while (path.len > 0) {
        struct text part = text_take_until (&path, '/');
        if (part.len > 0 && !text_is (part, "."))
            plain = text_format (draft->arena, "%.*s/%.*s", TEXT_ARG (plain), TEXT_ARG (part));
    }
    return plain;
}

/* On other hosts a relative path (like the default) would name a different folder on each. */
static void read_root (struct draft *draft, const struct conf_value *root)
{
    struct cache_plan *plan = &draft->plan.cache;
    if (draft_is_remote (draft) && plan->mode != CACHE_PER_HOST && root->good && root->text.ptr[0] != '/') {
        problem_at (draft->problems, root->node,
                    "launcher: %s %s, expected cache.root as an absolute path on storage that all hosts share at this "
                    "path, or mode: per-host or off",
                    enum_name_of (&launcher_names, draft->plan.launcher),
                    root->given ? "with a relative cache.root" : "without cache.root");
        return;
    }
    struct text full = draft_host_path (draft, root);
    plan->root = plain_path (draft, full);
    if (full.len > 0 && plan->root.len == 0)
        problem_at (draft->problems, root->node, "the cache root is %s, expected a folder below /",
                    problem_quote (draft->problems, root->text));
}

static void refuse_writer (struct draft *draft, const struct conf_value *writer)
{
    bool own = draft->plan.cache.mode == CACHE_PER_HOST;
    if (writer->given)
        problem_at (draft->problems, writer->node, "cache.writer is set with mode: %s, expected no writer: %s",
                    enum_name_of (&cache_mode_names, draft->plan.cache.mode),
                    own ? "every host writes its own cache" : "hosts only read published generations");
}

static int check_candidate (struct draft *draft, const struct conf_value *writer, struct text name)
{
    if (plan_host_rank (&draft->plan, name) >= 0)
        return 0;
    struct text all = plan_fold_all_hosts (&draft->plan, UINT32_MAX, draft->arena);
    return problem_at (draft->problems, writer->node,
                       "the writer %s is not a host of this slice, expected one of its hosts%s, %s",
                       problem_quote (draft->problems, name), draft->excluded.n ? " that are not excluded" : "",
                       problem_quote (draft->problems, all));
}

static void read_writers (struct draft *draft, const struct conf_value *writer)
{
    struct cache_plan *plan = &draft->plan.cache;
    struct name_list names = { 0 };
    int result = 0;
    if (draft->plan.hosts.n == 0 || (writer->given && !writer->good))
        return;
    if (!writer->given)
        names = (struct name_list){ .items = &draft->plan.hosts.items[0].name, .n = 1 };
    else if (draft_host_set (draft, writer->node, true, &names) != 0)
        return;
    if (names.n == 0 || names.n > WRITERS_MAX) {
        problem_at (draft->problems, writer->node, "cache.writer names %u hosts, expected 1 to %d", names.n,
                    WRITERS_MAX);
        return;
    }
    for (uint32_t i = 0; i < names.n; i++)
        result |= check_candidate (draft, writer, names.items[i]);
    if (result != 0)
        return;
    plan->writers.items = arena_copy (draft->arena, names.items, names.n * sizeof *names.items);
    plan->writers.n = names.n;
    plan->writer = names.items[0];
}

/* Absolute, without "//", "." and "..": such a path lies in another exactly when its text begins with the other. */
static bool path_is_plain (struct text path)
{
    struct text part;
    bool good = path.len > 1 && path.len <= PATH_MAX_BYTES && text_take_until (&path, '/').len == 0;
    while (good && text_next_item (&path, '/', &part))
        good = part.len > 0 && !text_is (part, ".") && !text_is (part, "..");
    return good;
}

static void read_writable_path (struct draft *draft, const struct yaml_node *path)
{
    struct cache_plan *plan = &draft->plan.cache;
    if (path->kind != YAML_SCALAR || yaml_is_null (path))
        problem_at (draft->problems, path, "an item of cache.writable is %s, expected an absolute path",
                    path->kind == YAML_SCALAR ? "nothing" : yaml_kind_name (path->kind));
    else if (!path_is_plain (path->text))
        problem_at (draft->problems, path,
                    "the writable path is %s, expected an absolute path below / that has no '.', '..' or '//' in it "
                    "and no '/' at its end",
                    problem_quote (draft->problems, path->text));
    else if (plan->root.len &&
             (path_is_below (path->text.ptr, plan->root.ptr) || path_is_below (plan->root.ptr, path->text.ptr)))
        problem_at (draft->problems, path,
                    "the writable path %s %s the cache root %.*s, expected a folder apart from it: programs that write "
                    "there could write the cache",
                    problem_quote (draft->problems, path->text),
                    path_is_below (path->text.ptr, plan->root.ptr) ? "lies in" : "holds", TEXT_ARG (plan->root));
    else
        plan->writable.items[plan->writable.n++] = path->text;
}

static void read_writable (struct draft *draft, const struct conf_value *list)
{
    struct cache_plan *plan = &draft->plan.cache;
    const struct yaml_node *path;
    (void) section_list (list, WRITABLE_MAX, "cache.writable names", "paths", draft->problems, &path);
    plan->writable.items = arena_array (draft->arena, WRITABLE_MAX, sizeof *plan->writable.items);
    for (; path; path = path->next)
        read_writable_path (draft, path);
}

/* A leading zero is refused: some readers of YAML take 010 for 8. */
static bool uid_parse (struct text word, uint64_t *uid)
{
    return !(word.len > 1 && word.ptr[0] == '0') && text_to_u64 (word, uid) && *uid <= TRUST_UID_MAX;
}

static void read_trusted (struct draft *draft, const struct yaml_node *user)
{
    uid_list *trust = &draft->plan.cache.trust;
    uint64_t uid = 0;
    bool number = user->kind == YAML_SCALAR && user->plain && uid_parse (user->text, &uid);
    for (uint32_t i = 0; number && i < trust->n; i++)
        if (trust->items[i] == uid) {
            problem_at (draft->problems, user, "cache.trust lists uid %u twice, expected each uid once",
                        (unsigned) uid);
            return;
        }
    if (number)
        trust->items[trust->n++] = (uint32_t) uid;
    else
        problem_at (
            draft->problems, user,
            "an item of cache.trust is %s, expected the number of a user (uid), 0 to %u: `id -u NAME` prints it",
            problem_quote_value (draft->problems, user), (unsigned) TRUST_UID_MAX);
}

static void read_trust (struct draft *draft, const struct conf_value *list)
{
    uid_list *trust = &draft->plan.cache.trust;
    const struct yaml_node *user;
    (void) section_list (list, TRUST_MAX, "cache.trust lists", "users", draft->problems, &user);
    trust->items = arena_array (draft->arena, TRUST_MAX, sizeof *trust->items);
    for (; user; user = user->next)
        read_trusted (draft, user);
}

static void refuse_all (struct draft *draft, const struct conf_value cache[])
{
    for (int i = 0; i < CACHE_KEYS; i++)
        if (i != CACHE_MODE && cache[i].given)
            problem_at (draft->problems, cache[i].node,
                        "%s is set with mode: off, expected only the key mode: there is no cache then",
                        cache_section.keys[i].name);
}

void draft_cache (struct draft *draft)
{
    struct conf_value cache[CACHE_KEYS];
    struct cache_plan *plan = &draft->plan.cache;
    if (section_read_optional (&cache_section, &draft->slice[SLICE_CACHE], cache, draft->problems) != 0 ||
        !cache[CACHE_MODE].good)
        return;
    plan->mode = (enum cache_mode) cache[CACHE_MODE].number;
    if (plan->mode == CACHE_OFF) {
        refuse_all (draft, cache);
        return;
    }
    plan->least = (enum enforcement) cache[CACHE_ENFORCEMENT].number;
    plan->overlay = cache[CACHE_OVERLAY].number != 0;
    draft_rehearse_cache (draft, &cache[CACHE_ROOT]);
    read_root (draft, &cache[CACHE_ROOT]);
    if (cache_mode_has_writer (plan->mode))
        read_writers (draft, &cache[CACHE_WRITER]);
    else
        refuse_writer (draft, &cache[CACHE_WRITER]);
    read_writable (draft, &cache[CACHE_WRITABLE]);
    read_trust (draft, &cache[CACHE_TRUST]);
}
