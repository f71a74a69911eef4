#!/usr/bin/env bash
# Measures what the README's `go run ./cmd/tamtam demo` costs on a fresh machine, beside a cold `go build ./cmd/tamtam`:
# processor time of user and system, each with an empty build cache of its own. Modules must be there already. It fails
# if the demo needs more than MORE (5) seconds more than the build.
#
# Usage: scripts/cold-demo.sh
set -euo pipefail
cd "$(dirname "$0")/.."
export GOFLAGS=
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
TIMEFORMAT='%U %S %R'

# measure NAME COMMAND... runs the command with an empty cache, and prints its seconds.
measure() {
	local name=$1
	shift
	{ time GOCACHE=$dir/$name "$@" >"$dir/$name.out" 2>"$dir/$name.err"; } 2>"$dir/$name.time" ||
		{ cat "$dir/$name.err" >&2; return 1; }
	rm -rf "${dir:?}/$name"
	awk -v name="$name" '{ printf "%-6s %6.1f s of processor time, %6.1f s of time\n", name, $1 + $2, $3 }' "$dir/$name.time"
}

go mod download
measure build go build -o "$dir/tamtam" ./cmd/tamtam
measure demo go run ./cmd/tamtam demo --out "$dir/demo"
cat "$dir/build.time" "$dir/demo.time" | awk -v most="${MORE:-5}" '
	{ cpu[NR] = $1 + $2 }
	END { printf "the demo costs %.1f s more than the build, want at most %g\n", cpu[2] - cpu[1], most
		exit cpu[2] - cpu[1] > most }'
