/* The reading half of hostset.h: operators, groups, bounds. hostset_item.c reads an operand, hostset_fold.c writes. */
#include "common/model/hostset.h"

#include <inttypes.h>
#include <search.h>
#include <stdio.h>

#include "common/model/hostset_scan.h"

/* ---- names in the order in which they came, and in a tree of tsearch(3); borrowed. {0} is empty ---- */

struct named {
    struct text name, user; /* user: empty: not said */
    struct named *before, *next;
};
struct name_table {
    void *tree;
    struct named *first, *last;
    uint32_t n;
};

static void name_table_clear (struct name_table *table)
{
    tdestroy (table->tree, mem_free);
    *table = (struct name_table){ 0 };
}

static struct named *name_table_find (const struct name_table *table, struct text name)
{
    struct named **found = tfind (&(struct named){ .name = name }, &table->tree, text_order);
    return found ? *found : NULL;
}

/* False: it is there already, and gets the user if it has none. */
static bool name_table_add (struct name_table *table, struct text name, struct text user)
{
    struct named *added = name_table_find (table, name);
    if (added && !added->user.len)
        added->user = user;
    if (added)
        return false;
    added = mem_alloc (sizeof *added);
    *added = (struct named){ .name = name, .user = user, .before = table->last };
    if (!tsearch (added, &table->tree, text_order))
        mem_exit_exhausted (sizeof *added);
    *(table->last ? &table->last->next : &table->first) = added;
    table->last = added;
    table->n++;
    return true;
}

/* False: not there. */
static bool name_table_remove (struct name_table *table, struct text name)
{
    struct named *gone = name_table_find (table, name);
    if (!gone)
        return false;
    tdelete (gone, &table->tree, text_order);
    *(gone->before ? &gone->before->next : &table->first) = gone->next;
    *(gone->next ? &gone->next->before : &table->last) = gone->before;
    mem_free (gone);
    table->n--;
    return true;
}

/* ---- sets ---- */

/* A group that names itself is found by its depth; groups that name others many times over, and long chains of large
 * operands, by the work: names made and bytes of groups read, in multiples of the set's own bound. */
enum { GROUP_DEPTH_MAX = 16, WORK_FACTOR = 16, WORK_MIN = 65536, GROUP_BYTES_A_NAME = 8 };

struct hostset {
    struct hostset_rules rules;
    struct arena arena; /* of the names */
    struct name_table table;
    struct name_table value; /* of the present step */
    struct hostset_item item;
    uint64_t work; /* of the step in hand */
};

struct hostset *hostset_create (const struct hostset_rules *rules)
{
    struct hostset *set = mem_alloc (sizeof *set);
    set->rules = *rules;
    return set;
}

void hostset_destroy (struct hostset *set)
{
    if (!set)
        return;
    item_release (&set->item);
    name_table_clear (&set->value);
    name_table_clear (&set->table);
    arena_release (&set->arena);
    mem_free (set);
}

static int refuse_size (const struct hostset *set, const struct hostset_scan *scan, uint32_t at)
{
    char what[80];
    snprintf (what, sizeof what, "more than %" PRIu32 " hosts, the limit", set->rules.max);
    return hostset_scan_fail (scan, ERR_LIMIT, at, what);
}

static int charge (struct hostset *set, const struct hostset_scan *scan, uint32_t at, uint64_t work)
{
    uint64_t bound = (uint64_t) WORK_FACTOR * set->rules.max;
    set->work += work;
    if (set->work <= (bound > WORK_MIN ? bound : WORK_MIN))
        return 0;
    return hostset_scan_fail (scan, ERR_LIMIT, at,
                              "the parts of this set, repeats counted, name far more hosts than one set may have");
}

/* ---- steps ---- */

/* How many of `right` are in `left`; *which: the first of them, or one that has another user there (*two_users). */
static uint32_t in_common (const struct name_table *left, const struct name_table *right, struct text *which,
                           bool *two_users)
{
    uint32_t n = 0;
    for (const struct named *one = right->first; one; one = one->next) {
        const struct named *other = name_table_find (left, one->name);
        bool differs = other && one->user.len && other->user.len && !text_equal (one->user, other->user);
        if (other && (n++ == 0 || differs))
            *which = one->name;
        *two_users |= differs;
    }
    return n;
}

static int refuse_repeated (const struct hostset_scan *scan, uint32_t at, struct text name)
{
    char what[HOST_NAME_MAX_BYTES + 80];
    snprintf (what, sizeof what, "%.*s is named twice: name each host once", TEXT_ARG (name));
    return hostset_scan_fail (scan, ERR_PARSE, at, what);
}

