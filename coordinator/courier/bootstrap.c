#include "coordinator/courier/bootstrap.h"

#if defined(__x86_64__)
const char bootstrap_machine[] = "x86_64";
#elif defined(__aarch64__)
const char bootstrap_machine[] = "aarch64";
#else
#error "name what uname -m says on this architecture"
#endif

/* Notes on what is not plain:
 * - `read` takes its line byte by byte and leaves the rest (POSIX, read: "shall not read past the newline" for what is
 *   not seekable); busybox's head does read ahead, which is why nothing is sent behind the bundle until `ready`.
 * - set -f: what ls, uname or a tool said is split into words, never matched against files.
 * - mv of a folder onto one that exists moves into it: then somebody else's equal bundle is there already.
 * - The pattern of a mode is cut into pieces because "??-" is a trigraph: owner anything, no w for group and others.
 * - tar: -o, not the owners in the archive; -m, so that the folder's age is that of the upload.
 * - A place that is there but does not run (preflight neither 0 nor 3: a power loss behind the rename) is uploaded
 *   again. */
#define SCRIPT                                                                                                         \
    "set -f; PATH=${PATH:-/usr/local/bin:/usr/bin:/bin}; export PATH; mask=$(umask); umask 077; "                      \
    "say () { echo \"sliceup-bootstrap $nonce $*\"; }; "                                                               \
    "no () { set -- $*; say refused \"$@\"; exit 1; }; "                                                               \
    "ours () { set -- $(ls -ldn \"$1\" 2>/dev/null); "                                                                 \
    "case \"$1.$3\" in d???" "?-?" "?-*.\"$me\") return 0;; esac; return 1; }; "                                       \
    "fit () { why=$(\"$1/worker\" preflight --brief 2>&1 </dev/null); "                                                \
    "case $? in 0) return 0;; 3) no libraries \"$why\";; esac; return 1; }; "                                          \
    "tidy () { rm -rf \"$new\" \"$new.part\" \"$new.old\"; }; "                                                        \
    "receive () { "                                                                                                    \
    "for tool in head sha256sum gzip tar mkdir mv rm; do "                                                             \
    "command -v $tool >/dev/null 2>&1 || no upload \"the host has no $tool; install it\"; done; "                      \
    "why=$(mkdir -p \"$dir/bundles\" 2>&1) || no upload \"the folder of bundles cannot be made: $why\"; "              \
    "ours \"$dir/bundles\" || no upload \"$dir/bundles is not a directory of uid $me that nobody else may "            \
    "write to\"; "                                                                                                     \
    "find \"$dir/bundles\" -name \".new-*\" -prune -mtime +0 -exec rm -rf {} + >/dev/null 2>&1; "                      \
    "trap tidy EXIT; trap \"exit 1\" HUP INT PIPE TERM; "                                                              \
    "say want; "                                                                                                       \
    "why=$( { head -c \"$bytes\" >\"$new.part\"; } 2>&1 ) || no upload \"the bundle cannot be written below "          \
    "$dir: $why\"; "                                                                                                   \
    "set -- $(ls -ln \"$new.part\"); "                                                                                 \
    "[ \"$5\" = \"$bytes\" ] || no upload \"the upload ended after $5 of $bytes bytes; start again\"; "                \
    "set -- $(sha256sum <\"$new.part\"); "                                                                             \
    "[ \"$1\" = \"$sum\" ] || no upload \"what arrived has sha256 $1, expected $sum; start again\"; "                  \
    "why=$( { mkdir \"$new\" && gzip -dc <\"$new.part\" | (cd \"$new\" && tar -xmof -); } 2>&1 ) || "                  \
    "no upload \"the bundle cannot be unpacked below $dir: $why\"; "                                                   \
    "[ -f \"$new/worker\" ] || no upload \"the bundle holds no program named worker; build it again\"; "               \
    "if ours \"$place\"; then fit \"$place\" || mv \"$place\" \"$new.old\" 2>/dev/null; fi; "                          \
    "mv \"$new\" \"$place\" 2>/dev/null; rm -rf \"$place/.new-$nonce\"; "                                              \
    "ours \"$place\" || no upload \"the bundle cannot be put in its place below $dir\"; "                              \
    "say placed; "                                                                                                     \
    "fit \"$place\" || no libraries \"the worker does not run there (no exec on that file system?): $why\"; "          \
    "tidy; trap - EXIT HUP INT PIPE TERM; }; "                                                                         \
    "read -r nonce sum bytes dir || exit 1; "                                                                          \
    "for tool in uname id ls; do "                                                                                     \
    "command -v $tool >/dev/null 2>&1 || no architecture \"the host has no $tool; install it, or correct the PATH\"; done; "\
    "set -- $(uname -rm); say host \"$2\" \"$1\"; "                                                                    \
    "me=$(id -u); place=$dir/bundles/$sum; new=$dir/bundles/.new-$nonce; "                                             \
    "[ -d \"$dir\" ] || why=$(mkdir -p \"$dir\" 2>&1) || no upload \"the directory cannot be made: $why\"; "           \
    "ours \"$dir\" || no upload \"$dir is not a directory of uid $me that nobody else may write to: "                  \
    "correct it (chown, chmod go-w; no symbolic link) or set another start.directory\"; "                              \
    "if ours \"$place\" && fit \"$place\"; then say have; else receive; fi; "                                          \
    "say ready; umask \"$mask\"; exec \"$place/worker\" join"

const char bootstrap_script[] = SCRIPT;
const char bootstrap_command[] = "exec /bin/sh -c '" SCRIPT "'";
