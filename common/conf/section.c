#include "common/conf/draft.h"

#include <assert.h>
#include <string.h>

#include "common/base/duration.h"

/* ---- section problems ---- */

/* Advice for a map that does not fit its table of keys: what to write instead. */

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
    struct buf buf = { .max = ERR_TEXT_BYTES };
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

/* Can the text stand unquoted in brackets? */
static bool is_simple (struct text text)
{
    bool good = text.len > 0;
    for (uint32_t i = 0; good && i < text.len; i++)
        good = (unsigned char) text.ptr[i] > ' ' && !strchr ("[]{},:#&*!|>'\"%@`$;<()?", text.ptr[i]);
    return good;
}

/* "a, b" and "a b" as [a, b]; empty: not a list. */
static struct text as_list (struct text text, struct arena *arena)
{
    struct text word;
    bool simple = true;
    LOCAL_BUF list = { .max = ERR_TEXT_BYTES };
    while (text_next_word (&text, TEXT_LIT (" ,"), &word)) {
        buf_printf (&list, "%s%.*s", list.len ? ", " : "", TEXT_ARG (word));
        simple &= is_simple (word);
    }
    return simple && !list.overflow ? buf_finish (&list, arena) : (struct text){ 0 };
}

/* The value most likely meant, as written in YAML; NULL: not known. */
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

/* "gs://bucket/x", and "gs:/bucket/x", which some libraries print. */
static bool is_url (struct text text)
{
    uint32_t colon = text_span (text, "+-.");
    return colon > 0 && colon + 1 < text.len && text.ptr[colon] == ':' && text.ptr[colon + 1] == '/';
}

static const char *form (const struct conf_key *key, const struct yaml_node *node)
{
    if (key->kind == KEY_MAP && is_nothing (node))
        return ": the keys below it, with blanks before them";
    if (key->kind == KEY_MAP && node->kind == YAML_LIST)
        return " in braces, or key by key without '- '";
    if (key->kind == KEY_LIST && node->kind == YAML_MAP)
        return ", each item after '- '";
    if ((key->kind == KEY_PATH || key->kind == KEY_FOLDER || key->kind == KEY_OWN_PATH) && is_url (node->text))
        return " (a bucket or URL is no folder: mount it, with gcsfuse, s3fs or the like, and name that folder, or "
               "switch the cache off: {mode: off})";
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
        near = text_nearest (node->text, key->words->of + 1, key->words->n - 1);
    if (near)
        return text_format (arena, "; did you mean '%s'?", near).ptr;
    if (better)
        return text_format (arena, "; write %s: %s", key->name, better).ptr;
    return key->example ? text_format (arena, ", such as %s: %s", key->name, key->example).ptr : "";
}

/* Reports a value that its key does not take. */
static void section_report_value (const struct conf_key *key, const struct yaml_node *node,
                                  struct problem_list *problems)
{
    struct arena *arena = problems->arena;
    problem_at (problems, node, "%s is %s, expected %s%s%s", key->name,
                is_nothing (node) ? "nothing" : problem_quote_value (problems, node), expectation (key, arena),
                form (key, node), advice (key, node, arena));
}

