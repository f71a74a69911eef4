#!/usr/bin/env bash
# Shows that a release is what its page says: two from two clones are equal to the byte; its packages install in a fresh
# Debian and run a switch there; its image is one; arm64 puts out what amd64 does. It needs root, debootstrap and
# qemu-user-static, and reports what it leaves out.
#
# Usage: scripts/test-release.sh
#   ARCH       architectures (amd64 arm64)
#   COLD=1     the second release is compiled from nothing, with a cache of its own
#   OUTPUTS    what of `make outputs` is compared (the demo and two experiments; .* is all, and takes an hour)
#   KEEP=DIR   directory for the files, which stay there
set -euo pipefail
cd "$(dirname "$0")/.."
arch=${ARCH:-amd64 arm64} tree=$PWD
dir=${KEEP:-$(mktemp -d)}
mkdir -p "$dir"
root=$dir/debian
up=
end() {
	[ -z "$up" ] || { kill "$up" 2>/dev/null && wait "$up" || true; }
	umount "$root/proc" 2>/dev/null || true
	[ -n "${KEEP:-}" ] || rm -rf "$dir"
}
trap end EXIT
ok() { echo "ok   $*"; }
fail() { echo "FAILED: $*" >&2; exit 1; }

# --- two releases

from=$tree
for n in 1 2; do
	rm -rf "$dir/clone$n" "$dir/dist$n"
	git clone -q "$from" "$dir/clone$n"
	from=$dir/clone1 # the same commit, whatever happens to the tree
	cache=
	[ $n = 1 ] || [ -z "${COLD:-}" ] || cache=$dir/cache
	(cd "$dir/clone$n" && ${cache:+env GOCACHE="$cache"} go run ./internal/release -out "$dir/dist$n" -arch "$arch") >"$dir/log$n"
done
diff -r "$dir/dist1" "$dir/dist2" || fail "two releases differ"
ok "two releases of $(find "$dir/dist1" -type f | wc -l) files are equal"
(cd "$dir/dist1" && sha256sum --quiet -c SHA256SUMS) || fail "SHA256SUMS"
ok "SHA256SUMS"

# --- the archive: the README's first command, where there is no source

mkdir -p "$dir/empty"
tar -C "$dir/empty" --strip-components=1 -xzf "$dir"/dist1/tamtam_*_linux_amd64.tar.gz
cd "$dir/empty"
./tamtam version | grep -q "(commit $(git -C "$from" rev-parse --short=12 HEAD), $(TZ=UTC git -C "$from" log -1 \
	--date=format-local:%F --format=%cd))" || fail "version: $(./tamtam version)"
ok "$(./tamtam version)"
./tamtam lab serve --help >/dev/null
./tamtam lab serve --http 127.0.0.1:28088 >"$dir/serve" 2>&1 &
up=$!
for ((i = 0; i < 120; i++)); do curl -fs http://127.0.0.1:28088/ >"$dir/page" && break; sleep 1; done
grep -qi '<html' "$dir/page" || { cat "$dir/serve" >&2; fail "lab serve shows no page"; }
kill -INT "$up"; wait "$up" || true
up=
ok "lab serve, without the source"

# --- packages, in a fresh Debian

