/* signatures.c - how failures are recognised: the lists of configs/signatures, one after the other. */
#include <string.h>

#include "common/conf/draft.h"
#include "common/logs/signature.h"

enum { SIGNATURES_IN_ALL_MAX = SIGNATURES_MAX, CONDITION_MIN_BYTES = 2 };

/* What a slice takes unless it names others. A command may use another frontend than the profile's. */
static const char *const shipped[] = { "xla", "jax", "torch_xla", "torch", "gpu", "training", "cluster", "system" };

static const struct conf_file_kind signatures_kind = { "signature list", "configs/signatures", ".yaml" };

struct signature_draft {
    struct draft *draft;
    struct signature *items;
    uint32_t n;
    uint64_t bytes; /* of all their texts */
};

static int read_condition (struct draft *draft, const struct yaml_node *node, struct name_list *texts)
{
    if (node->kind != YAML_SCALAR || yaml_is_null (node))
        return node->kind == YAML_BAD
                   ? -1
                   : problem_at (draft->problems, node, "an item of this list of a signature is %s, expected a text",
                                 node->kind == YAML_SCALAR ? "nothing" : yaml_kind_name (node->kind));
    if (node->text.len < CONDITION_MIN_BYTES || node->text.len > NAME_MAX_BYTES ||
        memchr (node->text.ptr, '\n', node->text.len))
        return problem_at (draft->problems, node, "an item of this list is %s, expected one line of %d to %d bytes",
                           problem_quote (draft->problems, node->text), CONDITION_MIN_BYTES, NAME_MAX_BYTES);
    texts->items[texts->n++] = node->text;
    return 0;
}

static int read_conditions (struct draft *draft, const struct conf_value *list, struct name_list *texts)
{
    const struct yaml_node *node;
    int result = section_list (list, SIGNATURE_TEXTS_MAX, "this list of a signature has", "texts", draft->problems,
                               &node);
    *texts = (struct name_list){ arena_array (draft->arena, node ? list->node->n : 0, sizeof *texts->items), 0 };
    for (; node; node = node->next)
        result |= read_condition (draft, node, texts);
    return result;
}

/* False: the texts pass the limit of the automaton (reported once). */
static bool signatures_has_room (struct signature_draft *list, const struct signature *item,
                                 const struct yaml_node *node)
{
    bool had = list->bytes <= SIGNATURE_SET_TEXT_BYTES;
    list->bytes += item->text.len;
    for (uint32_t i = 0; i < item->also.n; i++)
        list->bytes += item->also.items[i].len;
    for (uint32_t i = 0; i < item->unless.n; i++)
        list->bytes += item->unless.items[i].len;
    if (had && list->bytes > SIGNATURE_SET_TEXT_BYTES)
        problem_at (list->draft->problems, node,
                    "the signature lists have more than %d bytes of text together, the limit",
                    SIGNATURE_SET_TEXT_BYTES);
    return list->bytes <= SIGNATURE_SET_TEXT_BYTES;
}

/* A word that is no backend would never match, and a failure would pass without a sound. */
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
    for (uint32_t i = 0; i < backends->n; i++) {
        struct text word = backends->items[i];
        if (!text_is (word, known[0]) && !text_is (word, known[1]) && !text_is (word, known[2]))
            return problem_at (draft->problems, of[SIGNATURE_BACKENDS].node,
                               "backends has %s, expected cpu, tpu or gpu", problem_quote (draft->problems, word));
    }
    return 0;
}

static void signatures_add (struct signature_draft *list, const struct conf_value of[], const struct yaml_node *node)
{
    struct name_list also, unless, backends;
    bool good = read_conditions (list->draft, &of[SIGNATURE_ALSO], &also) == 0;
    good = read_conditions (list->draft, &of[SIGNATURE_UNLESS], &unless) == 0 && good;
    good = read_conditions (list->draft, &of[SIGNATURE_BACKENDS], &backends) == 0 && good;
    if (!good || !section_is_good (&signature_section, of) || check_always (list->draft, of, &backends) < 0)
        return;
    for (uint32_t i = 0; i < list->n; i++) {
        if (text_equal (list->items[i].id, of[SIGNATURE_ID].text)) {
            problem_at (list->draft->problems, of[SIGNATURE_ID].node,
                        "the signature %s is given twice, expected once in all signature lists",
                        problem_quote (list->draft->problems, of[SIGNATURE_ID].text));
            return;
        }
    }
    if (list->n == SIGNATURES_IN_ALL_MAX) {
        problem_at (list->draft->problems, node, "the signature lists have more than %d signatures together, the limit",
                    SIGNATURES_IN_ALL_MAX);
        return;
    }
    struct signature item = { .id = of[SIGNATURE_ID].text,
                              .text = of[SIGNATURE_TEXT].text,
                              .owner = (enum owner) of[SIGNATURE_OWNER].number,
                              .peer = of[SIGNATURE_PEER].number,
                              .noise = of[SIGNATURE_NOISE].number,
                              .transient = of[SIGNATURE_TRANSIENT].number,
                              .memory = of[SIGNATURE_MEMORY].number,
                              .likely = of[SIGNATURE_LIKELY].number,
                              .recheck = of[SIGNATURE_RECHECK].number,
                              .next = of[SIGNATURE_NEXT].text,
                              .also = { also.items, also.n },
                              .unless = { unless.items, unless.n },
                              .always = of[SIGNATURE_ALWAYS].number,
                              .backends = { backends.items, backends.n } };
    if (signatures_has_room (list, &item, node))
        list->items[list->n++] = item;
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

void draft_signatures (struct draft *draft)
{
    const struct conf_value *given = &draft->slice[SLICE_SIGNATURES];
    struct signature_draft list = { .draft = draft };
    list.items = arena_array (draft->arena, SIGNATURES_IN_ALL_MAX, sizeof *list.items);
    if (given->given && given->good)
        draft_each_reference (draft, given->node, &signatures_kind, signatures_read_file, &list);
    for (size_t i = 0; !given->given && i < sizeof shipped / sizeof shipped[0]; i++)
        signatures_read_default (&list, shipped[i]);
    draft->plan.signatures.items = list.items;
    draft->plan.signatures.n = list.n;
}