static int check_step (const struct hostset *set, const struct name_table *left, enum hostset_step step,
                       const struct name_table *right, const struct hostset_scan *scan, uint32_t at)
{
    struct text repeated = { 0 };
    if (step == HOSTSET_TAKE || step == HOSTSET_KEEP)
        return 0;
    bool two_users = false;
    uint64_t common = in_common (left, right, &repeated, &two_users);
    if (step == HOSTSET_ADD && ((set->rules.once && common) || two_users))
        return refuse_repeated (scan, at, repeated);
    uint64_t after = (uint64_t) left->n + right->n - (step == HOSTSET_ADD ? 1 : 2) * common;
    return after > set->rules.max ? refuse_size (set, scan, at) : 0;
}

static void keep_common (struct name_table *left, const struct name_table *right)
{
    for (struct named *one = left->first, *next; one; one = next) {
        next = one->next;
        if (!name_table_find (right, one->name))
            name_table_remove (left, one->name);
    }
}

/* left = left step right; on failure unchanged. `at` is the place of `right`, for errors. */
static int hostset_take_step (const struct hostset *set, struct name_table *left, enum hostset_step step,
                              const struct name_table *right, const struct hostset_scan *scan, uint32_t at)
{
    if (check_step (set, left, step, right, scan, at) < 0)
        return -1;
    if (step == HOSTSET_KEEP)
        keep_common (left, right);
    else
        for (const struct named *one = right->first; one; one = one->next) {
            bool was_there = step != HOSTSET_ADD && name_table_remove (left, one->name);
            if (step == HOSTSET_ADD || (step == HOSTSET_EITHER && !was_there))
                name_table_add (left, one->name, one->user);
        }
    return 0;
}

/* ---- operands ---- */

static int evaluate (struct hostset *set, struct text words, uint32_t depth, struct name_table *value, struct err *err);

static int read_names (struct hostset *set, const struct hostset_scan *scan, uint32_t at, struct name_list *names)
{
    uint64_t count = hostset_item_count (&set->item);
    if (count > set->rules.max)
        return refuse_size (set, scan, at);
    if (charge (set, scan, at, count) < 0)
        return -1;
    return hostset_item_expand (&set->item, scan, &set->arena, names);
}

static int hostset_find_group (const struct hostset *set, const struct hostset_scan *scan, uint32_t at,
                               struct text name, struct text *expression)
{
    char what[HOST_NAME_MAX_BYTES + 80];
    if (!set->rules.groups)
        return hostset_scan_fail (
            scan, ERR_PARSE, at,
            "no groups are defined here; a slice file defines them under groups:, and @suspect is for the "
            "options --hosts and --exclude");
    if (set->rules.groups->find (set->rules.groups->owner, name, expression))
        return 0;
    snprintf (what, sizeof what, "there is no group %.*s", TEXT_ARG (name));
    return hostset_scan_fail (scan, ERR_PARSE, at, what);
}

static int hostset_add_group (struct hostset *set, const struct hostset_scan *scan, uint32_t at, struct text name,
                              uint32_t depth, struct name_table *operand)
{
    struct name_table value = { 0 };
    struct text expression;
    int rc = -1;
    if (hostset_find_group (set, scan, at, name, &expression) < 0 ||
        charge (set, scan, at, 1 + expression.len / GROUP_BYTES_A_NAME) < 0)
        return -1;
    if (depth == GROUP_DEPTH_MAX)
        return hostset_scan_fail (scan, ERR_PARSE, at, "groups are nested too deeply: does this one contain itself?");
    if (evaluate (set, expression, depth + 1, &value, scan->err) < 0)
        err_prefix (scan->err, "@%.*s", TEXT_ARG (name));
    else
        rc = hostset_take_step (set, operand, HOSTSET_ADD, &value, scan, at);
    name_table_clear (&value);
    return rc;
}

static int add_names (const struct hostset *set, const struct hostset_scan *scan, uint32_t at,
                      const struct name_list *names, struct name_table *operand)
{
    for (uint32_t i = 0; i < names->n; i++)
        if (!name_table_add (operand, names->items[i], (struct text){ 0 }) && set->rules.once)
            return refuse_repeated (scan, at, names->items[i]);
    return 0;
}

