/* The reading half of hostset.h: operators, groups, bounds. hostset_item.c reads an operand, hostset_fold.c writes. */
#include "common/model/hostset.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "common/model/hostset_scan.h"

/* ---- names in the order in which they came, found in constant time; borrowed. {0} is empty ---- */

struct name_table_entry {
    struct text name;
    uint32_t slot;
}; /* a name that was taken out: ptr NULL */
struct name_table {
    struct name_table_entry *entries;
    uint32_t n, capacity; /* with those taken out */
    uint32_t living;
    uint32_t *slots; /* index of an entry + 1; 0: free; twice the capacity, a power of two */
};

enum { CAPACITY_MIN = 16 };

static void name_table_release (struct name_table *table)
{
    mem_free (table->entries);
    mem_free (table->slots);
    *table = (struct name_table){ 0 };
}

/* Costs by the used entries, not by the capacity. */
static void name_table_clear (struct name_table *table)
{
    for (uint32_t i = 0; i < table->n; i++)
        table->slots[table->entries[i].slot] = 0;
    table->n = table->living = 0;
}

/* FNV-1a, then the finalizer of splitmix64: FNV gives names with equal ends too similar low bits. */
static uint64_t hash_of_name (struct text name)
{
    uint64_t hash = 0xcbf29ce484222325U;
    for (uint32_t i = 0; i < name.len; i++)
        hash = (hash ^ (unsigned char) name.ptr[i]) * 0x100000001b3U;
    hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9U;
    hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebU;
    return hash ^ (hash >> 31);
}

/* The slot of `name`, or the free one where it belongs. */
static uint32_t name_slot (const struct name_table *table, struct text name)
{
    uint32_t mask = 2 * table->capacity - 1, slot = (uint32_t) hash_of_name (name) & mask;
    for (; table->slots[slot]; slot = (slot + 1) & mask) {
        struct text there = table->entries[table->slots[slot] - 1].name;
        if (there.ptr && text_equal (there, name))
            break;
    }
    return slot;
}

/* The next living name from *at on, and *at behind it; false at the end. Start with 0. */
static bool name_table_next (const struct name_table *table, uint32_t *at, struct text *name)
{
    while (*at < table->n) {
        *name = table->entries[(*at)++].name;
        if (name->ptr)
            return true;
    }
    return false;
}

static void name_table_append (struct name_table *table, struct text name, uint32_t slot)
{
    table->entries[table->n] = (struct name_table_entry){ name, slot };
    table->slots[slot] = ++table->n;
    table->living++;
}

/* Leaves those taken out behind. */
static void name_table_rebuild (struct name_table *table)
{
    uint32_t capacity = CAPACITY_MIN;
    while (capacity < 2 * table->living)
        capacity *= 2;
    struct name_table built = { .capacity = capacity,
                                .entries = mem_array (capacity, sizeof *built.entries),
                                .slots = mem_array (2 * (size_t) capacity, sizeof *built.slots) };
    struct text name;
    for (uint32_t at = 0; name_table_next (table, &at, &name);)
        name_table_append (&built, name, name_slot (&built, name));
    name_table_release (table);
    *table = built;
}

static bool name_table_has (const struct name_table *table, struct text name)
{
    return table->capacity && table->slots[name_slot (table, name)];
}

/* False: it is there already. */
static bool name_table_add (struct name_table *table, struct text name)
{
    assert (name.ptr);
    if (table->n == table->capacity)
        name_table_rebuild (table);
    uint32_t slot = name_slot (table, name);
    if (table->slots[slot])
        return false;
    name_table_append (table, name, slot);
    return true;
}

