/* requirements.h - a pin set: the file of exact versions with hashes that an environment is built from.
 *
 * The subset of pip's requirements format that can be verified afterwards without a network:
 *
 *     # comment
 *     --index-url URL            (also --extra-index-url, --find-links, --no-index, --require-hashes,
 *                                 --only-binary NAMES, --prefer-binary, --pre)
 *     name[extras]==version ; marker \
 *         --hash=sha256:<64 hex digits> [--hash=...]
 *
 * Extras mean nothing, since pip gets --no-deps. Everything else is refused with file and line: no other files, no
 * ranges, no URLs; lock files of other tools by what they are.
 * Pure. Texts live in the arena given. Any thread. */
#ifndef SLICEUP_COMMON_MODEL_REQUIREMENTS_H
#define SLICEUP_COMMON_MODEL_REQUIREMENTS_H

#include "common/base/digest.h"

enum { REQUIREMENTS_MAX = 4096, REQUIREMENT_HASHES_MAX = 512, REQUIREMENTS_BYTES_MAX = 4 * 1024 * 1024 };

struct requirement {
    struct text name;    /* normal form, see below */
    struct text version; /* as written */
    struct text marker;  /* PEP 508: for which hosts; empty: for all */
    uint32_t line;
    struct digest *hashes; /* any one may match */
    uint32_t hashes_n;
};
struct requirements {
    struct requirement *items;
    uint32_t n;
}; /* sorted by name, each name once for a host */

/* Is told what is wrong with a line, or with the whole file in line 1. */
typedef void requirements_told_fn (void *owner, uint32_t line, const char *what);
/* Reads all of a file and tells every mistake, those of lines in their order. A file without a single pin is one.
 * REQUIREMENTS_BAD_LINES; -1: the file as a whole is none. */
enum { REQUIREMENTS_BAD_LINES = -2 };
int requirements_check (struct text bytes, struct arena *arena, requirements_told_fn *told, void *owner,
                        struct requirements *out);
/* The same for the first mistake; `file` is for its message. */
int requirements_parse (struct text bytes, const char *file, struct arena *arena, struct requirements *out,
                        struct err *err);
/* Drops the pins whose markers do not hold for "3.11.7" and "x86_64". ERR_CONFIG: two of one package remain. */
int requirements_keep_for (struct requirements *pins, const char *python, const char *machine, struct err *err);
/* PEP 503: lower case, runs of '-', '_' and '.' become one '-'. A 0 stands behind it. */
struct text requirement_normal_name (struct text name, struct arena *arena);
bool requirement_name_valid (struct text name); /* PEP 508, at most 100 characters */
bool requirement_version_valid (struct text version);

/* ---- environment markers ---- */

/* Names of the files that sliceup adds to a Python environment. */

#define ENVIRONMENT_COMPLETE ".sliceup-complete" /* holds the sha256 of its pins: written last */
#define ENVIRONMENT_OURS ".sliceup-environment"  /* empty file: we began to build it, so we may remove it */
#define ENVIRONMENT_PINS ".sliceup-pins.txt"     /* the pins as given to pip */

/* ---- package version ---- */

/* Versions of Python packages: their order, and patterns that match them.
 *
 * The order of PEP 440, as far as bundles need it: numbers with dots, then pre-releases (dev, a, b, rc) or
 * post-releases. A local part ("+cpu") is ignored unless the pattern has one. Other texts are compared up to the first
 * unreadable part; nothing fails. Pure. Any thread. */

/* <0, 0, >0; "1.2" and "1.2.0" are equal. */
int package_version_compare (struct text a, struct text b);
/* The same by the numbers alone: "2.9.0", "2.9.0.dev1" and "2.9.0rc1" are equal. */
int package_release_compare (struct text a, struct text b);
/* "0.4.32", "0.0.20.*" (0.0.20 and all below it), "*" (any), "<0.0.6", "<=", ">", ">=", or "absent". */
bool package_version_pattern_valid (struct text pattern);
/* Empty `version`: not installed. */
bool package_version_fits (struct text version, struct text pattern);

#endif
