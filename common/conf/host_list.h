/* host_list.h - the hosts of a slice while they are being read: added in rank order, reduced, looked at as a whole.
 *
 * Knows where each was written, for whoever repeats it. About 1 MiB: lives on the heap, for one draft_hosts. */
#ifndef SLICEUP_COMMON_CONF_HOST_LIST_H
#define SLICEUP_COMMON_CONF_HOST_LIST_H

#include "common/conf/draft.h"

struct host_list {
    struct draft *draft;
    const struct yaml_node *where[HOSTS_MAX];
    struct plan_host hosts[HOSTS_MAX];
    uint32_t n;
    bool full; /* too many hosts: reported once */
};

/* Adds a host. Its address and ssh way follow from the launcher when not given. A repeated name is reported. */
void host_list_add (struct host_list *list, const struct yaml_node *node, struct plan_host host);
/* Removes the hosts that `exclude`, --hosts and --exclude leave out. */
void host_list_filter (struct host_list *list);
void host_list_warn_same_machine (const struct host_list *list);

#endif
