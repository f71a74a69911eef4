#!/usr/bin/env bash
# Builds the container image from docker/Dockerfile, and prints its size and the sizes of its parts.
#
# It uses the public base images if they can be pulled or exist already. Otherwise it makes a base
# image with debootstrap from Debian's packages, which needs root, and compiles the binary with the
# installed Go. The image's own files are the same in both cases.
#
# Usage: scripts/make-image.sh [NAME]          (default: tamtam)
#   BASE, BUILDER   images to use instead of the Dockerfile's defaults
#   LOCAL=1         make the base image here even if the public one can be pulled
set -euo pipefail
cd "$(dirname "$0")/.."
name=${1:-tamtam}
base=${BASE:-debian:bookworm-slim}
builder=${BUILDER:-golang:1.26-bookworm}
local_base=tamtam-base:bookworm-ca

say() { echo "make-image: $*" >&2; }
here() { docker image inspect "$1" >/dev/null 2>&1; }
reachable() { here "$1" || timeout 300 docker pull -q "$1" >/dev/null 2>&1; }

# make_base: a minimal Debian with redis-server and CAs, as the image $local_base.
make_base() {
	if ! command -v debootstrap >/dev/null; then
		say "installing debootstrap with apt-get"
		apt-get update -q >/dev/null && apt-get install -y -q --no-install-recommends debootstrap >/dev/null
	fi
	local root mirror
	root=$(mktemp -d)
	trap 'rm -rf "$root"' RETURN
	# The mirror that this machine's apt uses, if it is a Debian.
	mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Codename: bookworm' 2>/dev/null | head -1)
	say "making $local_base with debootstrap"
	debootstrap --variant=minbase --include=redis-server,ca-certificates bookworm "$root/fs" ${mirror:+"$mirror"} >"$root/log" 2>&1 ||
		{ tail -5 "$root/log" >&2; return 1; }
	# Remove data of this machine, and unneeded files.
	rm -rf "$root"/fs/var/cache/apt/* "$root"/fs/var/lib/apt/lists/* "$root"/fs/var/log/* \
		"$root"/fs/usr/share/man/* "$root"/fs/usr/share/locale/* "$root"/fs/etc/hostname "$root"/fs/etc/resolv.conf
	find "$root/fs/usr/share/doc" ! -type d ! -name copyright -delete
	echo 'deb http://deb.debian.org/debian bookworm main' >"$root/fs/etc/apt/sources.list"
	tar -C "$root/fs" --numeric-owner -c . | docker import --change 'CMD ["/bin/sh"]' - "$local_base" >/dev/null
}

docker info >/dev/null 2>&1 || { say "Docker is not running here, or may not be used"; exit 1; }
rm -rf docker/build

if [ -z "${LOCAL:-}" ] && reachable "$base" && reachable "$builder"; then
	say "using $base and $builder"
else
	say "no public base image can be pulled: using images made here"
	here "$local_base" || {
		[ "$(id -u)" = 0 ] || { say "making a base image needs root (debootstrap)"; exit 1; }
		make_base
	}
	base=$local_base builder=$local_base
	CGO_ENABLED=0 go build -trimpath -pgo=cmd/tamtam/chip.pgo -ldflags=-s -o docker/build/tamtam ./cmd/tamtam
fi
docker build -q -f docker/Dockerfile --build-arg "BASE=$base" --build-arg "BUILDER=$builder" \
	--build-arg "GOPROXY=$(go env GOPROXY 2>/dev/null || true)" -t "$name" . >/dev/null
rm -rf docker/build
docker image prune -f --filter label=tamtam-stage=build >/dev/null # the older builder leaves its stages behind
mapfile -t layers < <(docker history --human=false --format '{{.Size}}' "$name" | grep -v '^0$' | numfmt --to=si --suffix=B)
say "built the image $name: $(docker image inspect -f '{{.Size}}' "$name" | numfmt --to=si --suffix=B)," \
	"of which ${layers[0]} are tamtam, the rest redis-server, its libraries and the CAs"
