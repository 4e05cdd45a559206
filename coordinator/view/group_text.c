#include "coordinator/view/group_text.h"

#include <inttypes.h>

#include "coordinator/verdict/failure.h"

enum { SET_BYTES = 1 << 20, NAMED_COLUMNS = 30 };

void group_text_set (const struct board *board, const uint32_t *hosts, uint32_t n, uint32_t columns, struct buf *out)
{
    struct buf set;
    buf_init (&set, SET_BYTES);
    board_print_hosts (board, hosts, n, &set);
    if (columns == 0 || n <= 1 || text_columns (buf_as_text (&set)) <= columns) {
        buf_add_text (out, buf_as_text (&set));
    } else {
        buf_printf (out, "%" PRIu32 " hosts", n);
        if (columns >= NAMED_COLUMNS) {
            buf_puts (out, " (");
            board_print_hosts (board, hosts, 1, out);
            buf_puts (out, " ...)");
        }
    }
    buf_release (&set);
}

void group_text (const struct board *board, const struct board_verdict_group *group, struct buf *out)
{
    board_print_hosts (board, group->hosts.items, group->hosts.n, out);
    if (group->preliminary && group->hosts.n > 1)
        buf_printf (out, " (%" PRIu32 " hosts)", group->hosts.n);
    buf_printf (out, " %s: ", enum_name_of (&outcome_names, group->outcome));
    if (group->varies) /* what follows is this host's, and the others' have other numbers */
        board_print_hosts (board, group->hosts.items, 1, out);
    buf_puts (out, group->varies ? ": " : "");
    if (!text_find (group->cause, group->line, NULL)) {
        buf_add_text (out, group->line);
        buf_puts (out, "; ");
    }
    buf_add_text (out, group->cause);
    failure_print_owner (out, certainty_of_owner (group->owner, group->likely), group->owner, group->signature);
    buf_puts (out, group->preliminary ? " so far" : "");
    bool helps = group->next.len && (!group->preliminary || group->owner != OWNER_UNKNOWN);
    buf_puts (out, helps ? "; next: " : "");
    buf_add_text (out, helps ? group->next : (struct text){ 0 });
}
