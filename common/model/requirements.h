/* requirements.h - a pin set: the file of exact versions with hashes that an environment is built from.
 *
 * The subset of pip's requirements format that can be verified afterwards without asking anybody:
 *
 *     # comment
 *     --index-url URL            (also --extra-index-url, --find-links, --no-index, --require-hashes,
 *                                 --only-binary NAMES, --prefer-binary, --pre)
 *     name==version \
 *         --hash=sha256:<64 hex digits> [--hash=...]
 *
 * Everything else is refused with file and line: no other files, no environment markers, no extras, no ranges, no URLs.
 * Pure. Texts live in the arena given. Any thread. */
#ifndef SLICEUP_COMMON_MODEL_REQUIREMENTS_H
#define SLICEUP_COMMON_MODEL_REQUIREMENTS_H

#include "common/base/digest.h"
#include "common/base/err.h"
#include "common/base/text.h"

enum { REQUIREMENTS_MAX = 4096, REQUIREMENT_HASHES_MAX = 512, REQUIREMENTS_BYTES_MAX = 4 * 1024 * 1024 };

struct requirement {
    struct text name;    /* normal form, see below */
    struct text version; /* as written */
    uint32_t line;
    struct digest *hashes; /* any of them will do */
    uint32_t hashes_n;
};
struct requirements {
    struct requirement *items;
    uint32_t n;
}; /* sorted by name, each name once */

/* `file` is for messages. A file without a single pin is refused. */
int requirements_parse (struct text bytes, const char *file, struct arena *arena, struct requirements *out,
                        struct err *err);
/* PEP 503: lower case, runs of '-', '_' and '.' become one '-'. A 0 stands behind it. */
struct text requirement_normal_name (struct text name, struct arena *arena);
bool requirement_name_valid (struct text name); /* PEP 508, at most 100 characters */
bool requirement_version_valid (struct text version);

#endif
