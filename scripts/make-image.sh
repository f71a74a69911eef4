#!/usr/bin/env bash
# Builds the container image with internal/release, loads it into Docker, and prints its size and the sizes of its parts.
#
# The program is compiled with the flags of `make build` and `make release`, so its packages are compiled once.
# redis-server and the CAs come from Debian's packages, which apt-get downloads without installing them.
#
# Usage: scripts/make-image.sh [NAME]          (default: tamtam)
#   ROOT    directory of a Debian-like system with redis-server, such as /, instead of Debian's packages
set -euo pipefail
cd "$(dirname "$0")/.."
name=${1:-tamtam}

say() { echo "make-image: $*" >&2; }

docker info >/dev/null 2>&1 || { say "Docker is not running here, or may not be used"; exit 1; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
go run ./internal/release -image "$name" -out "$dir" ${ROOT:+-root "$ROOT"} >/dev/null
docker load -q -i "$dir/image.tar" >/dev/null
mapfile -t layers < <(docker history --human=false --format '{{.Size}}' "$name" | grep -v '^0$' | numfmt --to=si --suffix=B)
say "built the image $name: $(docker image inspect -f '{{.Size}}' "$name" | numfmt --to=si --suffix=B)," \
	"of which ${layers[0]} are tamtam, the rest redis-server, its libraries and the CAs"
