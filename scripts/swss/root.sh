#!/bin/bash
# root.sh DIR [SOURCE:TARGET]... -- PROGRAM ... runs PROGRAM with a root file system of its own, in which all changes
# stay in DIR. Each SOURCE is mounted at TARGET. It must run in its own mount, process and network namespaces.
set -e
dir=$1; shift
mount --make-rprivate /
mkdir -p "$dir"/{upper,work,root}
root=$dir/root
mount -t overlay -o "lowerdir=/,upperdir=$dir/upper,workdir=$dir/work" overlay "$root"
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
mount -t tmpfs tmpfs "$root/run"
mkdir -p "$root/run/lock" "$root/run/netns"
mount -t tmpfs tmpfs "$root/dev"
mkdir "$root"/dev/{net,pts,shm}
for d in null zero full random urandom tty net/tun; do
    touch "$root/dev/$d"
    mount --bind "/dev/$d" "$root/dev/$d"
done
mount -t devpts -o ptmxmode=666,newinstance devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
mount -t tmpfs tmpfs "$root/dev/shm"
ln -s /proc/self/fd "$root/dev/fd"
while [ "$1" != -- ]; do
    target=$root$(readlink -m "${1#*:}")
    mkdir -p "$target"
    mount --rbind "${1%%:*}" "$target"
    shift
done
shift
exec chroot "$root" "$@"
