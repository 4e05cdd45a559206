/* source.h - a file that the configuration refers to: found, read within bounds, and hashed.
 *
 * One rule for every reference: a word with '/' in it or ending in the extension is a path, relative to the folder of
 * the file it stands in; anything else is a name in the share directory. Nothing is expanded, nothing searched for. */
#ifndef SLICEUP_COMMON_CONF_SOURCE_H
#define SLICEUP_COMMON_CONF_SOURCE_H

#include "common/conf/problems.h"

enum { SOURCE_MAX_BYTES = 1 << 20 };

struct conf_file_kind {
    const char *what;      /* "profile": for messages */
    const char *folder;    /* below the share directory */
    const char *extension; /* with its dot */
};
struct source {
    const char *shown; /* the path as people should see it in problems */
    struct file_ref ref;
    struct text bytes;
};

/* `at` holds the reference as its text and says where it stands; its file is what paths are relative to. */
int source_read (struct source *source, const struct conf_file_kind *kind, const char *share_dir,
                 const struct yaml_node *at, struct problem_list *problems);
/* The last part of a path without `extension`. */
struct text source_stem (struct text path, const char *extension);

#endif
