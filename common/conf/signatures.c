/* signatures.c - how failures are recognised: the lists of configs/signatures, one after the other. */
#include <string.h>

#include "common/conf/draft.h"
#include "common/logs/candidate.h"
#include "common/logs/signature.h"
#include "common/logs/words.h"

enum { SIGNATURES_IN_ALL_MAX = SIGNATURES_MAX };

/* The default lists of a slice. A command may use another frontend than the profile's. */
static const char *const shipped[] = { "xla", "jax", "torch_xla", "torch", "gpu", "training", "cluster", "system" };
/* The form of errors that no list knows; read last, unless a slice names a list of that name itself. */
#define RULES "rules"

static const struct conf_file_kind signatures_kind = { "signature list", "configs/signatures", ".yaml" };

struct signature_draft {
    struct draft *draft;
    uint64_t bytes; /* of all texts of its signatures */
};

/* How a list is read: what of a text counts, and how many there may be. */
struct condition_form {
    uint32_t min_bytes, most;
    bool folded; /* in small letters: capitals do not count */
};
static const struct condition_form of_text = { .min_bytes = 2, .most = SIGNATURE_TEXTS_MAX },
                                   of_rule = { .min_bytes = 1, .most = RULE_WORDS_MAX, .folded = true },
                                   names_of_rule = { .min_bytes = 1, .most = RULE_WORDS_MAX };

static int read_condition (struct draft *draft, const struct yaml_node *node, const struct condition_form *form,
                           struct name_list *texts)
{
    if (node->kind != YAML_SCALAR || yaml_is_null (node))
        return problem_at (draft->problems, node, "an item of this list of a signature is %s, expected a text",
                           node->kind == YAML_SCALAR ? "nothing" : yaml_kind_name (node->kind));
    if (node->text.len < form->min_bytes || node->text.len > NAME_MAX_BYTES ||
        memchr (node->text.ptr, '\n', node->text.len))
        return problem_at (draft->problems, node, "an item of this list is %s, expected one line of %u to %d bytes",
                           problem_quote (draft->problems, node->text), form->min_bytes, NAME_MAX_BYTES);
    texts->items[texts->n++] = form->folded ? words_small (draft->arena, node->text) : node->text;
    return 0;
}

static int read_conditions (struct draft *draft, const struct conf_value *list, const struct condition_form *form,
                            struct name_list *texts)
{
    const struct yaml_node *node;
    int result = section_list (list, form->most, "this list of a signature has", "texts", draft->problems, &node);
    *texts = (struct name_list){ .items = arena_array (draft->arena, node ? list->node->n : 0, sizeof *texts->items) };
    for (; node; node = node->next)
        result |= read_condition (draft, node, form, texts);
    return result;
}

/* False: the texts pass the limit of the automaton (reported once). */
static bool signatures_has_room (struct signature_draft *list, const struct signature *item,
                                 const struct yaml_node *node)
{
    bool had = list->bytes <= SIGNATURE_SET_TEXT_BYTES;
    list->bytes += signature_text_bytes (item);
    if (had && list->bytes > SIGNATURE_SET_TEXT_BYTES)
        problem_at (list->draft->problems, node,
                    "the signature lists have more than %d bytes of text together, the limit",
                    SIGNATURE_SET_TEXT_BYTES);
    return list->bytes <= SIGNATURE_SET_TEXT_BYTES;
}

/* A word that is no backend would never match, so a failure would go unseen. */
static int check_always (struct draft *draft, const struct conf_value of[], const struct name_list *backends)
{
    static const char *const known[] = { "cpu", "tpu", "gpu" };
    bool always = of[SIGNATURE_ALWAYS].number;
    if (backends->n && !always)
        return problem_at (draft->problems, of[SIGNATURE_BACKENDS].node,
                           "backends without always: true, expected both");
    if (always && of[SIGNATURE_PEER].number)
        return problem_at (draft->problems, of[SIGNATURE_ALWAYS].node,
                           "always: true with peer: true, expected one of them: such a text is no cause");
    for (uint32_t i = 0; i < backends->n; i++)
        if (!text_is_word (backends->items[i], known, sizeof known / sizeof known[0]))
            return problem_at (draft->problems, of[SIGNATURE_BACKENDS].node,
                               "backends has %s, expected cpu, tpu or gpu",
                               problem_quote (draft->problems, backends->items[i]));
    return 0;
}

