#include "coordinator/cli/plan_size.h"

#include "common/base/buf.h"
#include "common/model/fact.h"
#include "common/wire/wire.h"

/* What stands around a plan in its fact, and in an order beside what the plan says: numbers, digests, the bundle's name. */
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

/* As core/order.c makes it, with the longest of what differs between hosts. */
static struct msg_run order_of (const struct plan *plan, const struct rung *rung)
{
    struct msg_run order = { .rung = *rung, .mesh = plan->mesh, .profile = plan->profile, .pins = plan->pins,
                             .signatures = plan->signature_table };
    order.cache.frontend_root = plan->cache.root;
    order.cache.writable.items = plan->cache.writable.items;
    order.cache.writable.n = plan->cache.writable.n;
    if (!text_is (rung->builtin, "restore"))
        order.pins.wheels.n = 0;
    for (uint32_t i = 0; i < plan->hosts.n; i++) {
        order.address = longer (order.address, plan->hosts.items[i].address);
        order.pins.env_dir = longer (order.pins.env_dir, plan->hosts.items[i].env_dir);
    }
    return order;
}

static int check_order (const struct plan *plan, const struct rung *rung, struct err *err)
{
    const size_t most = MSG_MAX_BYTES - BESIDE_BYTES;
    struct msg_run order = order_of (plan, rung);
    if (encoded (msg_body (MSG_RUN), &order, most) <= most)
        return 0;
    return err_set (err, ERR_USAGE, "rung '%.*s' takes more to be told to a host than the %zu bytes that one message has for it: "
                    "shorten its arguments or the profile's variables, or give it fewer files (%u arguments, %u args, %u files, "
                    "%u variables)", TEXT_ARG (rung->id), most, rung->argv.n, rung->args.n, rung->files.n, plan->profile.env.n);
}

int plan_size_check (const struct plan *plan, struct err *err)
{
    const size_t most = FACT_MAX_BYTES - BESIDE_BYTES;
    for (uint32_t i = 0; i < plan->rungs.n; i++)
        if (check_order (plan, &plan->rungs.items[i], err) < 0)
            return -1;
    if (encoded (&plan_record, plan, most) <= most)
        return 0;
    return err_set (err, ERR_USAGE, "what is planned for %u hosts and %u rungs takes more than the %zu bytes that a journal has for it: "
                    "shorten what hosts or rungs repeat", plan->hosts.n, plan->rungs.n, most);
}
