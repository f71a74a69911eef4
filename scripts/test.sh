#!/usr/bin/env bash
# Checks everything: format, vet, import rules, limits of the source tree, all tests (stored fuzz
# inputs among them), the tests again under the race detector, and the commands that the pages
# quote (long ones in their short form). Exits 0 only when all that could run passed.
#
# Needs Go and git. It installs other tools (a C compiler for the race detector, redis-server to
# compare with, iproute2 for live interfaces, yanglint, curl) with apt-get if it is root or may use
# sudo without a password. Otherwise it reports what it leaves out, and continues.
#
# Usage: scripts/test.sh [--no-install] [--no-race] [--fuzz SECONDS]
#   --no-install      install nothing
#   --no-race         leave the race detector out
#   --fuzz SECONDS    new inputs for each fuzz target, so long (default 0: luck has no place in a gate; see make soak)
set -uo pipefail
cd "$(dirname "$0")/.."

install=yes race=yes fuzz=0
while [ $# -gt 0 ]; do
	case $1 in
	--no-install) install=no ;;
	--no-race) race=no ;;
	--fuzz)
		fuzz=${2:-}
		shift
		[[ $fuzz =~ ^[0-9]+$ ]] || { echo "test.sh: --fuzz takes a number of seconds" >&2; exit 2; }
		;;
	-h | --help) sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0"; exit 0 ;;
	*) echo "test.sh: unknown option $1 (see --help)" >&2; exit 2 ;;
	esac
	shift
done

log=$(mktemp -d)
figures=
trap '[ -z "$figures" ] || kill "$figures" 2>/dev/null; rm -rf "$log"' EXIT
summary=() failed=0

say() { printf '\n=== %s\n' "$*"; }
result() { summary+=("$(printf '%-8s %s' "$1" "$2")"); }
pass() { result ok "$1"; }
fail() { result FAILED "$1"; failed=1; }
skip() { result skipped "$1"; echo "skipped: $1"; }

# check NAME COMMAND...: runs the command and notes how it went and how long it took.
check() {
	local name=$1 start=$SECONDS
	shift
	say "$name"
	if "$@"; then pass "$name ($((SECONDS - start)) s)"; else fail "$name ($((SECONDS - start)) s): $*"; fi
}

# --- tools

