#include "coordinator/receipt/receipt_fold_state.h"

#include <string.h>

void *growing_list_add (struct growing_list *list, size_t item_bytes)
{
    list->items = mem_room (list->items, list->n, &list->capacity, 16, item_bytes);
    void *item = (char *) list->items + (size_t) list->n++ * item_bytes;
    memset (item, 0, item_bytes);
    return item;
}

struct text receipt_fold_copy_text (struct receipt_fold *fold, struct text text)
{
    return text_copy (&fold->arena, text);
}

void receipt_fold_add_recovery (struct receipt_fold *fold, struct text what)
{
    struct recovery_receipt *recovery = growing_list_add (&fold->recoveries, sizeof (*recovery));
    *recovery = (struct recovery_receipt){ fold->header.run, what };
}

struct text receipt_host_name (const struct receipt_fold *fold, uint32_t host)
{
    return host < fold->plan.hosts.n ? fold->plan.hosts.items[host].name : (struct text){ 0 };
}

struct text receipt_rung_name (const struct receipt_fold *fold, uint32_t rung)
{
    return rung < fold->plan.rungs.n ? fold->plan.rungs.items[rung].id : (struct text){ 0 };
}

struct rung_receipt *receipt_rung_of (struct receipt_fold *fold, uint32_t host, const struct attempt_key *key)
{
    const struct attempt_key *keys = fold->hosts[host].open.items;
    struct rung_receipt *rungs = fold->hosts[host].rungs.items;
    for (uint32_t i = fold->hosts[host].rungs.n; i > 0; i--)
        if (attempt_key_equal (&keys[i - 1], key))
            return &rungs[i - 1];
    return NULL;
}
