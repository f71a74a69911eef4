#!/usr/bin/env bash
# Checks that the daemons work as containers. It builds the image if it is missing, starts compose.yaml, and waits until
# every container is healthy. It follows the example session from CONFIG_DB down to the ASIC, and adds and removes one
# through CONFIG_DB. It restarts each daemon in turn, and kills Redis and all of them. It makes each container
# unhealthy, checks the reported reason, and removes everything.
#
# Usage: scripts/test-compose.sh
set -euo pipefail
cd "$(dirname "$0")/.."
image=${TAMTAM_IMAGE:=tamtam}
export TAMTAM_IMAGE TAMTAM_GNMI=${TAMTAM_GNMI:-127.0.0.1:0}

compose() { docker/compose.sh "$@"; }
redis() { compose exec -T redis redis-cli --raw "$@"; }
down() { compose down -v >/dev/null 2>&1 || true; }
fail() {
	echo "FAILED: $*" >&2
	compose ps >&2
	compose logs --tail=20 >&2
	exit 1
}

# await WHAT COMMAND...: until the command succeeds, for a minute.
await() {
	local what=$1 end=$((SECONDS + 60))
	shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || fail "$what: not within a minute"
		sleep 0.5
	done
	echo "ok   $what"
}
healthy() {
	local name
	for name in redis syncd orchagent tammgrd hostd sflowd mgmtd; do
		[ "$(docker inspect -f '{{.State.Health.Status}}' "$(compose ps -q $name)")" = healthy ] || return 1
	done
}
# says NAME WORDS: succeeds if the container is unhealthy, and its check reports these words.
says() {
	local state='{{.State.Health.Status}} {{range .State.Health.Log}}{{println .Output}}{{end}}'
	state=$(docker inspect -f "$state" "$(compose ps -q "$1")")
	[[ $state == unhealthy* && $state == *"$2"* ]]
}
feature_active() { [ "$(redis -n 6 hget 'TAM_STATE_FEATURES_TABLE|TAILSTAMPING' op-status)" = ACTIVE ]; }
session_is() { [ "$(redis -n 6 hget "TAM_STATE_TAILSTAMPING_TABLE|$1" status)" = "$2" ]; }
asic_has() { [ "$(redis -n 1 eval "return #redis.call('keys', 'ASIC_STATE:SAI_OBJECT_TYPE_$1:*')" 0)" = "$2" ]; }

docker image inspect "$image" >/dev/null 2>&1 || ./scripts/make-image.sh "$image"
trap down EXIT
down
compose up -d >/dev/null 2>&1 || fail "compose up"
compose kill redis >/dev/null 2>&1 && compose start redis >/dev/null 2>&1 || fail "kill redis"
await "Redis was killed a few seconds after the start: every container is healthy" healthy
await "the feature is active" feature_active
told() { compose logs mgmtd 2>/dev/null | grep -o 'created the user admin, password [A-Z2-7]*' | awk '{print $NF}'; }
[ "$(told | wc -l)" = 1 ] || fail "a password is told $(told | wc -l) times at the first start, want once"
as() { # USER PASSWORD: the shell, by gNMI and TLS, in mgmtd's container
	compose exec -T mgmtd tamtam cli --target localhost:8080 --user "$1" --password "$2" -c 'show tam switch'
}
as admin "$(told)" >/dev/null || fail "the login that was made does not work"
if as admin wrong >/dev/null 2>&1; then fail "another password works too"; fi
echo "ok   gNMI asks for the login that was made at the first start, and told once"
await "the session of the configuration is active" session_is web active
await "the ASIC has its rule" asic_has ACL_ENTRY 1
await "the ASIC has its TAM object" asic_has TAM_INT 1

# one_more: a session written with redis-cli reaches the ASIC, and leaves it again.
one_more() {
	redis -n 4 hset 'TAM_FLOWGROUP_TABLE|video' id 2 >/dev/null
	redis -n 4 hset 'ACL_RULE|TAM|video' PRIORITY 90 ETHER_TYPE 2048 IP_PROTOCOL 17 >/dev/null
	redis -n 4 hset 'TAM_TAILSTAMPING_TABLE|video' flowgroup video >/dev/null
	await "  a session written with redis-cli becomes active" session_is video active
	await "  the ASIC has both rules" asic_has ACL_ENTRY 2
	redis -n 4 del 'TAM_TAILSTAMPING_TABLE|video' 'ACL_RULE|TAM|video' 'TAM_FLOWGROUP_TABLE|video' >/dev/null
	await "  removed again, the ASIC has one rule" asic_has ACL_ENTRY 1
}
one_more

for daemon in tammgrd orchagent syncd hostd sflowd mgmtd redis; do
	compose restart "$daemon" >/dev/null 2>&1 || fail "restart $daemon"
	await "after a restart of $daemon all are healthy" healthy
	await "  the first session is active" session_is web active
	one_more
done

killed() { # NAME...
	compose kill "$@" >/dev/null 2>&1 && compose start "$@" >/dev/null 2>&1 || fail "kill $*"
	await "after a kill of $* all are healthy" healthy
	await "  the configuration is there, the first session is active" session_is web active
	one_more
}
killed redis
killed redis syncd orchagent tammgrd hostd sflowd mgmtd

redis config set maxmemory 1 >/dev/null
for name in redis syncd orchagent tammgrd mgmtd; do
	await "Redis is full: $name says so" says $name "Redis is out of memory and takes no writes"
done
redis config set maxmemory 0 >/dev/null
await "Redis has room: all are healthy" healthy
compose stop -t 1 redis >/dev/null 2>&1 || fail "stop redis"
for name in syncd orchagent tammgrd mgmtd; do
	await "Redis is away: $name says so" says $name "Redis does not answer"
done
compose start redis >/dev/null 2>&1 || fail "start redis"
await "Redis is back: all are healthy" healthy
compose pause syncd >/dev/null 2>&1 || fail "pause syncd"
# First syncd has not reported; a few seconds later, when a request is due, it has not answered.
await "syncd hangs: orchagent says so" says orchagent "syncd has not"
compose unpause syncd >/dev/null 2>&1 || fail "unpause syncd"
await "syncd is back: all are healthy" healthy
for key in $(redis -n 4 keys '*'); do redis -n 4 del "$key" >/dev/null; done
await "CONFIG_DB is empty: tammgrd says so" says tammgrd "CONFIG_DB is empty"
compose up -d >/dev/null 2>&1 || fail "compose up again"
await "the configuration is loaded again: all are healthy" healthy
await "  the first session is active" session_is web active

compose down >/dev/null 2>&1 && compose up -d >/dev/null 2>&1 || fail "down, and up"
await "after a cold start all are healthy" healthy
[ -z "$(told)" ] || fail "a login is made again"
await "  the first session is active" session_is web active
one_more
echo "all passed"
