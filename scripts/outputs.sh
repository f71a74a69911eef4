#!/bin/bash
# Prints the sha256 of tamtam's outputs. Compare them before and after a change that must not change outputs:
#
#	make outputs > before.txt
#	make outputs | diff before.txt -
#
# A line is a hash and what it is of: what the demo prints and each file that it writes, the same of each experiment of
# the lab, in its short form if it has one (LONG=1: whole), and what both engines did in some cases of the differential
# test (CASES=20). ONLY=PATTERN takes those that match it, such as lab/two-switches, demo or engines. TAMTAM=FILE is a
# program to use instead of one that is built from the tree.
#
# Two experiments are left out: flymon-table3 deploys tasks in real time, and record-fig10 takes the time of the
# planner.
set -euo pipefail
cd "$(dirname "$0")/.."
tree=$PWD only=${ONLY:-} cases=${CASES:-20} failed=0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
if [[ -n ${TAMTAM:-} ]]; then ln -s "$TAMTAM" "$dir/tamtam"; else go build -o "$dir/tamtam" ./cmd/tamtam; fi
cd "$dir"

# collect runs a command of tamtam with --out, and prints the hashes of what it prints and of its files. It returns 1 if
# there is no short form. A command that fails only because a check did has written all of them.
collect() {
	local what=$1 file
	shift
	rm -rf out
	if ! ./tamtam "$@" --out out >stdout 2>stderr; then
		! grep -q 'no short form' stderr || return 1
		echo "outputs: $what: $(<stderr)" >&2
		if ! [[ -s stdout ]]; then
			failed=1
			return 0
		fi
	fi
	echo "$(sha256sum <stdout | cut -c1-64)  $what/stdout"
	find out -type f | LC_ALL=C sort | while read -r file; do
		echo "$(sha256sum <"$file" | cut -c1-64)  $what/${file#out/}"
	done
}

if [[ demo =~ $only ]]; then
	collect demo demo
fi
for name in $(./tamtam lab list | awk '{ print $1 }'); do
	case $name in flymon-table3 | record-fig10) continue ;; esac
	if [[ lab/$name =~ $only ]]; then
		[[ -z ${LONG:-} ]] && collect "lab/$name/short" lab run "$name" --short || collect "lab/$name/whole" lab run "$name"
	fi
done
if [[ engines =~ $only ]]; then # the first cases of "make differential"
	cd "$tree"
	TAMTAM_OUTPUTS=1 TAMTAM_CASES=$cases TAMTAM_SEED=1000000 \
		go test -count=1 -timeout=1h -v -run '^TestEnginesAgree$' ./saisim/reference >"$dir/engines" || failed=1
	sed -En 's!.*outputs of seed ([0-9]+): fast (\w{64}), reference (\w{64}).*!\2  engines/\1/fast\n\3  engines/\1/reference!p' \
		"$dir/engines" | tee "$dir/lines"
	if (($(wc -l <"$dir/lines") != 2 * cases)); then
		cat "$dir/engines" >&2
		failed=1
	fi
fi
exit $failed
