#include "common/conf/section_problems.h"

#include <assert.h>
#include <string.h>

#include "common/conf/nearest_word.h"

/* The sections that are whole files. */
static const struct section_schema *const files[] = { &slice_section,   &ladder_section,   &profile_section,
                                                      &bundles_section, &machines_section, &signatures_section,
                                                      &drifts_section };
/* Where else a key may belong. */
static const struct section_schema *const others[] = { &slice_section,      &profile_section, &rung_section,
                                                       &host_section,       &ladder_section,  &limits_section,
                                                       &cache_section,      &ssh_section,     &start_section,
                                                       &coordinator_section };

static bool is_nothing (const struct yaml_node *node)
{
    return node->kind == YAML_SCALAR && yaml_is_null (node);
}

static const char *expectation (const struct conf_key *key, struct arena *arena)
{
    struct buf buf;
    buf_init (&buf, ERR_TEXT_BYTES);
    key_describe_value (key, &buf);
    return buf_finish (&buf, arena).ptr;
}

static const struct conf_key *find_key (const struct section_schema *section, struct text name)
{
    for (uint32_t i = 0; i < section->keys_n; i++)
        if (text_is (name, section->keys[i].name))
            return &section->keys[i];
    return NULL;
}

/* ---- what to write ---- */

/* A text that means itself in brackets. */
static bool is_simple (struct text text)
{
    bool good = text.len > 0;
    for (uint32_t i = 0; good && i < text.len; i++)
        good = (unsigned char) text.ptr[i] > ' ' && !strchr ("[]{},:#&*!|>'\"%@`$;<()?", text.ptr[i]);
    return good;
}

/* "a, b" and "a b" as [a, b]; empty: no list is to be seen in it. */
static struct text as_list (struct text text, struct arena *arena)
{
    struct buf list;
    bool simple = true;
    buf_init (&list, ERR_TEXT_BYTES);
    while (text.len > 0) {
        uint32_t end = 0;
        while (end < text.len && !strchr (" ,", text.ptr[end]))
            end++;
        struct text word = { text.ptr, end };
        if (end > 0)
            buf_printf (&list, "%s%.*s", list.len ? ", " : "", TEXT_ARG (word));
        simple &= end == 0 || is_simple (word);
        end += end < text.len;
        text = (struct text){ text.ptr + end, text.len - end };
    }
    struct text made = simple && !list.overflow ? buf_finish (&list, arena) : (struct text){ 0 };
    buf_release (&list);
    return made;
}

/* What most likely was meant, as one would write it; NULL: not known. */
static const char *meant (const struct conf_key *key, const struct yaml_node *node, struct arena *arena)
{
    struct conf_value value;
    if (node->kind != YAML_SCALAR || yaml_is_null (node))
        return NULL;
    const struct conf_key *first = key->section ? &key->section->keys[0] : NULL;
    if (first && is_simple (node->text) && section_value_is_good (first, node, &value))
        return text_format (arena, "{%s: %.*s}", first->name, TEXT_ARG (node->text)).ptr;
    if (key->kind != KEY_LIST)
        return NULL;
    struct text list = as_list (node->text, arena);
    if (list.len > 0)
        return text_format (arena, "[%.*s]", TEXT_ARG (list)).ptr;
    bool is_line = key == &rung_section.keys[RUNG_COMMAND] && !memchr (node->text.ptr, '\'', node->text.len);
    return is_line ? text_format (arena, "[sh, -c, '%.*s'], for it runs without a shell", TEXT_ARG (node->text)).ptr
                   : NULL;
}

static const char *form (const struct conf_key *key, const struct yaml_node *node)
{
    if (key->kind == KEY_MAP && is_nothing (node))
        return ": the keys below it, with blanks before them";
    if (key->kind == KEY_MAP && node->kind == YAML_LIST)
        return " in braces, or key by key without '- '";
    if (key->kind == KEY_LIST && node->kind == YAML_MAP)
        return ", each item after '- '";
    if ((key->kind == KEY_PATH || key->kind == KEY_FOLDER) && text_starts (node->text, "~"))
        return " (~ stands for no folder here: it is a path of the hosts)";
    if (key->kind == KEY_DURATION)
        return " (one number, and ms, s, m, h or d)";
    return key->kind == KEY_SIZE ? " (one number, and B, KiB, MiB or GiB)" : "";
}

static const char *advice (const struct conf_key *key, const struct yaml_node *node, struct arena *arena)
{
    const char *near = NULL, *better = meant (key, node, arena);
    if (key->kind == KEY_WORD && node->kind == YAML_SCALAR)
        near = nearest_word (node->text, key->words->of + 1, key->words->n - 1);
    if (near)
        return text_format (arena, "; did you mean '%s'?", near).ptr;
    if (better)
        return text_format (arena, "; write %s: %s", key->name, better).ptr;
    return key->example ? text_format (arena, ", such as %s: %s", key->name, key->example).ptr : "";
}

