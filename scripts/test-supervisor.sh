#!/usr/bin/env bash
# Checks that docker/supervisord.conf makes a switch. A cold start empties old data and brings the configuration into
# the ASIC; a warm start empties nothing. A killed daemon is started again, without the others, and changes nothing. It
# also checks docker/systemd with systemd. Without supervisord, redis-server or systemd, it skips the test and reports
# that.
#
# Usage: scripts/test-supervisor.sh
set -euo pipefail
cd "$(dirname "$0")/.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# The units, in a separate root with the programs that they start.
if command -v systemd-analyze >/dev/null; then
	root=$dir/root
	mkdir -p "$root"/usr/bin "$root"/usr/lib/systemd "$root"/etc/systemd/system
	cp -r /usr/lib/systemd/system "$root/usr/lib/systemd/"
	cp docker/systemd/* "$root/etc/systemd/system/"
	cp docker/start.sh "$root/usr/bin/tamtam" # any program
	cp docker/start.sh "$root/usr/bin/tamtam-collectd"
	(cd docker/systemd && systemd-analyze --root="$root" verify ./*) >"$dir/units" 2>&1 && ! [ -s "$dir/units" ] ||
		{ cat "$dir/units" >&2; echo "FAILED: units of systemd" >&2; exit 1; }
	echo "ok   the units of systemd"
else
	echo "skipped: systemd-analyze is not installed"
fi

for tool in supervisord supervisorctl redis-server redis-cli; do
	command -v $tool >/dev/null || { echo "skipped: $tool is not installed"; exit 0; }
done
mkdir "$dir/bin" "$dir/redis"
go build -o "$dir/bin/tamtam" ./cmd/tamtam
export PATH=$dir/bin:$PATH TAMTAM_LIB=$PWD/docker TAMTAM_DATA=$dir TAMTAM_CONFIG=$PWD/docker/config_db.json
export TAMTAM_PORT=${TAMTAM_PORT:-26379} TAMTAM_GNMI=${TAMTAM_GNMI:-127.0.0.1:28080}

ctl() { supervisorctl -c docker/supervisord.conf "$@"; }
redis() { redis-cli -p "$TAMTAM_PORT" --raw "$@"; }
fail() {
	echo "FAILED: $*" >&2
	ctl status >&2 || true
	tail -20 "$dir"/*.log >&2
	exit 1
}
# await WHAT COMMAND...: until the command succeeds, for a minute.
await() {
	local what=$1 end=$((SECONDS + 60))
	shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || fail "$what: not within a minute"
		sleep 0.2
	done
	echo "ok   $what"
}
same() { [ "$2" = "$3" ] && echo "ok   $1" || fail "$1: $2, want $3"; }
ready() {
	local name
	for name in tammgrd orchagent syncd sflowd; do tamtam health $name --redis "127.0.0.1:$TAMTAM_PORT" || return 1; done
	tamtam health mgmtd --redis "127.0.0.1:$TAMTAM_PORT" --gnmi "$TAMTAM_GNMI"
}
active() { [ "$(redis -n 6 hget 'TAM_STATE_TAILSTAMPING_TABLE|web' status)" = active ]; }
asic() { redis -n 1 keys 'ASIC_STATE:*' | sort; }
pids() { local name; for name in syncd orchagent tammgrd mgmtd sflowd; do [ $name = "${1:-}" ] || ctl pid switch:$name; done; }
restarted() { local pid; pid=$(ctl pid "$1") && [ "$pid" != 0 ] && [ "$pid" != "$2" ]; }
owner() { redis -n 6 hget "TAMTAM_HEALTH|$1" owner; }
speaks_anew() { [ -n "$(owner "$1")" ] && [ "$(owner "$1")" != "$2" ]; }
cold_is_done() { [ "$(ctl status cold | awk '{print $2}')" = EXITED ]; }

TMPDIR=$dir supervisord -c docker/supervisord.conf >"$dir/supervisord.log" 2>&1 &
supervisord=$!
trap 'kill $supervisord 2>/dev/null; wait $supervisord 2>/dev/null; rm -rf "$dir"' EXIT
await "a cold start is ready" ready
await "the session is active" active
await "the cold start has ended" cold_is_done

redis -n 0 hset 'ACL_RULE_TABLE:TAM:old' PRIORITY 1 >/dev/null
redis -n 2 set old 1 >/dev/null
redis -n 6 hset 'WARM_RESTART_TABLE|orchagent' restore_count 1 >/dev/null
ctl start cold >/dev/null || fail "start cold"
await "a cold restart ends" cold_is_done
await "it is ready" ready
await "the session is active" active
same "what was old is gone" "$(redis -n 2 exists old) $(redis -n 0 exists 'ACL_RULE_TABLE:TAM:old')" "0 0"
same "what others keep in STATE_DB is there" "$(redis -n 6 exists 'WARM_RESTART_TABLE|orchagent')" 1

redis -n 2 set old 1 >/dev/null
redis -n 6 hset 'WARM_RESTART_ENABLE_TABLE|swss' enable true >/dev/null
ctl start cold >/dev/null || fail "start cold"
await "a warm restart ends" cold_is_done
await "it is ready" ready
same "nothing was emptied" "$(redis -n 2 exists old)" 1

for name in syncd orchagent tammgrd mgmtd sflowd; do
	others=$(pids $name) pid=$(ctl pid switch:$name) before=$(asic) old=$(owner $name)
	[ -n "$before" ] || fail "the ASIC has nothing"
	kill -9 "$pid"
	await "$name was killed, and started again" restarted switch:$name "$pid"
	await "  it says how it is" speaks_anew $name "$old"
	await "  all are ready" ready
	await "  the session is active" active
	same "  the others went on" "$(pids $name)" "$others"
	[ "$(asic)" = "$before" ] && echo "ok     the ASIC's objects are the same" || fail "the ASIC's objects are others"
done
others=$(pids) pid=$(ctl pid redis)
kill -9 "$pid"
await "redis was killed, and started again" restarted redis "$pid"
await "  all are ready" ready
await "  the session is active" active
same "  the others went on" "$(pids)" "$others"
echo "all passed"
