/* package_version.h - versions of Python packages: their order, and patterns that they fit.
 *
 * The order is that of PEP 440 for what packages of a bundle are called: numbers with dots, then what comes before a
 * release (dev, a, b, rc) or after it (post). A local part ("+cpu") decides nothing unless the pattern has one. Texts
 * that are no such versions compare as far as they can be read; nothing fails. Pure. Any thread. */
#ifndef SLICEUP_COMMON_MODEL_PACKAGE_VERSION_H
#define SLICEUP_COMMON_MODEL_PACKAGE_VERSION_H

#include "common/model/requirements.h"

/* <0, 0, >0; "1.2" and "1.2.0" are equal. */
int package_version_compare (struct text a, struct text b);
/* "0.4.32", "0.0.20.*" (0.0.20 and all below it), "*" (any), "<0.0.6", "<=", ">", ">=", or "absent". */
bool package_version_pattern_valid (struct text pattern);
/* `version` empty: it is not installed. */
bool package_version_fits (struct text version, struct text pattern);

#endif
