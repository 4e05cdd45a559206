#include "coordinator/receipt/launch_description.h"

enum { SHOWN_BYTES = 512 };

static struct text addresses_of (const struct plan *plan, struct arena *arena)
{
    struct text *addresses = arena_array (arena, plan->hosts.n, sizeof *addresses);
    bool differ = false;
    for (uint32_t i = 0; i < plan->hosts.n; i++) {
        const struct plan_host *host = &plan->hosts.items[i];
        addresses[i] = host->ssh.address.len ? host->ssh.address : host->address;
        differ |= !text_equal (addresses[i], host->name);
    }
    if (!differ)
        return (struct text){ 0 };
    return text_format (arena, " (%.*s)", TEXT_ARG (hostset_folded (addresses, plan->hosts.n, SHOWN_BYTES, arena)));
}

struct text launch_describe (const struct plan *plan, struct arena *arena)
{
    static const char *const ways[] = { [LAUNCHER_LOCAL] = "local: all of them processes of one machine, ",
                                        [LAUNCHER_JOIN] = "workers that joined by themselves, on ",
                                        [LAUNCHER_SSH] = "ssh to ",
                                        [LAUNCHER_SLURM] = "a job step of Slurm on each of " };
    struct text *names = arena_array (arena, plan->hosts.n, sizeof *names);
    for (uint32_t i = 0; i < plan->hosts.n; i++)
        names[i] = plan->hosts.items[i].name;
    struct text hosts = hostset_folded (names, plan->hosts.n, SHOWN_BYTES, arena);
    struct text addresses = plan->launcher == LAUNCHER_SSH ? addresses_of (plan, arena) : (struct text){ 0 };
    return plan->launcher
               ? text_format (arena, "%s%.*s%.*s", ways[plan->launcher], TEXT_ARG (hosts), TEXT_ARG (addresses))
               : (struct text){ 0 };
}