static void section_report_missing (const struct section_schema *section, const struct yaml_node *map,
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
static const char *section_belongs (const struct section_schema *section, struct text name, struct arena *arena)
{
    for (uint32_t i = 0; i < section->keys_n; i++)
        if (section->keys[i].section && find_key (section->keys[i].section, name))
            return text_format (arena, ": it belongs below %s, with blanks before it", section->keys[i].name).ptr;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (others[i] != section && find_key (others[i], name))
            return text_format (arena, ": it is a key of %s", others[i]->name).ptr;
    return NULL;
}

/* Reports an unknown key, with the nearest known one or the section that has it. */
static void section_report_unknown (const struct section_schema *section, const struct yaml_node *key,
                                    struct problem_list *problems)
{
    const char *names[KEYS_MOST], *place = section_belongs (section, key->text, problems->arena);
    assert (section->keys_n <= KEYS_MOST);
    for (uint32_t i = 0; i < section->keys_n; i++)
        names[i] = section->keys[i].name;
    if (place)
        problem_at (problems, key, "unknown key %s in %s%s", problem_quote (problems, key->text), section->name, place);
    else
        problem_unknown (problems, key, "key", text_format (problems->arena, " in %s", section->name).ptr, names,
                         section->keys_n);
}

/* ---- files ---- */

static uint32_t known_keys (const struct section_schema *section, const struct yaml_node *map)
{
    uint32_t n = 0;
    for (const struct yaml_node *key = map->first; key; key = key->next)
        n += find_key (section, key->text) != NULL;
    return n;
}

static bool section_is_file (const struct section_schema *section)
{
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        if (files[i] == section)
            return true;
    return false;
}

static void report_empty (const struct section_schema *section, const struct yaml_node *map,
                          struct problem_list *problems)
{
    LOCAL_BUF keys = { .max = ERR_TEXT_BYTES };
    for (uint32_t i = 0; i < section->keys_n; i++)
        if (section->keys[i].required)
            buf_printf (&keys, "%s%s", keys.len ? ", " : "", section->keys[i].name);
    problem_at (problems, map, "an empty file, expected %s: a map with at least the keys %s", section->name,
                buf_c (&keys));
}

/* True: the map is that of a file of another kind, which is reported in place of its keys. */
static bool section_report_other_file (const struct section_schema *section, const struct yaml_node *map,
                                       struct problem_list *problems)
{
    uint32_t most = known_keys (section, map);
    const char *other = NULL;
    if (!section_is_file (section))
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

/* ---- section ---- */

static const struct {
    const char *unit;
    unsigned shift;
} size_units[] = { { "KiB", 10 }, { "MiB", 20 }, { "GiB", 30 }, { "B", 0 } };

bool name_is_good (struct text name)
{
    return name.len <= ID_MAX_BYTES && host_name_valid (name);
}

bool size_parse (struct text text, uint64_t *bytes)
{
    uint32_t digits = text_digits_end (text, 0);
    uint64_t number;
    struct text unit = { .ptr = text.ptr + digits, .len = text.len - digits };
    if (!text_to_u64 ((struct text){ .ptr = text.ptr, .len = digits }, &number))
        return false;
    for (size_t i = 0; i < sizeof size_units / sizeof size_units[0]; i++) {
        if (text_is (unit, size_units[i].unit) && number <= UINT64_MAX >> size_units[i].shift) {
            *bytes = number << size_units[i].shift;
            return true;
        }
    }
    return false;
}

static bool text_fits (struct text text, uint64_t min, uint64_t max)
{
    if (text.len == 0)
        return min == 0;
    return text.len >= min && text.len <= max && !memchr (text.ptr, '\n', text.len) &&
           !memchr (text.ptr, '\t', text.len);
}

bool identifier_is_good (struct text name, uint32_t max_bytes)
{
    return name.len > 0 && name.len <= max_bytes && !text_is_digit (name.ptr[0]) && text_span (name, "_") == name.len;
}

bool local_path_is_good (struct text path)
{
    static const char *const roots[] = { "", "~", ".", ".." };
    struct text rest = path, root = text_take_until (&rest, '/');
    return text_fits (path, 1, PATH_MAX_BYTES) && !text_is (path, "~") &&
           text_is_word (root, roots, sizeof roots / sizeof roots[0]);
}

static bool folder_is_good (struct text path, uint64_t min, uint64_t max)
{
    return path.len >= min && path.len <= max && path.ptr[0] == '/' && text_span (path, "/._+@-") == path.len;
}

/* Parses the kinds whose value is a number. */
static bool parse_number (const struct conf_key *key, const struct yaml_node *node, uint64_t *number)
{
    uint32_t word = 0;
    bool parsed = false;
    if (key->kind == KEY_BOOL) {
        *number = text_is (node->text, "true");
        return node->plain && (*number || text_is (node->text, "false"));
    }
    if (key->kind == KEY_WORD) {
        parsed = enum_value_of (key->words, node->text, &word);
        *number = word;
        return parsed;
    }
    if (key->kind == KEY_NUMBER)
        parsed = node->plain && text_to_u64 (node->text, number);
    else if (key->kind == KEY_DURATION)
        parsed = duration_parse (node->text, number);
    else
        parsed = size_parse (node->text, number);
    return parsed && *number >= key->min && *number <= key->max;
}

static bool parse_scalar (const struct conf_key *key, const struct yaml_node *node, struct conf_value *value)
{
    if (node->kind != YAML_SCALAR || yaml_is_null (node))
        return false;
    value->text = node->text;
    switch (key->kind) {
    case KEY_NAME: return key->max ? host_name_valid (node->text) : name_is_good (node->text);
    case KEY_TEXT: return text_fits (node->text, key->min, key->max);
    case KEY_REFERENCE: return text_fits (node->text, 1, PATH_MAX_BYTES);
    case KEY_PATH: return text_fits (node->text, 1, PATH_MAX_BYTES) && node->text.ptr[0] != '~' && !is_url (node->text);
    case KEY_OWN_PATH: return local_path_is_good (node->text);
    case KEY_FOLDER: return folder_is_good (node->text, key->min, key->max);
    case KEY_HOSTS: return text_fits (node->text, 1, YAML_SCALAR_MAX_BYTES);
    case KEY_WORD:
    case KEY_BOOL:
    case KEY_NUMBER:
    case KEY_DURATION:
    case KEY_SIZE: return parse_number (key, node, &value->number);
    case KEY_MAP:
    case KEY_LIST:
    case KEY_ANY: break;
    }
    return false;
}

bool section_value_is_good (const struct conf_key *key, const struct yaml_node *node, struct conf_value *value)
{
    switch (key->kind) {
    case KEY_MAP: return node->kind == YAML_MAP;
    case KEY_LIST: return node->kind == YAML_LIST;
    case KEY_ANY: return !yaml_is_null (node);
    default: return parse_scalar (key, node, value);
    }
}

static void section_read_default (const struct conf_key *key, const struct yaml_node *map, struct conf_value *value)
{
    *value = (struct conf_value){ .node = map };
    if (!key->fallback)
        return;
    struct yaml_node node = { .kind = YAML_SCALAR, .plain = true, .text = text_of (key->fallback) };
    value->good = section_value_is_good (key, &node, value);
    assert (value->good); /* else the table is wrong */
}

static void section_read_key (const struct section_schema *section, const struct yaml_node *node,
                              struct conf_value values[], struct problem_list *problems)
{
    for (uint32_t i = 0; i < section->keys_n; i++) {
        const struct conf_key *key = &section->keys[i];
        if (!text_is (node->text, key->name))
            continue;
        values[i] = (struct conf_value){ .node = node->value, .given = true };
        values[i].good = node->value->kind != YAML_BAD && section_value_is_good (key, node->value, &values[i]);
        if (!values[i].good)
            section_report_value (key, node->value, problems);
        return;
    }
    section_report_unknown (section, node, problems);
}

static void section_forget (const struct section_schema *section, const struct yaml_node *map,
                            struct conf_value values[])
{
    for (uint32_t i = 0; i < section->keys_n; i++)
        values[i] = (struct conf_value){ .node = map };
}

int section_read (const struct section_schema *section, const struct yaml_node *map, struct conf_value values[],
                  struct problem_list *problems)
{
    for (uint32_t i = 0; i < section->keys_n; i++)
        section_read_default (&section->keys[i], map, &values[i]);
    if (map->kind == YAML_MAP && !section_report_other_file (section, map, problems)) {
        for (const struct yaml_node *key = map->first; key; key = key->next)
            section_read_key (section, key, values, problems);
        section_report_missing (section, map, values, problems);
        return 0;
    }
    section_forget (section, map, values);
    if (map->kind == YAML_SCALAR || map->kind == YAML_LIST)
        problem_at (problems, map, "%s stands here, expected a map with the keys of %s, each as 'key: value'",
                    problem_quote_value (problems, map), section->name);
    return -1;
}

int section_read_optional (const struct section_schema *section, const struct conf_value *value,
                           struct conf_value values[], struct problem_list *problems)
{
    struct yaml_node none = { .kind = YAML_MAP };
    if (value->given && value->good)
        return section_read (section, value->node, values, problems);
    if (value->given) { /* no map: reported by whoever read the key */
        section_forget (section, value->node, values);
        return -1;
    }
    if (section_read (section, &none, values, problems) != 0)
        return -1;
    for (uint32_t i = 0; i < section->keys_n; i++)
        values[i].node = value->node;
    return 0;
}

bool section_is_good (const struct section_schema *section, const struct conf_value values[])
{
    bool good = true;
    for (uint32_t i = 0; i < section->keys_n; i++)
        good &= values[i].good || !(values[i].given || section->keys[i].required);
    return good;
}

int section_list (const struct conf_value *list, uint32_t max, const char *names, const char *items,
                  struct problem_list *problems, const struct yaml_node **first)
{
    *first = NULL;
    if (!list->given || !list->good)
        return list->given ? -1 : 0;
    if (list->node->n > max)
        return problem_at (problems, list->node, "%s %u %s, expected at most %u", names, list->node->n, items, max);
    *first = list->node->first;
    return 0;
}
