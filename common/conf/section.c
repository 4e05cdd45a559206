#include "common/conf/section.h"

#include <assert.h>
#include <string.h>

#include "common/base/duration.h"
#include "common/conf/section_problems.h"

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
    uint32_t digits = 0;
    uint64_t number;
    while (digits < text.len && text.ptr[digits] >= '0' && text.ptr[digits] <= '9')
        digits++;
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
    bool good = name.len > 0 && name.len <= max_bytes && !(name.ptr[0] >= '0' && name.ptr[0] <= '9');
    for (uint32_t i = 0; good && i < name.len; i++) {
        char c = name.ptr[i];
        good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    }
    return good;
}

bool local_path_is_good (struct text path)
{
    return text_fits (path, 1, PATH_MAX_BYTES) && (path.ptr[0] == '/' || text_starts (path, "~/"));
}

static bool folder_is_good (struct text path, uint64_t min, uint64_t max)
{
    bool good = path.len >= min && path.len <= max && path.ptr[0] == '/';
    for (uint32_t i = 0; good && i < path.len; i++) {
        char c = path.ptr[i];
        good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               (c && strchr ("/._+@-", c));
    }
    return good;
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
    case KEY_NAME: return name_is_good (node->text);
    case KEY_TEXT: return text_fits (node->text, key->min, key->max);
    case KEY_REFERENCE: return text_fits (node->text, 1, PATH_MAX_BYTES);
    case KEY_PATH: return text_fits (node->text, 1, PATH_MAX_BYTES) && node->text.ptr[0] != '~';
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

static void read_default (const struct conf_key *key, const struct yaml_node *map, struct conf_value *value)
{
    *value = (struct conf_value){ .node = map };
    if (!key->fallback)
        return;
    struct yaml_node node = { .kind = YAML_SCALAR, .plain = true, .text = text_of (key->fallback) };
    value->good = section_value_is_good (key, &node, value);
    assert (value->good); /* else the table is wrong */
}

static void read_key (const struct section_schema *section, const struct yaml_node *node, struct conf_value values[],
                      struct problem_list *problems)
{
    for (uint32_t i = 0; i < section->keys_n; i++) {
        const struct conf_key *key = &section->keys[i];
        if (!text_is (node->text, key->name))
            continue;
        values[i] = (struct conf_value){ .node = node->value, .given = true };
        values[i].good = node->value->kind != YAML_BAD && section_value_is_good (key, node->value, &values[i]);
        if (!values[i].good && node->value->kind != YAML_BAD)
            section_report_value (key, node->value, problems);
        return;
    }
    section_report_unknown (section, node, problems);
}

static void forget (const struct section_schema *section, const struct yaml_node *map, struct conf_value values[])
{
    for (uint32_t i = 0; i < section->keys_n; i++)
        values[i] = (struct conf_value){ .node = map };
}

int section_read (const struct section_schema *section, const struct yaml_node *map, struct conf_value values[],
                  struct problem_list *problems)
{
    for (uint32_t i = 0; i < section->keys_n; i++)
        read_default (&section->keys[i], map, &values[i]);
    if (map->kind == YAML_MAP && !section_report_other_file (section, map, problems)) {
        for (const struct yaml_node *key = map->first; key; key = key->next)
            read_key (section, key, values, problems);
        section_report_missing (section, map, values, problems);
        return 0;
    }
    forget (section, map, values);
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
        forget (section, value->node, values);
        return -1;
    }
    if (section_read (section, &none, values, problems) != 0)
        return -1;
    for (uint32_t i = 0; i < section->keys_n; i++)
        values[i].node = value->node;
    return 0;
}
