/* installed_files.h - checks that the files of an environment are those that were installed.
 *
 * Every file of every distribution is compared with its RECORD: it exists, and has that size and sha256. All of them
 * are read every time. Inodes and times would miss a byte that a disk or a careful person changed, and would save
 * little: nearly all bytes are those of shared libraries, where such a byte matters most. What lies in site-packages
 * and in no RECORD is an addition, but for __pycache__/<name>.pyc, which Python writes beside its sources. Compiled
 * .pyc files have no digest in a RECORD and are not looked at. Blocks for as long as reading takes; any thread. */
#ifndef SLICEUP_WORKER_ENVIRONMENT_INSTALLED_FILES_H
#define SLICEUP_WORKER_ENVIRONMENT_INSTALLED_FILES_H

#include "common/base/buf.h"
#include "worker/environment/installed.h"

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

#endif
