#!/bin/bash
# Prints a table of the processor time and memory of `tamtam up` without traffic and clients, with the embedded Redis
# and with redis-server:
#
#	scripts/measure-idle.sh [SECONDS]
#
# It measures for 60 s, or the given time, from half a minute after the start on. TAMTAM=FILE is a program to use
# instead of one that is built from the tree.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60} dir=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; wait; rm -rf "$dir"' EXIT
if [[ -n ${TAMTAM:-} ]]; then ln -s "$TAMTAM" "$dir/tamtam"; else go build -o "$dir/tamtam" ./cmd/tamtam; fi

# used prints the processor time of a process, in ticks of 1/100 s.
used() { awk '{ print $14 + $15 }' "/proc/$1/stat"; }

# measure runs a switch with a Redis, and prints its row. redis is the process of the server, 0 for none.
measure() {
	local name=$1 address=$2 redis=$3 switch before=0 served=0
	"$dir/tamtam" up --redis "$address" --data "$dir/$name" --gnmi localhost:0 2>"$dir/log" &
	switch=$!
	until grep -q 'the switch is up' "$dir/log"; do
		kill -0 "$switch" || { cat "$dir/log" >&2; exit 1; }
		sleep 0.1
	done
	sleep 30
	before=$(used "$switch")
	[[ $redis == 0 ]] || served=$(used "$redis")
	sleep "$seconds"
	before=$(($(used "$switch") - before))
	[[ $redis == 0 ]] || served=$(($(used "$redis") - served))
	awk -v name="$name" -v used="$before" -v served="$served" -v s="$seconds" '/^VmRSS/ { all = $2 } /^RssFile/ { file = $2 }
		END { printf "| %s | %.1f | %.1f | %.0f | %.0f |\n", name, used / s, served / s, all / 1024, file / 1024 }' \
		"/proc/$switch/status"
	kill "$switch"
	wait "$switch"
}

echo '| Redis | processor time of the switch, % of a core | of redis-server | memory of the switch, MB | of it pages of the program |'
echo '| --- | --- | --- | --- | --- |'
measure embedded embedded 0
redis-server --port 0 --unixsocket "$dir/redis.sock" --save '' --dir "$dir" >"$dir/redis.log" &
until [[ -S $dir/redis.sock ]]; do sleep 0.1; done
measure redis-server "unix:$dir/redis.sock" $!
