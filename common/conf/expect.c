/* expect.c - what facts of every host have to be: the image, the kernel, packages of the system. */
#include <string.h>

#include "common/conf/draft.h"

static bool is_of (struct text name, const char *bytes)
{
    for (uint32_t i = 0; i < name.len; i++)
        if (!memchr (bytes, name.ptr[i], strlen (bytes)))
            return false;
    return name.len > 0;
}

#define SMALL "abcdefghijklmnopqrstuvwxyz0123456789"

static struct text package_of (struct text name)
{
    uint32_t prefix = (uint32_t) strlen (EXPECT_PACKAGE);
    return (struct text){ name.ptr + prefix, name.len - prefix };
}

/* Of a package: Debian Policy, 5.6.7. */
static bool name_of_fact_is_good (struct text name)
{
    if (name.len > ID_MAX_BYTES)
        return false;
    if (!text_starts (name, EXPECT_PACKAGE))
        return is_of (name, SMALL "ABCDEFGHIJKLMNOPQRSTUVWXYZ._/+-");
    return is_of (package_of (name), SMALL "+.-");
}

static void expect_read_one (struct draft *draft, const struct yaml_node *key, var_list *out)
{
    const struct yaml_node *value = key->value;
    if (key->kind != YAML_SCALAR || !name_of_fact_is_good (key->text))
        problem_at (draft->problems, key, "%s is no name of a fact, expected one such as os.version or package.libc6",
                    problem_quote_value (draft->problems, key));
    else if (value->kind != YAML_SCALAR || value->text.len == 0 || value->text.len > NAME_MAX_BYTES)
        problem_at (draft->problems, value,
                    "the fact %.*s has no value to expect: give a text of 1 to %d bytes, in which * stands for any",
                    TEXT_ARG (key->text), NAME_MAX_BYTES);
    else
        out->items[out->n++] = (struct var){ key->text, value->text };
}

/* {"libc6":""}: the names are of letters, digits and "+.-". */
static struct text packages_json (const var_list *expect, uint32_t *n, struct arena *arena)
{
    *n = 0;
    struct buf json = { .max = TEXT_MAX_BYTES };
    for (uint32_t i = 0; i < expect->n; i++)
        if (text_starts (expect->items[i].name, EXPECT_PACKAGE))
            buf_printf (&json, "%s\"%.*s\":\"\"", (*n)++ ? "," : "{", TEXT_ARG (package_of (expect->items[i].name)));
    buf_puts (&json, *n ? "}" : "");
    return buf_finish (&json, arena);
}

static void tell_rungs (struct draft *draft, const struct conf_value *given)
{
    uint32_t rungs_n = 0, packages_n;
    struct text json = packages_json (&draft->plan.expect, &packages_n, draft->arena);
    for (uint32_t i = 0; i < draft->plan.rungs.n; i++) {
        struct rung *rung = &draft->plan.rungs.items[i];
        if (!text_is (rung->builtin, "facts"))
            continue;
        rungs_n++;
        if (packages_n)
            *(struct var *) list_append (&rung->args, sizeof (struct var),
                                         draft->arena) = (struct var){ TEXT_LIT ("packages"), json };
    }
    if (rungs_n == 0)
        problem_at (draft->problems, given->node,
                    "nothing compares what is expected: the ladder has no rung with builtin: facts");
    if (packages_n > EXPECT_PACKAGES_MAX)
        problem_at (draft->problems, given->node, "versions of %u packages are expected, the limit is %d", packages_n,
                    EXPECT_PACKAGES_MAX);
}

void draft_expect (struct draft *draft)
{
    const struct conf_value *given = &draft->slice[SLICE_EXPECT];
    var_list *expect = &draft->plan.expect;
    if (!given->given || !given->good || draft->options->rehearsal) /* a rehearsal's machine is another one */
        return;
    if (given->node->n > EXPECT_MAX) {
        problem_at (draft->problems, given->node, "%u facts are expected, the limit is %d", given->node->n, EXPECT_MAX);
        return;
    }
    expect->items = arena_array (draft->arena, given->node->n, sizeof *expect->items);
    for (const struct yaml_node *key = given->node->first; key; key = key->next)
        expect_read_one (draft, key, expect);
    if (draft->plan.rungs.n)
        tell_rungs (draft, given);
}