static int read_operand (struct hostset *set, struct hostset_scan *scan, uint32_t depth, struct name_table *operand)
{
    uint32_t at = scan->at;
    struct name_list names;
    struct hostset_scan ahead = *scan;
    struct text user = hostset_scan_name (&ahead);
    bool has_user = host_name_valid (user) && user.len <= HOST_LABEL_MAX_BYTES && hostset_scan_accept (&ahead, '@');
    if (has_user)
        *scan = ahead;
    name_table_clear (operand);
    if (item_read (&set->item, scan) < 0 || read_names (set, scan, at, &names) < 0)
        return -1;
    bool group = set->item.group; /* groups are read into the same item */
    if (!group && add_names (set, scan, at, &names, operand) < 0)
        return -1;
    for (uint32_t i = 0; i < names.n && group; i++)
        if (hostset_add_group (set, scan, at, names.items[i], depth, operand) < 0)
            return -1;
    for (struct named *one = operand->first; one && has_user; one = one->next)
        one->user = text_copy (&set->arena, user);
    return 0;
}

static int read_operator (struct hostset_scan *scan, enum hostset_step *step)
{
    char next = hostset_scan_peek (scan);
    if (next != ',' && next != '!' && next != '&' && next != '^')
        return hostset_scan_fail (scan, ERR_PARSE, scan->at,
                                  "expected an operator between two names: ',' '!' '&' or '^'");
    *step = (enum hostset_step) next;
    scan->at++;
    hostset_scan_skip_blanks (scan);
    return 0;
}

static int hostset_read_all (struct hostset *set, struct hostset_scan *scan, uint32_t depth, struct name_table *value,
                             struct name_table *operand)
{
    enum hostset_step step = HOSTSET_ADD;
    for (;;) {
        uint32_t at = scan->at;
        if (read_operand (set, scan, depth, operand) < 0 || hostset_take_step (set, value, step, operand, scan, at) < 0)
            return -1;
        hostset_scan_skip_blanks (scan);
        if (hostset_scan_at_end (scan))
            return 0;
        if (read_operator (scan, &step) < 0)
            return -1;
    }
}

static int evaluate (struct hostset *set, struct text words, uint32_t depth, struct name_table *value, struct err *err)
{
    struct hostset_scan scan = { .all = words, .err = err };
    struct name_table operand = { 0 };
    name_table_clear (value);
    hostset_scan_skip_blanks (&scan);
    if (hostset_scan_at_end (&scan))
        return hostset_scan_fail (&scan, ERR_PARSE, scan.at, "the set is empty, expected at least one host name");
    int rc = hostset_read_all (set, &scan, depth, value, &operand);
    name_table_clear (&operand);
    return rc;
}

/* ---- sets ---- */

int hostset_apply_expression (struct hostset *set, enum hostset_step step, struct text expression, struct err *err)
{
    struct hostset_scan scan = { .all = expression, .err = err };
    set->work = 0;
    if (evaluate (set, expression, 0, &set->value, err) < 0)
        return -1;
    return hostset_take_step (set, &set->table, step, &set->value, &scan, 0);
}

int hostset_apply_set (struct hostset *set, enum hostset_step step, const struct hostset *other, struct err *err)
{
    struct hostset_scan scan = { .err = err };
    name_table_clear (&set->value);
    for (const struct named *one = other->table.first; one; one = one->next)
        name_table_add (&set->value, text_copy (&set->arena, one->name), text_copy (&set->arena, one->user));
    return hostset_take_step (set, &set->table, step, &set->value, &scan, 0);
}

struct name_list hostset_names (const struct hostset *set, struct arena *arena)
{
    struct name_list names = { .items = arena_array (arena, set->table.n, sizeof *names.items),
                               .users = arena_array (arena, set->table.n, sizeof *names.users) };
    for (const struct named *one = set->table.first; one; one = one->next) {
        names.users[names.n] = text_copy (arena, one->user);
        names.items[names.n++] = text_copy (arena, one->name);
    }
    return names;
}

int hostset_read (struct text expression, const struct hostset_rules *rules, struct arena *arena,
                  struct name_list *names, struct err *err)
{
    struct hostset *set = hostset_create (rules);
    for (uint32_t i = 0; i < names->n; i++)
        name_table_add (&set->table, names->items[i], names->users ? names->users[i] : (struct text){ 0 });
    int rc = hostset_apply_expression (set, HOSTSET_ADD, expression, err);
    if (rc == 0)
        *names = hostset_names (set, arena);
    hostset_destroy (set);
    return rc;
}

bool name_list_has (const struct name_list *names, struct text name)
{
    return text_is_among (name, names->items, names->n);
}
