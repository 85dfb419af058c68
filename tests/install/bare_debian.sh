#!/usr/bin/env bash
# bare_debian.sh PACKAGES FILE... -- COMMAND: runs COMMAND (for bash) on a bare Debian 12 that has PACKAGES (words, may be empty) and nothing else. The
# FILEs (directories too) lie where it starts. The base system is made once by debootstrap from the mirror that this system uses; a copy of it serves one run.
# Exit status 77 where such a system cannot be made: not root, no debootstrap, no mirror.
set -euo pipefail
packages=$1
shift
files=()
while [ "$1" != -- ]; do files+=("$(realpath "$1")"); shift; done
shift
cannot() { echo "skipped: $1" >&2; exit 77; }
[ "$(id -u)" -eq 0 ] || cannot "a bare system is made by root only"
command -v debootstrap >/dev/null || cannot "debootstrap is not installed"
cache=${TMPDIR:-/tmp}/attractor-bare-debian
base=$cache/base
if [ ! -e "$base/.complete" ]; then
  mirror=$({ cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null || true; } |
           sed -nE 's/^URIs: *([^ ]+).*/\1/p; s/^deb (\[[^]]*\] )?([^ ]+) .*/\2/p' | head -n 1)
  [ -n "$mirror" ] || cannot "no mirror is known"
  rm -rf "$base"
  mkdir -p "$cache"
  debootstrap --variant=minbase --include=ca-certificates bookworm "$base" "$mirror" >"$cache/log" 2>&1 || cannot "debootstrap failed, see $cache/log"
  # The same mirror, and the way to it.
  rm -f "$base/etc/apt/sources.list"
  cp -r /etc/apt/sources.list /etc/apt/sources.list.d "$base/etc/apt/" 2>/dev/null || true
  grep -l Acquire /etc/apt/apt.conf.d/* 2>/dev/null | xargs -r cp -t "$base/etc/apt/apt.conf.d"
  cp -r /usr/share/keyrings/. "$base/usr/share/keyrings/" 2>/dev/null || true
  touch "$base/.complete"
fi
root=$(mktemp -d "$cache/run.XXXXXX")
finish() {
  umount "$root/proc" "$root/dev" 2>/dev/null || true
  # Never into a file system that is still mounted there.
  mountpoint -q "$root/dev" || mountpoint -q "$root/proc" || rm -rf --one-file-system "$root"
}
trap finish EXIT
cp -a "$base/." "$root"
cp /etc/resolv.conf /etc/hosts "$root/etc/" 2>/dev/null || true
mkdir "$root/work"
for file in "${files[@]}"; do cp -r "$file" "$root/work/"; done
mount -t proc proc "$root/proc" && mount --bind /dev "$root/dev" || cannot "a system cannot be mounted here"
inside() {
  chroot "$root" /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
    DEBIAN_FRONTEND=noninteractive bash -c "cd /work && $1"
}
inside "apt-get update -q" >"$cache/log" 2>&1 || cannot "apt-get update failed, see $cache/log"
[ -z "$packages" ] || inside "apt-get install -yq --no-install-recommends $packages" >"$cache/log" 2>&1
inside "$*"