command -v go >/dev/null || { echo "test.sh: Go is not installed; see https://go.dev/doc/install" >&2; exit 1; }

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi; }
may_install() {
	[ $install = yes ] && command -v apt-get >/dev/null && { [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null; }
}

# can_compile: a C program can be compiled and linked, as the race detector needs.
can_compile() { echo 'int main(void){return 0;}' | "${CC:-gcc}" -x c -o "$log/probe" - 2>/dev/null; }

missing=()
command -v ip >/dev/null || missing+=(iproute2) # for hosts on veth pairs
command -v redis-server >/dev/null || missing+=(redis-server)
command -v curl >/dev/null || missing+=(curl) # a client of RESTCONF
command -v yanglint >/dev/null || missing+=(libyang2-tools) # judges what gNMI serves
[ $race = no ] || can_compile || missing+=(gcc libc6-dev)
if [ ${#missing[@]} -gt 0 ]; then
	if may_install; then
		say "installing ${missing[*]} with apt-get (--no-install forbids it)"
		export DEBIAN_FRONTEND=noninteractive
		{ as_root apt-get update -q && as_root apt-get install -y -q --no-install-recommends "${missing[@]}"; } >"$log/apt" 2>&1 ||
			{ tail -5 "$log/apt"; echo "could not install ${missing[*]}; going on without"; }
	else
		say "not installed, and may not be installed from here: ${missing[*]}"
	fi
fi
command -v redis-server >/dev/null || skip "comparison with a real Redis: redis-server is not installed (those tests say so and skip)"
command -v yanglint >/dev/null || skip "what gNMI serves by the word of libyang: yanglint is not installed"
command -v redis-cli >/dev/null || skip "figures of pages that use redis-cli: it is not installed"
command -v curl >/dev/null || skip "figures of docs/gnmi.md: curl is not installed"
if ! can_compile; then
	[ $race = no ] || skip "race detector: no C compiler"
	race=no
fi

# --- checks

# Compilers make much garbage, and end soon: they do not collect it below 1.5 GB. What they compile gets room for more
# garbage than usual. Both take a sixth less processor time then.
export GOGC=off GOMEMLIMIT=1500MiB
as_tested='env GOGC=400 GOMEMLIMIT=off'

# Without tables for debuggers, which are not used here, compilers also take a sixth less of it, and without inlining
# another third less. The linker, which runs for each of 140 packages with tests, takes a fifth less. Stack traces do not
# need the tables. Functions of the chip, of formats and of planners are inlined, because their tests compute for long.
# The flags are in the environment, so that all packages (also in tests) are compiled once, and once for the race
# detector, under which tests are no faster with inlining.
own=$(go env GOFLAGS) not_inlined="'-gcflags=all=-dwarf=false -l'" inlined=
for pattern in std tamtam/{saisim,tam,lab,flymonorch}/...; do inlined+=" -gcflags=$pattern=-dwarf=false"; done
export GOFLAGS="$own $not_inlined$inlined -ldflags=-w"

# Without C, as the released program is made: nothing of it needs a C compiler, but for the race detector.
export CGO_ENABLED=0

# One package more than there are cores: while the tests of one wait, others compile or compute.
packages=$(($(nproc) + 1))

# limit prints the time after which a package's tests count as hung: ten minutes on a quiet machine, where the longest
# need two. It grows with the load, because tests that share a core need longer.
limit() { awk -v cores="$(nproc)" '{ printf "%dm", 10 * (1 + $1 / cores) }' /proc/loadavg 2>/dev/null || echo 1h; }

gofmt_clean() {
	local files
	files=$(find . -name '*.go' -not -path './.*' -not -name 'zz_generated*' -print0 | xargs -0 "$(go env GOROOT)/bin/gofmt" -l) || return
	[ -z "$files" ] || { echo "not formatted (gofmt -w mends it):"; echo "$files"; return 1; }
}

# Fuzzing adds new inputs to the stored ones that the tests run; it is by luck what they find, so not in the gate.
# The test binaries are plain ones. Binaries that count branches, and so find more, need everything
# compiled once more; 'make soak' and 'make fuzz' have them.
fuzz_target() { # DIR TARGET
	local out
	if out=$(cd "$1" && "$log/fuzz/${1//\//.}.test" -test.run '^$' -test.fuzz "^$2\$" -test.fuzztime "${fuzz}s" \
		-test.fuzzcachedir "$log/fuzz" -test.parallel 1 2>&1); then
		echo "ok   $1 $2: $(grep -o 'execs: [0-9]*' <<<"$out" | tail -1)"
	elif grep -q '^    context deadline exceeded$' <<<"$out" && ! grep -qE 'Failing input|panic|_test\.go:' <<<"$out"; then
		# The time was up while a worker was in the midst of an input: that is called a failure.
		echo "ok   $1 $2: time was up"
	else
		echo "FAIL $1 $2"
		tail -40 <<<"$out"
		return 1
	fi
}
fuzz_targets() {
	local targets
	targets=$(grep -rHo --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' . | sed 's|^\./||; s|/[^/]*:func | |' | sort -u)
	mkdir "$log/fuzz"
	export -f fuzz_target
	export log fuzz
	cut -d' ' -f1 <<<"$targets" | uniq | xargs -P 2 -I{} sh -c 'go test -c -vet=off -o "$log/fuzz/$(echo {} | tr / .).test" ./{}' &&
		xargs -P "$(nproc)" -L 1 bash -c 'fuzz_target "$0" "$1"' <<<"$targets"
}

# The longest tests come first, so that no core idles at the end. device/chaos waits more than it computes, so many of
# its tests run at a time, beside packages that compute. go vet runs with the tests, which need the same packages
# compiled. So do the import rules (internal/archtest).
tests() {
	local list only= vetted=0
	[ $race = no ] || only=$raced_only
	mapfile -t list < <(go list ./... | grep -vxF "$(printf 'tamtam%s\n' ${only//.\//\/})")
	# shellcheck disable=SC2086 # a list of words
	[ -z "$only" ] || go vet $only || vetted=1
	TAMTAM_RACED=$only go test -exec "$as_tested" -p "$packages" -vet=all -count=1 -timeout "$(limit)" -parallel 16 ./device/chaos \
		./saisim/reference ./device ./device/calibration ./lab/experiments "${list[@]}" 2>&1 |
		tee "$log/tests"
	return $((PIPESTATUS[0] || vetted))
}

# The race detector makes code several times slower, so tests that run long leave some of their
# rounds out there (-short), and those that one goroutine steps are left out (internal/racetest); the run before leaves
# out nothing.
#
# The packages of these lists have several goroutines; the longest tests come first. Every package that starts
# goroutines is in a list, or is linked by the tests of a listed package (internal/archtest). For example, device/chaos
# and cmd/tamtam run all daemons of a switch live. Each further package would cost a link of all its dependencies.
# Packages that link NATS or Parquet would compile these again, for a minute: `make cluster-test` runs them under the
# race detector.
#
# The tests of raced_only leave out only random rounds, so they run once, under the race detector. So do tests of other
# listed packages that are marked with racetest.Live.
raced_again='./device/chaos ./cmd/tamtam ./mgmt ./mgmt/restconf ./sai/redis ./swss ./fleet/join'
raced_only='./fleet/dial ./fleet/ingest ./device/daemons ./device/sender ./device/wire ./host/cpuport ./mgmt/outputs/dialout'

# A binary with the race detector sleeps for a second when it ends, unless GORACE disables that.
race_tests() {
	# shellcheck disable=SC2086 # lists of words
	env GOFLAGS="$own $not_inlined -ldflags=-w" CGO_ENABLED=1 GORACE=atexit_sleep_ms=0 \
		go test -exec "$as_tested" -p "$packages" -race -short -vet=off -count=1 -timeout "$(limit)" $raced_again $raced_only 2>&1 | tee "$log/raced"
	return "${PIPESTATUS[0]}"
}

# The pages' commands wait more than they compute, so they run beside the race detector's tests, which compile and
# compute.
figures_begin() { $as_tested go run ./internal/figures -quick >"$log/figures" 2>&1 & figures=$!; }
figures_end() {
	wait "$figures"
	local rc=$?
	figures=
	cat "$log/figures"
	return $rc
}

check "gofmt" gofmt_clean
check "limits of the source tree (make metrics has the figures)" go run ./internal/metrics -limits
check "go vet, tests" tests
if command -v valgrind >/dev/null; then
	check "instructions of the chip's loads" go run ./lab/bench/instructions
else
	skip "instructions of the chip's loads: valgrind is not installed"
fi
if [ "$fuzz" -gt 0 ]; then check "fuzzing, $fuzz s a target" fuzz_targets; else skip "fuzzing of new inputs: make soak and make fuzz have it"; fi
figures_begin
if [ $race = yes ]; then
	check "tests under the race detector (-short)" race_tests
fi
check "figures of the pages, the long commands in short form (make figures has them whole)" figures_end

# --- summary; the last lines are go test's own, one for each package

say "summary"
printf '%s\n' "${summary[@]}"
[ $failed = 0 ] && echo "all passed" || echo "FAILED"
[ $race = no ] || { say "go test -race -short"; grep -E '^(ok|FAIL|--- FAIL|panic:)' "$log/raced"; }
say "go test -count=1 ./..."
grep -E '^(ok|FAIL|--- FAIL|panic:)' "$log/tests"
exit $failed