if [ "$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null; then
	echo "skipped: packages, for which root and debootstrap are needed"
else
	[ -d "$root/usr" ] || debootstrap --variant=minbase --include=redis-tools bookworm "$root" >"$dir/debootstrap" ||
		{ tail -5 "$dir/debootstrap" >&2; fail debootstrap; }
	mount -t proc proc "$root/proc"
	echo '127.0.0.1 localhost' >"$root/etc/hosts"
	cp "$dir"/dist1/*_amd64.deb "$root/tmp/"
	chroot "$root" sh -c 'dpkg -i /tmp/*_amd64.deb' >"$dir/dpkg" 2>&1 || { cat "$dir/dpkg" >&2; fail "dpkg -i"; }
	chroot "$root" dpkg --verify tamtam tamtam-collectd || fail "dpkg --verify"
	ok "dpkg -i"
	id=$(chroot "$root" id -u tamtam) || fail "no user tamtam"
	[ "$(chroot "$root" stat -c %u /usr/bin/tamtam)" = 0 ] || fail "the program belongs to another user than root"
	# What the units start, as their user and in their order. systemd itself does not run in a chroot.
	install -d -o "$id" "$root/var/lib/tamtam/redis" "$root/var/lib/tamtam/mgmtd" "$root/run/tamtam"
	as() { chroot --userspec tamtam:tamtam "$root" /usr/bin/env HOME=/var/lib/tamtam "$@"; }
	pids=()
	for unit in redis cold syncd orchagent tammgrd mgmtd sflowd; do
		sed -n 's/^ExecStart=//p' "$root/lib/systemd/system/tamtam-$unit.service" | while read -r command; do
			if [ $unit = cold ]; then
				# shellcheck disable=SC2086 # a list of words
				as $command >>"$dir/units" 2>&1 || fail "$command"
			else
				# shellcheck disable=SC2086 # a list of words
				(exec chroot --userspec tamtam:tamtam "$root" $command) >>"$dir/units" 2>&1 &
				echo $! >>"$dir/pids"
			fi
		done
		sleep 1
	done
	mapfile -t pids <"$dir/pids"
	rm "$dir/pids"
	up="${pids[*]}"
	for ((i = 0; i < 120; i++)); do [ "$(as tamtam health 2>/dev/null)" = ok ] && break; sleep 1; done
	as tamtam health >"$dir/health" 2>&1 || { cat "$dir/health" "$dir/units" >&2; fail "the switch of the units"; }
	ok "what the units start is a switch: $(<"$dir/health")"
	kill "${pids[@]}" 2>/dev/null || true
	for pid in "${pids[@]}"; do while kill -0 "$pid" 2>/dev/null; do sleep 0.2; done; done
	up=
	chroot "$root" dpkg --purge tamtam tamtam-collectd >"$dir/dpkg" 2>&1 || { cat "$dir/dpkg" >&2; fail "dpkg --purge"; }
	[ ! -e "$root/var/lib/tamtam" ] && [ ! -e "$root/etc/tamtam" ] || fail "dpkg --purge leaves files"
	ok "dpkg --purge"
	umount "$root/proc"
fi

# --- the image, as its archive describes it

image=$dir/image
rm -rf "$image"
mkdir -p "$image/root"
tar -C "$image" -xzf "$dir"/dist1/tamtam-image_*_amd64.tar.gz
tr ',' '\n' <"$image/manifest.json" | grep -o '[0-9a-f]*/layer.tar' | while read -r layer; do tar -C "$image/root" -xf "$image/$layer"; done
if [ "$(id -u)" = 0 ]; then
	cp "$tree/docker/config_db.json" "$image/root/etc/tamtam/startup"
	chroot "$image/root" /usr/bin/redis-server --version >/dev/null || fail "redis-server of the image"
	chroot "$image/root" /usr/bin/env true 2>/dev/null && fail "the image has more programs than it needs"
	chroot "$image/root" /usr/bin/tamtam up --gnmi 127.0.0.1:28080 --redis embedded:127.0.0.1:26379 >"$dir/image.log" 2>&1 &
	up=$!
	for ((i = 0; i < 120; i++)); do chroot "$image/root" /usr/bin/tamtam health >/dev/null 2>&1 && break; sleep 1; done
	chroot "$image/root" /usr/bin/tamtam health || { cat "$dir/image.log" >&2; fail "the image"; }
	kill "$up"
	wait "$up" || fail "the image's end: $?"
	up=
	ok "the image runs a switch"
fi
if docker info >/dev/null 2>&1; then
	docker load -q -i "$dir"/dist1/tamtam-image_*_amd64.tar.gz >/dev/null || fail "docker load"
	ok "docker load"
fi

# --- arm64

qemu=$(command -v qemu-aarch64-static || true)
if [[ " $arch " != *" arm64 "* ]] || [ -z "$qemu" ]; then
	echo "skipped: arm64, for which qemu-user-static is needed"
else
	cd "$dir"
	mkdir -p arm64
	tar -C arm64 --strip-components=1 -xzf "$dir"/dist1/tamtam_*_linux_arm64.tar.gz
	printf '#!/bin/sh\nexec %s %s "$@"\n' "$qemu" "$dir/arm64/tamtam" >arm64/run
	chmod +x arm64/run
	for a in amd64 arm64; do
		program=$dir/empty/tamtam
		[ $a = amd64 ] || program=$dir/arm64/run
		(cd "$tree" && TAMTAM=$program ONLY=${OUTPUTS:-demo|flymon-fig13a|flymon-fig14d} scripts/outputs.sh) >"$dir/outputs.$a" || fail "outputs of $a"
	done
	[ -s outputs.amd64 ] && diff outputs.amd64 outputs.arm64 || fail "arm64 puts out something else"
	ok "arm64 puts out what amd64 does: $(wc -l <outputs.amd64) hashes"
fi
echo "all passed"
