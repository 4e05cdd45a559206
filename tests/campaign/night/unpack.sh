set -e
mkdir -p samples /srv/dataset
for n in $(seq 1 900); do echo "$n" > samples/$n.txt; done
tar -cf samples.tar samples
echo "unpacking 900 samples"
tar -xf samples.tar -C /srv/dataset || { s=$?; cut -d' ' -f1 /proc/uptime > "$EVIDENCE.$SLICEUP_HOST"; exit $s; }
echo unpacked
