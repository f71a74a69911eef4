#!/bin/bash
# Compares two builds of tamtam by the rates of `tamtam bench asic`:
#
#	scripts/bench-pair.sh rev COMMIT [ROUNDS]   an older commit, and this tree
#	scripts/bench-pair.sh pgo FILE [ROUNDS]     this tree without the compiler's profile, and with it
#
# Both programs run in turns. A figure is the best of all rounds: other programs on the machine only make a round slower.
set -euo pipefail
cd "$(dirname "$0")/.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
case ${1:-} in
rev)
	mkdir "$dir/tree"
	git archive "$2" | tar -x -C "$dir/tree"
	(cd "$dir/tree" && go build -pgo=off -o "$dir/before" ./cmd/tamtam)
	go build -pgo=off -o "$dir/now" ./cmd/tamtam
	;;
pgo)
	go build -pgo=off -o "$dir/before" ./cmd/tamtam
	go build -pgo="$2" -o "$dir/now" ./cmd/tamtam
	;;
*)
	echo "usage: $0 rev COMMIT [ROUNDS] | pgo FILE [ROUNDS]" >&2
	exit 2
	;;
esac
for _ in $(seq "${3:-5}"); do
	for program in before now; do
		"$dir/$program" bench asic --duration 100ms | sed -n "/^elsewhere/d; s/  *\([0-9.]*\) Mpps.*/\t\1\t$program/p"
	done
done | awk -F '\t' '
	!($1 in seen) { seen[$1]; names[++n] = $1 }
	$2 > best[$1, $3] { best[$1, $3] = $2 }
	END {
		printf "%-45s %10s %10s %6s\n", "Mpps", "before", "now", "times"
		for (i = 1; i <= n; i++) {
			name = names[i]; before = best[name, "before"]; now = best[name, "now"]
			printf "%-45s %10.3f %10.3f %6s\n", name, before, now, (before > 0 ? sprintf("%.2f", now / before) : "-")
		}
	}'
