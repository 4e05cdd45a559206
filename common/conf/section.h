/* section.h - one map of a file read by its table of keys.
 *
 * Unknown keys, missing keys and values of the wrong kind or range become problems; what is left are typed values that
 * still know where they stand, for the rules between keys. */
#ifndef SLICEUP_COMMON_CONF_SECTION_H
#define SLICEUP_COMMON_CONF_SECTION_H

#include "common/conf/conf_keys.h"
#include "common/conf/yaml.h"

struct conf_value {
    const struct yaml_node *node; /* the value, or the whole map when the key is absent: where problems are shown */
    bool given;
    bool good;        /* given or defaulted, and of the right kind: `text` or `number` may be used */
    struct text text; /* NAME TEXT REFERENCE PATH FOLDER OWN_PATH HOSTS WORD */
    uint64_t number;  /* WORD: its number; BOOL NUMBER DURATION SIZE */
};

/* Fills values[section->keys_n]. -1: `map` is no map (reported); then no value is given or good. */
int section_read (const struct section_schema *section, const struct yaml_node *map, struct conf_value values[],
                  struct problem_list *problems);
/* The same for a key whose map may be absent: then all defaults hold, and point at `around`. */
int section_read_optional (const struct section_schema *section, const struct conf_value *value,
                           struct conf_value values[], struct problem_list *problems);
/* Is every value good that is given, or has to be? What is not was reported. */
bool section_is_good (const struct section_schema *section, const struct conf_value values[]);
/* The first item of a list that may be missing; NULL: there is none. -1: it is no list, or has more than `max` items, which is
 * reported: "NAMES 17 ITEMS, expected at most 16". */
int section_list (const struct conf_value *list, uint32_t max, const char *names, const char *items,
                  struct problem_list *problems, const struct yaml_node **first);
/* Does the key take this value? `value` gets it. */
bool section_value_is_good (const struct conf_key *key, const struct yaml_node *node, struct conf_value *value);
/* A name of [A-Za-z0-9._-], as hosts, rungs and files have them. */
bool name_is_good (struct text name);
/* A letter or '_', then letters, digits and '_'; at most `max_bytes`. */
bool identifier_is_good (struct text name, uint32_t max_bytes);
/* A path of this machine: absolute, or "~/" and more. */
bool local_path_is_good (struct text path);
/* "4MiB": a whole number and B, KiB, MiB or GiB; false: it is no size. */
bool size_parse (struct text text, uint64_t *bytes);

#endif
