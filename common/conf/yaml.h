/* yaml.h - the bytes of one YAML file as a tree in which everything knows its place. The only home of libfyaml.
 *
 * A subset on purpose: one document, maps with plain keys, lists and scalars. Anchors, aliases, tags, duplicate keys,
 * control characters and trees past the bounds are problems, so a small file cannot become a big tree. A scalar keeps
 * its text: what it means is decided by the key it stands under. The tree lives in the arena. */
#ifndef SLICEUP_COMMON_CONF_YAML_H
#define SLICEUP_COMMON_CONF_YAML_H

#include "common/conf/problems.h"

enum { YAML_DEPTH_MAX = 12, YAML_NODES_MAX = 50000, YAML_KEYS_MAX = 512, YAML_SCALAR_MAX_BYTES = TEXT_MAX_BYTES };

enum yaml_kind {
    YAML_BAD = 0, /* already reported: to be passed over in silence */
    YAML_SCALAR,
    YAML_LIST,
    YAML_MAP,
};

struct yaml_node {
    const char *file;
    uint32_t line, column; /* from 1 */
    enum yaml_kind kind;
    bool plain;              /* SCALAR: not quoted */
    struct text text;        /* SCALAR */
    struct yaml_node *first; /* LIST: its items; MAP: its keys, in the order of the file */
    struct yaml_node *next;  /* the sibling */
    struct yaml_node *value; /* of a key */
    uint32_t n;
};

/* NULL: the file is no such tree, and problems say why. Problems may be added also when a tree is returned. Of an empty
 * file it is a map without keys. */
struct yaml_node *yaml_parse (const char *file, struct text bytes, struct problem_list *problems);
/* Plain and empty, ~ or null: nothing was written there. */
bool yaml_is_null (const struct yaml_node *node);
const char *yaml_kind_name (enum yaml_kind kind);

#endif
