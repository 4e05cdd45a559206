/* yaml_to_json.h - turns a value of a configuration file into JSON, for the arguments of a canary.
 *
 * Plain true, false and JSON numbers keep their type, everything quoted is a string. What other YAML readers would take
 * for another type (yes, 0x10, 1_000, .5) is refused rather than guessed. */
#ifndef SLICEUP_COMMON_CONF_YAML_TO_JSON_H
#define SLICEUP_COMMON_CONF_YAML_TO_JSON_H

#include "common/conf/yaml.h"

enum { JSON_MAX_BYTES = TEXT_MAX_BYTES };

/* A scalar or a list of scalars; -1: reported. `name` is for the message. */
int yaml_to_json (const struct yaml_node *node, struct text name, struct text *json, struct problem_list *problems);

#endif