void section_report_value (const struct conf_key *key, const struct yaml_node *node, struct problem_list *problems)
{
    struct arena *arena = problems->arena;
    problem_at (problems, node, "%s is %s, expected %s%s%s", key->name,
                is_nothing (node) ? "nothing" : problem_quote_value (problems, node), expectation (key, arena),
                form (key, node), advice (key, node, arena));
}

void section_report_missing (const struct section_schema *section, const struct yaml_node *map,
                             const struct conf_value values[], struct problem_list *problems)
{
    for (uint32_t i = 0; i < section->keys_n; i++) {
        const struct conf_key *key = &section->keys[i];
        if (key->required && !values[i].given)
            problem_at (problems, map, "the key '%s' is missing in %s, expected %s%s%s%s%s", key->name, section->name,
                        expectation (key, problems->arena), key->example ? ", such as " : "",
                        key->example ? key->name : "", key->example ? ": " : "", key->example ? key->example : "");
    }
}

/* ---- keys in the wrong place ---- */

/* The map of this section to which the key belongs; else another section that has it. */
static const char *belongs (const struct section_schema *section, struct text name, struct arena *arena)
{
    for (uint32_t i = 0; i < section->keys_n; i++)
        if (section->keys[i].section && find_key (section->keys[i].section, name))
            return text_format (arena, ": it belongs below %s, with blanks before it", section->keys[i].name).ptr;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (others[i] != section && find_key (others[i], name))
            return text_format (arena, ": it is a key of %s", others[i]->name).ptr;
    return NULL;
}

void section_report_unknown (const struct section_schema *section, const struct yaml_node *key,
                             struct problem_list *problems)
{
    const char *names[KEYS_MOST];
    struct buf list;
    assert (section->keys_n <= KEYS_MOST);
    buf_init (&list, ERR_TEXT_BYTES);
    for (uint32_t i = 0; i < section->keys_n; i++) {
        names[i] = section->keys[i].name;
        buf_printf (&list, "%s%s", i ? ", " : "", names[i]);
    }
    const char *place = belongs (section, key->text, problems->arena);
    const char *near = place ? NULL : nearest_word (key->text, names, section->keys_n);
    const char *quoted = problem_quote (problems, key->text);
    if (place)
        problem_at (problems, key, "unknown key %s in %s%s", quoted, section->name, place);
    else if (near)
        problem_at (problems, key, "unknown key %s in %s, did you mean '%s'? Expected one of %s", quoted, section->name,
                    near, buf_c (&list));
    else
        problem_at (problems, key, "unknown key %s in %s, expected one of %s", quoted, section->name, buf_c (&list));
    buf_release (&list);
}

/* ---- files ---- */

static uint32_t known_keys (const struct section_schema *section, const struct yaml_node *map)
{
    uint32_t n = 0;
    for (const struct yaml_node *key = map->first; key; key = key->next)
        n += find_key (section, key->text) != NULL;
    return n;
}

static bool is_file (const struct section_schema *section)
{
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        if (files[i] == section)
            return true;
    return false;
}

static void report_empty (const struct section_schema *section, const struct yaml_node *map,
                          struct problem_list *problems)
{
    struct buf keys;
    buf_init (&keys, ERR_TEXT_BYTES);
    for (uint32_t i = 0; i < section->keys_n; i++)
        if (section->keys[i].required)
            buf_printf (&keys, "%s%s", keys.len ? ", " : "", section->keys[i].name);
    problem_at (problems, map, "an empty file, expected %s: a map with at least the keys %s", section->name,
                buf_c (&keys));
    buf_release (&keys);
}

bool section_report_other_file (const struct section_schema *section, const struct yaml_node *map,
                                struct problem_list *problems)
{
    uint32_t most = known_keys (section, map);
    const char *other = NULL;
    if (!is_file (section))
        return false;
    if (map->n == 0) {
        report_empty (section, map, problems);
        return true;
    }
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        if (known_keys (files[i], map) > most) {
            most = known_keys (files[i], map);
            other = files[i]->name;
        }
    for (const struct yaml_node *key = map->first; key && !other; key = key->next)
        if (text_is (key->text, "schema") && key->value->kind == YAML_SCALAR &&
            text_starts (key->value->text, "sliceup."))
            other = text_format (problems->arena, "a document %s", problem_quote (problems, key->value->text)).ptr;
    if (other)
        problem_at (problems, map, "by its keys this is %s, expected %s in its place", other, section->name);
    return other != NULL;
}
