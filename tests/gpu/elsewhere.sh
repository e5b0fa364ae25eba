#!/bin/sh
# The bundle on a machine that has nothing of this one's: a Debian of its own with Python alone, below a temporary folder.
#
#   tests/gpu/elsewhere.sh BUNDLE.tar.gz [SUITE] [SECONDS]
#
# By hand, as root, with debootstrap and a mirror (Debian 12 by default, "trixie" is 13): twice gpu/check.py --device cpu --quick, the first call
# --within SECONDS (120), then what each stage came to. Status 0 when no stage failed and the second call left none out.
set -eu
bundle=$(readlink -f "$1") suite=${2:-bookworm} seconds=${3:-120}
root=$(mktemp -d /tmp/elsewhere.XXXXXX)
trap 'umount "$root/proc" "$root/dev/shm" 2>/dev/null || true; rm -rf "$root"' EXIT
debootstrap --variant=minbase --include=python3 "$suite" "$root" >"$root.log" || { tail -5 "$root.log"; exit 1; }
rm -f "$root.log"
mount -t proc proc "$root/proc"
mkdir -p "$root/dev/shm" "$root/some where"
mount -t tmpfs tmpfs "$root/dev/shm"
tar -xf "$bundle" -C "$root/some where"
name=$(basename "$bundle" .tar.gz)
check() {
    began=$(date +%s) status=0
    chroot "$root" env -i PATH=/usr/bin:/bin HOME=/root LC_ALL=C.UTF-8 python3 "/some where/$name/gpu/check.py" \
        --device cpu --quick --out /root/out "$@" || status=$?
    echo "$suite: status $status after $(($(date +%s) - began)) s"
}
check --within "$seconds"
check
chroot "$root" ls -l /root/out /root/out.tar.gz
exit "$status"
