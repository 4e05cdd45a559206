# The fixed command that a courier runs on a host. Spec: docs/spec/launch.md, "Courier and bootstrap".
#
# It is the same for every host and run: what varies goes over its standard input. The host may have any login shell, so
# the build makes one line of this (embed), without these notes; there are no single quotes, backslashes or exclamation
# marks here (csh and fish read those even in quotes), and lines end so that a blank may follow. It runs in /bin/sh, which
# may be dash, bash or busybox. Its first word is its own text.
#
# The name of a bundle is the sha256 of its head, which holds those of all else. The program in the head compares them and
# becomes the worker if they match (worker/process/self.h): one start proves the file and uses it. What stands behind
# --else is this script with its words: what cannot become the worker becomes that again, with a status and a sentence as
# its last words. Status 4, a damaged file: it is brought, once. What runs one command is in the head itself; nothing else
# of the file is used. The launch line comes at once, so that a worker that is there needs no answer of the courier; where
# the file has to be brought, it is passed over, and comes again.

# What ls, uname or a tool said is split into words, never matched against files.
set -f;
PATH=${PATH:-/usr/local/bin:/usr/bin:/bin}; export PATH;
script=$1; shift;

say () { echo "sliceup-bootstrap $nonce $*"; };
no () { set -- $*; say refused "$@"; exit 1; };

# Files and directories of this user, to which nobody else may write; no link.
ours () {
    ls -ldn "$@" 2>/dev/null | {
        n=0;
        while read -r mode links uid rest; do
            case "$mode.$uid" in [d-]????-??-*."$me") n=$((n + 1));; esac;
        done;
        [ $n = $# ];
    };
};
is () { sum=$(head -c "$head" <"$1" | sha256sum); sum=${sum%% *}; [ "$sum" = "$name" ]; };
tools () { for tool in $2; do command -v $tool >/dev/null 2>&1 || no $1 "the host has no $tool; install it$3"; done; };

tidy () { rm -rf "$new" "$new.old"; };
receive () {
    umask 077;
    tools upload "gzip mkdir chmod mv rm";
    ours "$dir" ||
        no upload "$dir is not a directory of uid $me that nobody else may write to:
            correct it (chown, chmod go-w; no symbolic link) or set another start.directory";
    why=$(mkdir -p "$dir/bundles" 2>&1) || no upload "the folder for worker bundles cannot be made: $why";
    ours "$dir/bundles" || no upload "$dir/bundles is not a directory of uid $me that nobody else may write to";
    find "$dir/bundles" -name ".new-*" -prune -mtime +0 -exec rm -rf {} + >/dev/null 2>&1;
    trap tidy EXIT; trap "exit 1" HUP INT PIPE TERM;
    if [ -e "$place" ]; then say want changed; else say want; fi;
    # busybox reads ahead here, which is why nothing is sent behind the bundle until `placed`. gzip sees whether all came.
    why=$( { head -c "$bytes" | gzip -dc >"$new" && chmod 700 "$new"; } 2>&1 ) ||
        no upload "the worker bundle did not arrive whole, or cannot be written below $dir: $why";
    is "$new" || no upload "the worker bundle that arrived has sha256 $sum, expected $name; start again";
    # mv replaces a file at once: another courier's equal one, or what was there and is not what it is named after.
    if [ -d "$place" ]; then mv "$place" "$new.old" 2>/dev/null; fi;
    why=$(mv "$new" "$place" 2>&1);
    [ -f "$place" ] && ours "$place" || no upload "the worker bundle cannot be moved to its place below $dir: $why";
    [ -x "$place" ] || no libraries "the worker cannot be executed below $dir: is that file system mounted noexec?";
    say placed;
};
bring () { [ "$job" = exec ] || read -r line; (receive) || exit 1; had=brought; };

# `read` takes its line byte by byte and leaves the rest (POSIX: "shall not read past the newline" of what cannot seek).
[ $# -gt 0 ] || { read -r line || exit 1; set -- $line; };
nonce=$1 name=$2 head=$3 bytes=$4 dir=$5 job=$6 had=$7 status=$8 why=$9;
tools shell "uname id ls head sha256sum" ", or correct the PATH";
me=$(id -u); place=$dir/bundles/$name; new=$dir/bundles/.new-$nonce;
case $had$status in
had4) bring;;
?*) no libraries "$why";;
*)
    set -- $(uname -rm); say host "$2" "$1";
    [ -d "$dir" ] || why=$(umask 077; mkdir -p "$dir" 2>&1) || no upload "the directory cannot be made: $why";
    if ours "$dir" "$dir/bundles" "$place" && [ -f "$place" ] && [ -x "$place" ] && is "$place";
    then had=had; say have; else bring; fi;;
esac;
[ "$job" = join ] || exec "$place" exec;
exec "$place" join --else /bin/sh -c "$script" sh "$script" $nonce $name $head $bytes $dir join $had 0 0
