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

/* ---- environment markers ---- */

/* Names of what sliceup puts into a Python environment, beside what is installed. */

#define ENVIRONMENT_COMPLETE ".sliceup-complete" /* holds the sha256 of its pins: written last */
#define ENVIRONMENT_OURS ".sliceup-environment"  /* empty: we began to build it, so we may remove it */
#define ENVIRONMENT_PINS ".sliceup-pins.txt"     /* the pins as pip was given them */

/* ---- package version ---- */

/* Versions of Python packages: their order, and patterns that they fit.
 *
 * The order is that of PEP 440 for what packages of a bundle are called: numbers with dots, then what comes before a
 * release (dev, a, b, rc) or after it (post). A local part ("+cpu") decides nothing unless the pattern has one. Texts
 * that are no such versions compare as far as they can be read; nothing fails. Pure. Any thread. */

/* <0, 0, >0; "1.2" and "1.2.0" are equal. */
int package_version_compare (struct text a, struct text b);
/* "0.4.32", "0.0.20.*" (0.0.20 and all below it), "*" (any), "<0.0.6", "<=", ">", ">=", or "absent". */
bool package_version_pattern_valid (struct text pattern);
/* `version` empty: it is not installed. */
bool package_version_fits (struct text version, struct text pattern);

#endif