/* A second owner is another one, of a text that gives a first. */
static int check_else (struct draft *draft, const struct conf_value of[])
{
    uint64_t first = of[SIGNATURE_OWNER].number, second = of[SIGNATURE_ELSE].number;
    if (!of[SIGNATURE_ELSE].given ||
        (first != second && first != OWNER_UNKNOWN && second != OWNER_UNKNOWN && !of[SIGNATURE_NOISE].number))
        return 0;
    return problem_at (draft->problems, of[SIGNATURE_ELSE].node,
                       "else is %s, expected another owner than that of layer, neither of them unknown, and no noise",
                       problem_quote (draft->problems, of[SIGNATURE_ELSE].text));
}

/* Whose frames, by the names of the reader of tracebacks. */
static int check_raised (struct draft *draft, const struct conf_value of[], const struct name_list *raised)
{
    uint32_t package;
    for (uint32_t i = 0; i < raised->n; i++)
        if (!text_is (raised->items[i], "none") && !enum_value_of (&frame_package_names, raised->items[i], &package))
            return problem_at (draft->problems, of[SIGNATURE_RAISED].node,
                               "raised has %s, expected names of docs/spec/signatures.md",
                               problem_quote (draft->problems, raised->items[i]));
    return 0;
}

/* A known text, or a rule with what it asks of a message. */
static int check_kind (struct draft *draft, const struct conf_value of[], const struct yaml_node *node)
{
    static const uint32_t of_rules[] = { SIGNATURE_TYPES, SIGNATURE_ANY, SIGNATURE_RAISED, SIGNATURE_ERRNO,
                                         SIGNATURE_FIRST_LINE };
    bool rule = of[SIGNATURE_RULE].given;
    if (rule == of[SIGNATURE_TEXT].given)
        return problem_at (draft->problems, node, "a signature has %s, expected one of them",
                           rule ? "text and rule" : "neither text nor rule");
    for (size_t i = 0; !rule && i < sizeof of_rules / sizeof of_rules[0]; i++)
        if (of[of_rules[i]].given)
            return problem_at (draft->problems, of[of_rules[i]].node,
                               "a signature with text has %s, which is of a rule",
                               signature_section.keys[of_rules[i]].name);
    if (of[SIGNATURE_ERRNO].given && !error_rule_knows_errno (of[SIGNATURE_ERRNO].text))
        return problem_at (draft->problems, of[SIGNATURE_ERRNO].node, "errno is %s, which no rule can ask for",
                           problem_quote (draft->problems, of[SIGNATURE_ERRNO].text));
    return 0;
}

/* The id is new, and there is room for one more. */
static bool signatures_takes (struct signature_draft *list, const struct conf_value *id, const struct yaml_node *node)
{
    if (LIST_FIND (list->draft->plan.signatures, struct signature, id, id->text)) {
        problem_at (list->draft->problems, id->node,
                    "the signature %s is given twice, expected once in all signature lists",
                    problem_quote (list->draft->problems, id->text));
        return false;
    }
    bool room = list->draft->plan.signatures.n < SIGNATURES_IN_ALL_MAX;
    if (!room)
        problem_at (list->draft->problems, node, "the signature lists have more than %d signatures together, the limit",
                    SIGNATURES_IN_ALL_MAX);
    return room;
}

enum { LIST_ALSO, LIST_UNLESS, LIST_BACKENDS, LIST_TYPES, LIST_ANY, LIST_RAISED, LISTS };

static bool signatures_read_lists (struct draft *draft, const struct conf_value of[], struct name_list out[LISTS])
{
    const struct condition_form *words = of[SIGNATURE_RULE].given ? &of_rule : &of_text;
    const struct {
        uint32_t key;
        const struct condition_form *form;
    } lists[LISTS] = { { SIGNATURE_ALSO, words },        { SIGNATURE_UNLESS, words },
                       { SIGNATURE_BACKENDS, &of_text }, { SIGNATURE_TYPES, &names_of_rule },
                       { SIGNATURE_ANY, &of_rule },      { SIGNATURE_RAISED, &names_of_rule } };
    bool good = true;
    for (uint32_t i = 0; i < LISTS; i++)
        good = read_conditions (draft, &of[lists[i].key], lists[i].form, &out[i]) == 0 && good;
    return good;
}