/* False: not there. The entry stays as a tombstone, so that later ones are still found. */
static bool name_table_remove (struct name_table *table, struct text name)
{
    uint32_t slot = table->capacity ? name_slot (table, name) : 0;
    if (!table->capacity || !table->slots[slot])
        return false;
    table->entries[table->slots[slot] - 1].name = (struct text){ 0 };
    table->living--;
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
    struct name_table value; /* value of the present step; reused, so that small steps are cheap */
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
    name_table_release (&set->value);
    name_table_release (&set->table);
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

/* How many of `right` are in `left`; `which`, when it is not NULL, is the first of them. */
static uint32_t in_common (const struct name_table *left, const struct name_table *right, struct text *which)
{
    struct text name;
    uint32_t n = 0;
    for (uint32_t at = 0; name_table_next (right, &at, &name);)
        if (name_table_has (left, name) && n++ == 0 && which)
            *which = name;
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
    uint64_t common = in_common (left, right, &repeated);
    if (step == HOSTSET_ADD && set->rules.once && common)
        return refuse_repeated (scan, at, repeated);
    uint64_t after = (uint64_t) left->living + right->living - (step == HOSTSET_ADD ? 1 : 2) * common;
    return after > set->rules.max ? refuse_size (set, scan, at) : 0;
}

static void keep_common (struct name_table *left, const struct name_table *right)
{
    struct text name;
    for (uint32_t at = 0; name_table_next (left, &at, &name);)
        if (!name_table_has (right, name))
            name_table_remove (left, name);
}

/* left = left step right; on failure unchanged. `at` is the place of `right`, for errors. */
static int hostset_take_step (const struct hostset *set, struct name_table *left, enum hostset_step step,
                              const struct name_table *right, const struct hostset_scan *scan, uint32_t at)
{
    struct text name;
    if (check_step (set, left, step, right, scan, at) < 0)
        return -1;
    if (step == HOSTSET_KEEP)
        keep_common (left, right);
    else
        for (uint32_t i = 0; name_table_next (right, &i, &name);) {
            bool was_there = step != HOSTSET_ADD && name_table_remove (left, name);
            if (step == HOSTSET_ADD || (step == HOSTSET_EITHER && !was_there))
                name_table_add (left, name);
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
        return hostset_scan_fail (scan, ERR_PARSE, at,
                                  "no groups are defined here; a slice file defines them under groups:");
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
    name_table_release (&value);
    return rc;
}

static int add_names (const struct hostset *set, const struct hostset_scan *scan, uint32_t at,
                      const struct name_list *names, struct name_table *operand)
{
    for (uint32_t i = 0; i < names->n; i++)
        if (!name_table_add (operand, names->items[i]) && set->rules.once)
            return refuse_repeated (scan, at, names->items[i]);
    return 0;
}

static int read_operand (struct hostset *set, struct hostset_scan *scan, uint32_t depth, struct name_table *operand)
{
    uint32_t at = scan->at;
    struct name_list names;
    name_table_clear (operand);
    if (item_read (&set->item, scan) < 0 || read_names (set, scan, at, &names) < 0)
        return -1;
    if (!set->item.group)
        return add_names (set, scan, at, &names, operand);
    for (uint32_t i = 0; i < names.n; i++)
        if (hostset_add_group (set, scan, at, names.items[i], depth, operand) < 0)
            return -1;
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
    name_table_release (&operand);
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
    struct text name;
    name_table_clear (&set->value);
    for (uint32_t at = 0; name_table_next (&other->table, &at, &name);)
        name_table_add (&set->value, text_copy (&set->arena, name));
    return hostset_take_step (set, &set->table, step, &set->value, &scan, 0);
}

struct name_list hostset_names (const struct hostset *set, struct arena *arena)
{
    struct name_list names = { arena_array (arena, set->table.living, sizeof *names.items), 0 };
    struct text name;
    for (uint32_t at = 0; name_table_next (&set->table, &at, &name);)
        names.items[names.n++] = text_copy (arena, name);
    return names;
}

int hostset_read (struct text expression, const struct hostset_rules *rules, struct arena *arena,
                  struct name_list *names, struct err *err)
{
    struct hostset *set = hostset_create (rules);
    for (uint32_t i = 0; i < names->n; i++)
        name_table_add (&set->table, names->items[i]);
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
