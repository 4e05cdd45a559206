/* installed.h - what is really installed in a Python environment, read from its files.
 *
 * No interpreter runs and no pin file is believed: names and versions come from the METADATA of each *.dist-info
 * folder. Texts live in the arena given. Any thread. */
#ifndef SLICEUP_WORKER_ENVIRONMENT_INSTALLED_H
#define SLICEUP_WORKER_ENVIRONMENT_INSTALLED_H

#include "common/model/plan.h"
#include "common/model/requirements.h"
#include <stddef.h>

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

/* ---- installed_files.c: checks that the files of an environment are those that were installed ----
 *
 * Every file of every distribution is compared with its RECORD: it exists, and has that size and sha256. What lies in
 * site-packages and in no RECORD is an addition, but for __pycache__/<name>.pyc, which Python writes beside its sources.
 * Compiled .pyc files have no digest in a RECORD and are not looked at. Blocks for as long as reading takes; any thread. */

enum { LIBRARIES_MAX = 24 };

struct installed_library {
    struct text name; /* "jaxlib/libjax_common.so": package, then the path below its folder */
    char sha256[DIGEST_HEX_BYTES];
    uint64_t bytes;
};
struct installed_files {
    uint32_t n, unhashed; /* all that RECORDs name; those without a sha256 there, besides .pyc and RECORD itself */
    uint64_t bytes;       /* of those that were read */
    uint32_t differences;
    struct digest digest; /* over path and sha256 of all below site-packages, installers left out */
    struct installed_library libraries[LIBRARIES_MAX + 1]; /* the largest first; a libtpu.so is always among them */
    uint32_t libraries_n;
};

/* Appends every difference to `out` as installed_compare does: "jaxlib 0.10.2: jaxlib/libjax_common.so differs from its
 * entry in RECORD". -1: the environment could not be looked through; `found` is then as it was. */
int installed_files_check (const char *site, const struct installed *installed, struct arena *arena,
                           struct installed_files *found, struct buf *out, struct err *err);
/* The sha256 of the libtpu.so among them; empty: there is none. */
struct text installed_files_libtpu_sha256 (const struct installed_files *files);

/* ---- environment.c: whether the files are those that were verified last ----
 *
 * Size, times, mode and inode of every file of the environment `path`, as git's index has them: no user can set the time
 * of the last change. What they cannot show: a byte that the disk itself changed, and, for as long as a network file
 * system keeps attributes, what another host changed. `sliceup env check` reads all. A
 * record that another user could write, or of files that changed within two seconds of it, counts for nothing. */

/* How all files look; empty: one changed a moment ago, or they cannot be looked through. `built`: just now, by us; where it is
 * large, its files have time to settle (3 s). */
struct text verified_look (const char *path, bool built, struct arena *arena);
/* True: they looked like `seen` when verified_keep was called, and `found` is what was found; texts live in `arena`. */
bool verified_recall (const char *path, struct text seen, struct arena *arena, struct installed_files *found);
/* `seen`: how they looked before they were read: what changed meanwhile looks otherwise. Nothing is kept of differences. */
void verified_keep (const char *path, struct text seen, const struct installed_files *found, struct arena *arena);

/* ---- environment.c, restore.c ---- */

/* Where the Python environment of a pin set is, and what its parts are called.
 *
 * Hosts of one slice may have different Pythons and share one disk, so the interpreter's version is part of the path:
 * <env_dir>-py<major>.<minor>. It knows nothing of how an environment is built. Any thread; blocks for as long as an
 * interpreter takes to start, at most ENVIRONMENT_ASK_MS. */

enum { ENVIRONMENT_ASK_MS = 10000, PYTHON_VERSION_BYTES = 32 };

/* The path of this host's environment. Nothing need be there. */
int environment_path (const struct pins *pins, char *out, size_t out_bytes, struct err *err);
/* "3.11.7", by asking: `python` is searched in PATH when it holds no '/'. Only Python 3. */
int environment_ask_version (const char *python, char version[PYTHON_VERSION_BYTES], struct err *err);
/* environment_path for one whose version is known already. */
int environment_path_of_version (struct text env_dir, const char *version, char *out, size_t bytes, struct err *err);
/* <path>/lib/python<major>.<minor>/site-packages */
int environment_site (const char *path, const char *version, char *out, size_t out_bytes, struct err *err);

/* ---- restore.c ----
 *
 * The builtin program `restore`: builds the pinned Python environment of this host, unless it is complete,
 * and verifies it.
 *
 * Speaks the canary protocol with the arguments pins, pins_sha256, env_dir, python, wheels (a folder that packages come
 * from instead of an index; it is removed when the environment is complete) and build (false: only look); by hand:
 *
 *     sliceup-worker restore --pins FILE --env-dir DIR [--python PYTHON] [--wheels DIR] [--check]
 *
 * Verified: the versions against the pins, and every file of every package against its RECORD.
 * The environment is <env_dir>-py<major>.<minor>. One process builds, under a lock beside it; all others wait and only
 * verify. An environment that is marked complete and differs from the pins is never repaired: the check fails and names
 * every difference, because something other than sliceup changed it.
 * Exit status: 0 the environment is there and as pinned, 1 it is not, 2 usage. */

/* argv[0] is the program's own word. */
int restore_main (int argc, char **argv);

#endif