static struct signature signatures_item (const struct conf_value of[], const struct name_list lists[LISTS])
{
    enum rule_weight rule = (enum rule_weight) of[SIGNATURE_RULE].number;
    return (struct signature){ .id = of[SIGNATURE_ID].text,
                               .text = of[SIGNATURE_TEXT].text,
                               .owner = (enum owner) of[SIGNATURE_OWNER].number,
                               .else_owner = (enum owner) of[SIGNATURE_ELSE].number,
                               .peer = of[SIGNATURE_PEER].number || rule == RULE_PEER,
                               .noise = of[SIGNATURE_NOISE].number,
                               .transient = of[SIGNATURE_TRANSIENT].number,
                               .memory = of[SIGNATURE_MEMORY].number,
                               .likely = of[SIGNATURE_LIKELY].number || rule,
                               .recheck = of[SIGNATURE_RECHECK].number,
                               .next = of[SIGNATURE_NEXT].text,
                               .also = { lists[LIST_ALSO].items, lists[LIST_ALSO].n },
                               .unless = { lists[LIST_UNLESS].items, lists[LIST_UNLESS].n },
                               .always = of[SIGNATURE_ALWAYS].number,
                               .backends = { lists[LIST_BACKENDS].items, lists[LIST_BACKENDS].n },
                               .rule = rule,
                               .types = { lists[LIST_TYPES].items, lists[LIST_TYPES].n },
                               .any = { lists[LIST_ANY].items, lists[LIST_ANY].n },
                               .raised = { lists[LIST_RAISED].items, lists[LIST_RAISED].n },
                               .error = of[SIGNATURE_ERRNO].text,
                               .first_line = of[SIGNATURE_FIRST_LINE].number };
}

static void signatures_add (struct signature_draft *list, const struct conf_value of[], const struct yaml_node *node)
{
    struct name_list lists[LISTS];
    bool good = signatures_read_lists (list->draft, of, lists);
    if (!good || !section_is_good (&signature_section, of) || check_kind (list->draft, of, node) < 0 ||
        check_else (list->draft, of) < 0 || check_raised (list->draft, of, &lists[LIST_RAISED]) < 0 ||
        check_always (list->draft, of, &lists[LIST_BACKENDS]) < 0 || !signatures_takes (list, &of[SIGNATURE_ID], node))
        return;
    struct signature item = signatures_item (of, lists);
    if (signatures_has_room (list, &item, node))
        list->draft->plan.signatures.items[list->draft->plan.signatures.n++] = item;
}

static void signatures_read_file (void *owner, const struct yaml_node *reference)
{
    struct signature_draft *list = owner;
    struct source source;
    struct conf_value file[SIGNATURES_KEYS], of[SIGNATURE_KEYS];
    struct problem_list *problems = list->draft->problems;
    const struct yaml_node *root = draft_parse_referenced_file (list->draft, &signatures_kind, reference, &source);
    if (!root || section_read (&signatures_section, root, file, problems) != 0 || !file[SIGNATURES_LIST].good)
        return;
    for (const struct yaml_node *node = file[SIGNATURES_LIST].node->first; node; node = node->next)
        if (section_read (&signature_section, node, of, problems) == 0)
            signatures_add (list, of, node);
}

/* Problems of a default list are shown at the map that lacks the key. */
static void signatures_read_default (struct signature_draft *list, const char *name)
{
    struct yaml_node reference = draft_make_reference (list->draft->slice[SLICE_SIGNATURES].node, text_of (name));
    signatures_read_file (list, &reference);
}

static bool names_rules (const struct conf_value *given)
{
    const struct yaml_node *name = given->given && given->good ? given->node->first : NULL;
    while (name && !text_is (name->text, RULES) && !text_is (name->text, RULES ".yaml") &&
           !text_ends (name->text, "/" RULES ".yaml"))
        name = name->next;
    return name != NULL;
}

void draft_signatures (struct draft *draft)
{
    const struct conf_value *given = &draft->slice[SLICE_SIGNATURES];
    struct signature_draft list = { .draft = draft };
    draft->plan.signatures.items = arena_array (draft->arena, SIGNATURES_IN_ALL_MAX, sizeof (struct signature));
    if (given->given && given->good)
        draft_each_reference (draft, given->node, &signatures_kind, signatures_read_file, &list);
    for (size_t i = 0; !given->given && i < sizeof shipped / sizeof shipped[0]; i++)
        signatures_read_default (&list, shipped[i]);
    if (!names_rules (given))
        signatures_read_default (&list, RULES);
}
