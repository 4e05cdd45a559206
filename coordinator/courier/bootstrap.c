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
 * - The pattern of a mode is cut into pieces because "??-" is a trigraph: owner anything, no w for group and others.
 * - The name of a bundle is the sha256 of its head, which holds those of all else; the program in the head compares
 * them (worker/process/image.h). So what lies there is read whole each time before it is said to be there.
 * - What runs one command is in the head itself, which was compared just now; nothing else of the file is used.
 * - mv replaces a file at once: another courier's equal one, or what was there and is not what it is named after. */
#define SCRIPT                                                                                                         \
    "set -f; PATH=${PATH:-/usr/local/bin:/usr/bin:/bin}; export PATH; mask=$(umask); umask 077; "                      \
    "say () { echo \"sliceup-bootstrap $nonce $*\"; }; "                                                               \
    "no () { set -- $*; say refused \"$@\"; exit 1; }; "                                                               \
    "ours () { set -- $1 $(ls -ldn \"$2\" 2>/dev/null); "                                                              \
    "case \"$1.$2.$4\" in $1.$1???"                                                                                    \
    "?-?"                                                                                                              \
    "?-*.\"$me\") return 0;; esac; return 1; }; "                                                                      \
    "is () { sum=$(head -c \"$head\" <\"$1\" | sha256sum); sum=${sum%% *}; [ \"$sum\" = \"$name\" ]; }; "              \
    "fit () { why=$(\"$place\" preflight --brief 2>&1 </dev/null); "                                                   \
    "case $? in 0) return 0;; 3) no libraries \"$why\";; esac; return 1; }; "                                          \
    "tidy () { rm -rf \"$new\" \"$new.part\" \"$new.old\"; }; "                                                        \
    "receive () { "                                                                                                    \
    "for tool in gzip mkdir chmod mv rm; do "                                                                          \
    "command -v $tool >/dev/null 2>&1 || no upload \"the host has no $tool; install it\"; done; "                      \
    "why=$(mkdir -p \"$dir/bundles\" 2>&1) || no upload \"the folder for worker bundles cannot be made: $why\"; "      \
    "ours d \"$dir/bundles\" || no upload \"$dir/bundles is not a directory of uid $me that nobody else may "          \
    "write to\"; "                                                                                                     \
    "find \"$dir/bundles\" -name \".new-*\" -prune -mtime +0 -exec rm -rf {} + >/dev/null 2>&1; "                      \
    "trap tidy EXIT; trap \"exit 1\" HUP INT PIPE TERM; "                                                              \
    "if [ -e \"$place\" ]; then say want changed; else say want; fi; "                                                 \
    "why=$( { head -c \"$bytes\" >\"$new.part\"; } 2>&1 ) || no upload \"the worker bundle cannot be written "         \
    "below $dir: $why\"; "                                                                                             \
    "set -- $(ls -ln \"$new.part\"); "                                                                                 \
    "[ \"$5\" = \"$bytes\" ] || no upload \"the upload ended after $5 of $bytes bytes; start again\"; "                \
    "why=$( { gzip -dc <\"$new.part\" >\"$new\" && chmod 700 \"$new\"; } 2>&1 ) || "                                   \
    "no upload \"the worker bundle cannot be uncompressed below $dir: $why\"; "                                        \
    "is \"$new\" || no upload \"the worker bundle that arrived has sha256 $sum, expected $name; start again\"; "       \
    "if [ -d \"$place\" ]; then mv \"$place\" \"$new.old\" 2>/dev/null; fi; "                                          \
    "why=$(mv \"$new\" \"$place\" 2>&1); "                                                                             \
    "ours - \"$place\" || no upload \"the worker bundle cannot be moved to its place below $dir: $why\"; "             \
    "say placed; "                                                                                                     \
    "fit || no libraries \"the worker cannot be executed there (is that file system mounted noexec?): $why\"; "        \
    "tidy; trap - EXIT HUP INT PIPE TERM; }; "                                                                         \
    "read -r nonce name head bytes dir job || exit 1; "                                                                \
    "for tool in uname id ls head sha256sum; do "                                                                      \
    "command -v $tool >/dev/null 2>&1 || no architecture \"the host has no $tool; install it, or correct the PATH\"; " \
    "done; "                                                                                                           \
    "set -- $(uname -rm); say host \"$2\" \"$1\"; "                                                                    \
    "me=$(id -u); place=$dir/bundles/$name; new=$dir/bundles/.new-$nonce; "                                            \
    "[ -d \"$dir\" ] || why=$(mkdir -p \"$dir\" 2>&1) || no upload \"the directory cannot be made: $why\"; "           \
    "ours d \"$dir\" || no upload \"$dir is not a directory of uid $me that nobody else may write to: "                \
    "correct it (chown, chmod go-w; no symbolic link) or set another start.directory\"; "                              \
    "if ours d \"$dir/bundles\" && ours - \"$place\" && is \"$place\" && { [ \"$job\" = exec ] || fit; }; then say "   \
    "have; else receive; fi; "                                                                                         \
    "[ \"$job\" = exec ] || job=join; say ready; umask \"$mask\"; exec \"$place\" $job"

const char bootstrap_script[] = SCRIPT;
const char bootstrap_command[] = "exec /bin/sh -c '" SCRIPT "'";
