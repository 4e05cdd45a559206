/* bundle.c - names of caches: what must be equal for one compile cache to serve two runs. */
#include <stdlib.h>
#include <string.h>

#include "common/base/digest.h"
#include "coordinator/core/agree.h"
#include "coordinator/core/state.h"

static void add_line (struct digest_state *state, const char *name, struct text value)
{
    digest_add (state, name, strlen (name) + 1);
    digest_add (state, value.ptr, value.len);
    digest_add (state, "\n", 1);
}

static struct text short_hex (struct digest_state *state, struct arena *arena)
{
    struct digest digest = digest_end (state);
    char hex[DIGEST_HEX_BYTES];
    return text_format (arena, "%.16s", digest_hex (&digest, hex));
}

static int by_name (const void *a, const void *b)
{
    return text_compare (((const struct var *) a)->name, ((const struct var *) b)->name);
}

/* Sorted by name; the values as sets of tokens, because that is how both frontends put flags into their keys
 * (facts: XLA_FLAGS and LIBTPU_INIT_ARGS are sorted before hashing). */
static void add_vars (struct digest_state *state, const struct var *items, uint32_t n, struct arena *arena)
{
    struct var *sorted = arena_copy (arena, items, n * sizeof (*items));
    if (n)
        qsort (sorted, n, sizeof (*sorted), by_name);
    for (uint32_t i = 0; i < n; i++) {
        add_line (state, "name", sorted[i].name);
        add_line (state, "value", agree_tokens (sorted[i].value, arena));
    }
}

struct text bundle_name (const struct coord *coord, struct arena *arena)
{
    const struct plan *plan = &coord->plan;
    struct text env_fingerprint = coord->env_fingerprint;
    struct digest_state *state = digest_begin ();
    add_line (state, "environment", env_fingerprint.len ? env_fingerprint : plan->pins.file.sha256);
    add_line (state, "backend", plan->profile.backend);
    add_line (state, "devices", text_format (arena, "%u", plan->profile.devices_per_host));
    for (uint32_t i = 0; i < coord->hardware.n; i++)
        add_line (state, "hardware", coord->hardware.items[i]);
    add_vars (state, plan->profile.env.items, plan->profile.env.n, arena);
    struct text fingerprint = short_hex (state, arena);
    return text_format (arena, "%.*s/%.*s", TEXT_ARG (plan->profile.frontend), TEXT_ARG (fingerprint));
}

struct text bundle_cover (const struct plan *plan, const struct rung *rung, struct arena *arena)
{
    struct digest_state *state = digest_begin ();
    add_line (state, "program", rung->program.sha256);
    for (uint32_t i = 0; i < rung->argv.n; i++)
        add_line (state, "argument", rung->argv.items[i]);
    add_vars (state, rung->args.items, rung->args.n, arena);
    if (rung->scope == SCOPE_SLICE)
        for (uint32_t i = 0; i < plan->mesh.n; i++)
            add_line (state, "axis", text_format (arena, "%.*s=%u", TEXT_ARG (plan->mesh.items[i].axis), plan->mesh.items[i].size));
    struct text fingerprint = short_hex (state, arena);
    return text_format (arena, "%.*s:%.*s", TEXT_ARG (rung->id), TEXT_ARG (fingerprint));
}
