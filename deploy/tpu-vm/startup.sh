#!/bin/sh
# Start-up script of a TPU VM: starts this host's sliceup worker with the ticket on this host. See docs/guide/tpu-vm.md.
#
# It runs as root at every boot and changes no file. Each variable may be set in the environment:
#   SLICE_HOSTS    the prefix of the slice's host names (v6e-)
#   WORKER         the worker program (/usr/local/bin/sliceup-worker)
#   TICKETS        where tickets are (/etc/sliceup)
#   DIRECTORY      the worker's folder (/var/tmp/sliceup)
#   GCE_METADATA_HOST  the metadata server (metadata.google.internal)
set -eu

hosts=${SLICE_HOSTS:-v6e-}
worker=${WORKER:-/usr/local/bin/sliceup-worker}
tickets=${TICKETS:-/etc/sliceup}
directory=${DIRECTORY:-/var/tmp/sliceup}
metadata=${GCE_METADATA_HOST:-metadata.google.internal}

refuse() {
    echo "sliceup start-up: $*" >&2
    exit 1
}

number=$(curl --silent --show-error --fail --noproxy '*' --max-time 5 --retry 12 --retry-connrefused --retry-delay 5 \
    --header 'Metadata-Flavor: Google' "http://$metadata/computeMetadata/v1/instance/attributes/agent-worker-number") ||
    refuse "the metadata server does not report agent-worker-number; check that this is a TPU VM"
case $number in
    '' | *[!0-9]*) refuse "agent-worker-number of the metadata server is not a number" ;;
esac

ticket=$tickets/$hosts$number.ticket
[ -x "$worker" ] || refuse "$worker is missing: copy the worker of the coordinator's build there"
[ -f "$ticket" ] || refuse "$ticket is missing: make it where the coordinator is (sliceup ticket) and copy it there"

exec "$worker" join --ticket "$ticket" --directory "$directory" --stay
