#include "worker/io/confine_plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "worker/image/self.h"

/* What the dynamic loader reads (ld.so(8)) would make another program of ours, too. */
#define LOADER_PREFIX "LD_"
#define KEPT_PREFIX "SLICEUP_KEPT_"

enum { WORDS_MAX = 64 + 2 * WRITABLE_MAX + 2 * CONFINE_PROTECTED_MAX, ABI_ANY = INT32_MAX, DESCRIPTOR_MAX = 1 << 20 };

/* ---- reading ---- */

static bool is_path (const char *text)
{
    size_t len = strlen (text);
    return text[0] == '/' && len > 1 && len <= PATH_MAX_BYTES && !strstr (text, "/../")
           && !(len >= 3 && strcmp (text + len - 3, "/..") == 0);
}

static int take_path (const char *name, const char *value, const char **out, struct err *err)
{
    if (!is_path (value))
        return err_set (err, ERR_USAGE, "%s is \"%.200s\"; expected an absolute path without \"..\"", name, value);
    *out = value;
    return 0;
}

static int take_word (const char *name, const char *value, const struct names *names, uint32_t *out, struct err *err)
{
    if (!names_find (names, text_of (value), out))
        return err_set (err, ERR_USAGE, "%s is \"%.40s\", which is none of its words", name, value);
    return 0;
}

static int take_number (const char *name, const char *value, int *out, struct err *err)
{
    uint64_t number;
    if (!text_to_u64 (text_of (value), &number) || number > DESCRIPTOR_MAX)
        return err_set (err, ERR_USAGE, "%s is \"%.40s\"; expected a small number", name, value);
    *out = (int) number;
    return 0;
}

static int take_writable (struct confine_plan *plan, const char *value, struct err *err)
{
    if (plan->writable_n == WRITABLE_MAX)
        return err_set (err, ERR_USAGE, "--writable is there more than %d times", WRITABLE_MAX);
    return take_path ("--writable", value, &plan->writable[plan->writable_n++], err);
}

static int take_hidden (struct confine_plan *plan, const char *value, struct err *err)
{
    if (plan->hidden_n == CONFINE_HIDDEN_MAX)
        return err_set (err, ERR_USAGE, "--hidden is there more than %d times", CONFINE_HIDDEN_MAX);
    return take_path ("--hidden", value, &plan->hidden[plan->hidden_n++], err);
}

static int take_protected (struct confine_plan *plan, const char *value, struct err *err)
{
    if (plan->protected_n == CONFINE_PROTECTED_MAX)
        return err_set (err, ERR_USAGE, "--protected is there more than %d times", CONFINE_PROTECTED_MAX);
    return take_path ("--protected", value, &plan->protected[plan->protected_n++], err);
}

static int take_option (struct confine_plan *plan, const char *name, const char *value, struct err *err)
{
    const struct { const char *name; const char **at; } paths[] = {
        { "--root", &plan->root }, { "--bundle", &plan->bundle }, { "--scratch", &plan->scratch },
        { "--place", &plan->place }, { "--generation", &plan->generation }, { "--base", &plan->base },
        { "--directory", &plan->directory },
    };
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        if (strcmp (name, paths[i].name) == 0)
            return take_path (name, value, paths[i].at, err);
    if (strcmp (name, "--role") == 0)
        return take_word (name, value, &cache_role_names, (uint32_t *) &plan->role, err);
    if (strcmp (name, "--least") == 0)
        return take_word (name, value, &enforcement_names, (uint32_t *) &plan->least, err);
    if (strcmp (name, "--most") == 0)
        return take_word (name, value, &enforcement_names, (uint32_t *) &plan->most, err);
    if (strcmp (name, "--landlock-abi") == 0)
        return take_number (name, value, &plan->landlock_abi, err);
    if (strcmp (name, "--report") == 0)
        return take_number (name, value, &plan->report_fd, err);
    if (strcmp (name, "--writable") == 0)
        return take_writable (plan, value, err);
    if (strcmp (name, "--protected") == 0)
        return take_protected (plan, value, err);
    if (strcmp (name, "--hidden") == 0)
        return take_hidden (plan, value, err);
    return err_set (err, ERR_USAGE, "%.40s is not an option of confine", name);
}

static int check (const struct confine_plan *plan, struct err *err)
{
    bool apart = plan->role == CACHE_ROLE_NONE;
    if (!plan->root || !plan->bundle || !plan->scratch)
        return err_set (err, ERR_USAGE, "confine needs --root, --bundle and --scratch");
    if (apart && (plan->place || plan->generation || plan->base || plan->overlay))
        return err_set (err, ERR_USAGE, "without --role a program is shown no generation");
    if (!apart && !plan->place && !plan->generation)
        return err_set (err, ERR_USAGE, "confine needs --place or --generation");
    if (plan->overlay && !plan->place)
        return err_set (err, ERR_USAGE, "--overlay needs --place, where programs find it");
    if (plan->program && !plan->program[1])
        return err_set (err, ERR_USAGE, "a program needs its argv after its path");
    return 0;
}

