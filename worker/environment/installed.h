/* installed.h - what is really installed in a Python environment, read from its files.
 *
 * No interpreter runs and no pin file is believed: names and versions come from the METADATA of each *.dist-info
 * folder. Texts live in the arena given. Any thread. */
#ifndef SLICEUP_WORKER_ENVIRONMENT_INSTALLED_H
#define SLICEUP_WORKER_ENVIRONMENT_INSTALLED_H

#include "common/base/buf.h"
#include "common/base/digest.h"
#include "common/model/plan.h"
#include "common/model/requirements.h"

struct package {
    struct text name, version, folder;
}; /* name in normal form; its *.dist-info */
struct installed {
    struct package *items;
    uint32_t n;
}; /* sorted by name, then version; a name may come twice */

/* A list of differences, with "; " between them: after ten they are only counted. */
enum { DIFFERENCES_SHOWN_MAX = 10 };
struct differences {
    struct buf *out;
    uint32_t n;
};
bool difference_begin (struct differences *list); /* true: append it to `out` */
void differences_end (struct differences *list);  /* says how many are not shown */

/* Is it pip, setuptools or wheel? They need no pin, and are part of no program. */
bool installed_is_installer (struct text name);
/* `site` is the site-packages folder. ERR_DAMAGE: a dist-info without a readable name and version, which is named. */
int installed_read (const char *site, struct arena *arena, struct installed *out, struct err *err);
/* The versions of up to 512 packages, as the names of their *.dist-info folders have them, of the Python that `program`
 * is, without starting it; nothing of another program. Those that decide what it computes have a variable each. */
enum { VERSIONS_MAX = 16 };
void installed_find_versions (const char *program, struct arena *arena, var_list *out);
/* Appends every difference: another version, missing, twice, installed but not pinned. Returns how many there are. */
uint32_t installed_compare (const struct installed *installed, const struct requirements *pins, struct buf *out);
/* What the environment is, for cache roots and comparison: a digest over the sorted name==version lines, the version of
 * Python, the machine, and the sha256 of libtpu.so, which says more than its version does (empty: there is none).
 * Installers without a pin are left out, as they are not part of any program. */
struct digest installed_fingerprint (const struct installed *installed, const struct requirements *pins,
                                     const char *python, const char *machine, struct text libtpu);

#endif
