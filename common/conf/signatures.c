/* signatures.c - how failures are recognised: the lists of configs/signatures, one after the other. */
#include "common/conf/draft.h"

enum { SIGNATURES_IN_ALL_MAX = 256 };

static const struct source_kind signatures_kind = { "signature list", "configs/signatures", ".yaml" };

struct signature_draft {
    struct draft *draft;
    struct signature *items;
    uint32_t n;
};

static void add (struct signature_draft *list, const struct value of[], const struct yaml_node *node)
{
    for (int i = 0; i < SIGNATURE_KEYS; i++)
        if (!of[i].good)
            return;
    for (uint32_t i = 0; i < list->n; i++) {
        if (text_equal (list->items[i].id, of[SIGNATURE_ID].text)) {
            problem_at (list->draft->problems, of[SIGNATURE_ID].node,
                        "the signature %s is given twice, expected once in all lists",
                        problem_quote (list->draft->problems, of[SIGNATURE_ID].text));
            return;
        }
    }
    if (list->n == SIGNATURES_IN_ALL_MAX) {
        problem_at (list->draft->problems, node, "more than %d signatures in all lists", SIGNATURES_IN_ALL_MAX);
        return;
    }
    list->items[list->n++] = (struct signature) {
        .id = of[SIGNATURE_ID].text,
        .text = of[SIGNATURE_TEXT].text,
        .layer = (enum layer) of[SIGNATURE_LAYER].number,
        .peer = of[SIGNATURE_PEER].number,
        .transient = of[SIGNATURE_TRANSIENT].number,
        .next = of[SIGNATURE_NEXT].text,
    };
}

static void read_file (struct signature_draft *list, const struct yaml_node *reference)
{
    struct source source;
    struct value file[SIGNATURES_KEYS], of[SIGNATURE_KEYS];
    struct problem_list *problems = list->draft->problems;
    const struct yaml_node *root = draft_open (list->draft, &signatures_kind, reference, &source);
    if (!root || section_read (&signatures_section, root, file, problems) != 0 || !file[SIGNATURES_LIST].good)
        return;
    for (const struct yaml_node *node = file[SIGNATURES_LIST].node->first; node; node = node->next)
        if (section_read (&signature_section, node, of, problems) == 0)
            add (list, of, node);
}

/* A reference nobody wrote stands where the key is missing. */
static void read_default (struct signature_draft *list, const char *name)
{
    const struct yaml_node *where = list->draft->slice[SLICE_SIGNATURES].node;
    struct yaml_node reference = {
        .file = where->file, .line = where->line, .column = where->column, .kind = YAML_SCALAR
    };
    reference.text = text_of (name);
    read_file (list, &reference);
}

static void read_given (struct signature_draft *list, const struct yaml_node *names)
{
    enum { LISTS_MAX = 16 };
    struct problem_list *problems = list->draft->problems;
    if (names->n > LISTS_MAX) {
        problem_at (problems, names, "%u signature lists, expected at most %d", names->n, LISTS_MAX);
        return;
    }
    for (const struct yaml_node *name = names->first; name; name = name->next) {
        if (name->kind == YAML_SCALAR && !yaml_is_null (name) && name->text.len <= PATH_MAX_BYTES)
            read_file (list, name);
        else if (name->kind != YAML_BAD)
            problem_at (problems, name, "%s, expected the name or path of a signature list",
                        yaml_kind_name (name->kind));
    }
}

void draft_signatures (struct draft *draft)
{
    const struct value *given = &draft->slice[SLICE_SIGNATURES];
    struct signature_draft list = { .draft = draft };
    list.items = arena_array (draft->arena, SIGNATURES_IN_ALL_MAX, sizeof *list.items);
    if (given->given && given->good)
        read_given (&list, given->node);
    if (!given->given && draft->frontend && frontend_signatures (draft->frontend))
        read_default (&list, frontend_signatures (draft->frontend));
    if (!given->given)
        read_default (&list, "system");
    draft->plan.signatures.items = list.items;
    draft->plan.signatures.n = list.n;
}