int confine_plan_read (int argc, char **argv, struct confine_plan *out, struct err *err)
{
    *out = (struct confine_plan) { .least = ENFORCEMENT_COOPERATIVE, .most = ENFORCEMENT_STORAGE,
                                   .landlock_abi = ABI_ANY, .report_fd = -1 };
    int i = 1;
    while (i < argc && strcmp (argv[i], "--") != 0) {
        if (strcmp (argv[i], "--overlay") == 0) {
            out->overlay = true;
            i++;
            continue;
        }
        if (i + 1 == argc)
            return err_set (err, ERR_USAGE, "%.40s needs a value", argv[i]);
        if (take_option (out, argv[i], argv[i + 1], err) < 0)
            return -1;
        i += 2;
    }
    if (i < argc)
        out->program = argv + i + 1;
    return i + 1 == argc ? err_set (err, ERR_USAGE, "there is no program after --") : check (out, err);
}

/* ---- writing ---- */

int confine_plan_root (struct text bundle, struct arena *arena, struct text *root, struct err *err)
{
    uint32_t len = bundle.len;
    for (int level = 0; level < 2; level++) {
        while (len > 0 && bundle.ptr[len - 1] != '/')
            len--;
        if (len < 2)
            return err_set (err, ERR_REFUSED, "the cache %.*s is not an absolute path <root>/<frontend>/<bundle>",
                            TEXT_ARG (bundle));
        len--;
    }
    *root = text_copy (arena, (struct text) { bundle.ptr, len });
    return 0;
}

struct words { char **items; uint32_t n; struct arena *arena; };

static void add (struct words *words, const char *name, struct text value)
{
    words->items[words->n++] = (char *) name;
    words->items[words->n++] = (char *) text_copy (words->arena, value).ptr;
}

static void add_rights (struct words *words, const struct msg_run *run, const struct order_place *place,
                        const struct confine_more *more, int report_fd)
{
    const struct cache_order *cache = &run->cache;
    add (words, "--scratch", place->scratch);
    add (words, "--report", text_format (words->arena, "%d", report_fd));
    add (words, "--directory", place->directory);
    for (uint32_t i = 0; i < cache->hidden.n; i++)
        add (words, "--hidden", cache->hidden.items[i]);
    if (place->trusted[JOIN_TICKET])
        add (words, "--hidden", text_of (place->trusted[JOIN_TICKET]));
    if (cache->role != CACHE_ROLE_NONE)
        add (words, "--role", text_of (names_of (&cache_role_names, cache->role)));
    if (cache->role != CACHE_ROLE_NONE)
        add (words, "--place", text_format (words->arena, "%.*s/cache", TEXT_ARG (place->directory)));
    if (cache->least != ENFORCEMENT_NONE)
        add (words, "--least", text_of (names_of (&enforcement_names, cache->least)));
    if (cache->role == CACHE_ROLE_WRITER && cache->base)
        add (words, "--base", text_format (words->arena, "%.*s/gen-%" PRIu64, TEXT_ARG (cache->frontend_root),
                                           cache->base));
    for (uint32_t i = 0; i < cache->writable.n; i++)
        add (words, "--writable", cache->writable.items[i]);
    for (uint32_t i = 0; i < cache->protected.n; i++)
        add (words, "--protected", cache->protected.items[i]);
    for (uint32_t i = 0; i < more->n; i++)
        add (words, "--protected", text_of (more->protected[i]));
    if (cache->overlay && cache->role == CACHE_ROLE_READER)
        words->items[words->n++] = (char *) "--overlay";
}

static char **keep_environment (char *const *envp, struct arena *arena)
{
    uint32_t n = 0;
    while (envp[n])
        n++;
    char **out = arena_array (arena, n + 1, sizeof *out);
    for (uint32_t i = 0; i < n; i++) {
        bool loader = strncmp (envp[i], LOADER_PREFIX, strlen (LOADER_PREFIX)) == 0;
        out[i] = loader ? (char *) text_format (arena, KEPT_PREFIX "%s", envp[i]).ptr : envp[i];
    }
    return out;
}

void confine_plan_free_environment (char **envp)
{
    for (; *envp; envp++)
        if (strncmp (*envp, KEPT_PREFIX LOADER_PREFIX, strlen (KEPT_PREFIX LOADER_PREFIX)) == 0)
            *envp += strlen (KEPT_PREFIX);
}

int confine_plan_write (const struct msg_run *run, const struct order_place *place, const struct confine_more *more,
                        const struct order *order, int report_fd, struct arena *arena, struct order *out,
                        struct err *err)
{
    struct text root = run->cache.frontend_root;
    uint32_t argc = 0;
    if (more->overflow)
        return err_set (err, ERR_LIMIT, "more than %d paths of this host have to be kept from the program",
                        CONFINE_MORE_MAX);
    if (run->cache.role != CACHE_ROLE_NONE && confine_plan_root (run->cache.frontend_root, arena, &root, err) < 0)
        return -1;
    while (order->argv[argc])
        argc++;
    struct words words = { .arena = arena, .items = arena_array (arena, WORDS_MAX + argc, sizeof (char *)) };
    add (&words, "sliceup-worker", TEXT_LIT ("confine"));
    add (&words, "--root", root);
    add (&words, "--bundle", run->cache.frontend_root);
    add_rights (&words, run, place, more, report_fd);
    add (&words, "--", text_of (order->program));
    memcpy (words.items + words.n, order->argv, argc * sizeof *order->argv);
    struct self_start start = self_again (words.items, arena);
    *out = (struct order) { .program = start.program, .argv = start.argv, .again = true, .speaks = order->speaks,
                            .line = order->line, .envp = keep_environment (order->envp, arena) };
    return 0;
}
