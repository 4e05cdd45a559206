#include "coordinator/cli/planning.h"

#include "common/model/launch_variables.h"
#include "common/wire/wire.h"
#include "coordinator/core/coord.h"

/* What a fact or a message holds beside the plan: numbers, digests, the bundle's name. */
enum { BESIDE_BYTES = 2048 };

static size_t encoded (const struct record *record, const void *value, size_t max)
{
    struct buf bytes;
    buf_init (&bytes, max);
    wire_put_record (&bytes, record, value);
    size_t len = bytes.overflow ? max + 1 : bytes.len;
    buf_release (&bytes);
    return len;
}

static struct text longer (struct text a, struct text b)
{
    return a.len >= b.len ? a : b;
}

/* The longest message that any host gets. Placeholders stand for the longest of what hosts have. */
static struct msg_run longest_run (const struct plan *plan, uint32_t rung, struct arena *arena)
{
    struct msg_run order = coord_run_message_sample (plan, rung, 0, arena);
    struct launch_place place = launch_place_of (plan, NULL, 0, plan->hosts.n - 1);
    for (uint32_t i = 0; i < plan->hosts.n; i++) {
        order.address = longer (order.address, plan->hosts.items[i].address);
        order.pins.env_dir = longer (order.pins.env_dir, plan->hosts.items[i].env_dir);
        place.host = longer (place.host, plan->hosts.items[i].name);
        place.address = longer (place.address, plan->hosts.items[i].address);
    }
    order.profile.env = launch_variables_of (&plan->profile, plan->rungs.items[rung].scope, &place, arena);
    return order;
}

/* Addresses of many hosts make long values. */
static int check_values (const struct plan *plan, const struct rung *rung, const struct msg_run *order, struct err *err)
{
    for (uint32_t i = 0; i < order->profile.env.n; i++) {
        const struct var *var = &order->profile.env.items[i];
        if (var->value.len > TEXT_MAX_BYTES)
            return err_set (err, ERR_USAGE,
                            "the variable %.*s of rung '%.*s' has %u bytes with its placeholders filled for %u hosts, "
                            "expected at most %d: use {address} of one host, or let the program ask",
                            TEXT_ARG (var->name), TEXT_ARG (rung->id), var->value.len, plan->hosts.n, TEXT_MAX_BYTES);
    }
    return 0;
}

static int check_run (const struct plan *plan, uint32_t at, struct err *err)
{
    const size_t most = MSG_MAX_BYTES - BESIDE_BYTES;
    const struct rung *rung = &plan->rungs.items[at];
    struct arena arena = { 0 };
    struct msg_run order = longest_run (plan, at, &arena);
    int rc = check_values (plan, rung, &order, err);
    bool fits = rc < 0 || encoded (msg_record_of_kind (MSG_RUN), &order, most) <= most;
    arena_release (&arena);
    if (fits)
        return rc;
    return err_set (err, ERR_USAGE,
                    "the message that starts rung '%.*s' on a host is larger than %zu bytes, the limit: shorten its "
                    "command (%u words) or its args (%u), give it fewer files (%u), or shorten the profile's variables "
                    "(%u) or the paths of the folders that programs of this run must not write (%u)",
                    TEXT_ARG (rung->id), most, rung->argv.n, rung->args.n, rung->files.n, plan->profile.env.n,
                    plan->cache.protected.n);
}

int plan_size_check (const struct plan *plan, struct err *err)
{
    const size_t most = FACT_MAX_BYTES - BESIDE_BYTES;
    for (uint32_t i = 0; i < plan->rungs.n; i++)
        if (check_run (plan, i, err) < 0)
            return -1;
    if (encoded (&plan_record, plan, most) <= most)
        return 0;
    return err_set (err, ERR_USAGE,
                    "the plan for %u hosts and %u rungs is larger than %zu bytes, the limit of a journal entry: "
                    "shorten the texts that every host or every rung has",
                    plan->hosts.n, plan->rungs.n, most);
}
