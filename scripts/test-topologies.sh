#!/usr/bin/env bash
# Runs the topologies of docker/containerlab with Docker and veths that are moved into running containers, as containerlab
# makes them (internal/clab), with traffic of this machine's programs: every feature between two switches, a Clos whose
# every path carries TCP and whose stamps are all counted, a switch of 64 ports, and one that is run as a pod is: what is
# changed is there after it was stopped. Says how soon a switch is ready, and how soon it ends.
#
# Needs root, Docker, iproute2, iperf3 and ping; builds the image if it is not there.
#
# Usage: scripts/test-topologies.sh
set -euo pipefail
cd "$(dirname "$0")/.."
export TAMTAM_IMAGE=${TAMTAM_IMAGE:-tamtam} HOST_IMAGE=${HOST_IMAGE:-host}
for tool in docker ip nsenter iperf3 ping; do
	command -v $tool >/dev/null || { echo "test-topologies: $tool is not installed" >&2; exit 1; }
done
docker image inspect "$TAMTAM_IMAGE" >/dev/null 2>&1 || ./scripts/make-image.sh "$TAMTAM_IMAGE"
dir=$(mktemp -d)
go build -o "$dir/clab" ./internal/clab
topology=
alone=tamtam-test-$$

down() {
	[ -z "$topology" ] || "$dir/clab" down "$topology" >/dev/null 2>&1 || true
	topology=
	docker rm -f "$alone" >/dev/null 2>&1 || true
	docker volume rm "$alone" >/dev/null 2>&1 || true
}
trap 'down; rm -rf "$dir"' EXIT
fail() {
	echo "FAILED: $*" >&2
	docker ps -a --filter "name=^(clab-|$alone)" --format '{{.Names}} {{.Status}}' >&2
	exit 1
}
ok() { echo "ok   $*"; }
# await WHAT COMMAND...: until the command succeeds, for a minute.
await() {
	local what=$1 end=$((SECONDS + 60))
	shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || fail "$what: not within a minute"
		sleep 0.1
	done
	ok "$what"
}
up() {
	topology=docker/containerlab/$1.clab.yaml
	"$dir/clab" up "$topology" || fail "$topology"
}
on() { "$dir/clab" exec "$topology" "$@"; } # NODE COMMAND...
at() { # NODE COMMAND...: in the container of a switch
	local node=$1
	shift
	docker exec "clab-$(basename "$topology" .clab.yaml)-$node" "$@"
}
show() { at "$1" tamtam cli -c "show $2"; }
healthy() { at "$1" tamtam health; }
field() { sed -n "s/^$1 *: *//p"; } # of what show printed

# tcp FROM TO ADDRESS: prints the Mbit/s that arrived, of which there must be some.
tcp() {
	on "$2" timeout 30 iperf3 -s -1 >/dev/null 2>&1 &
	await "  iperf3 listens at $2" sh -c "$dir/clab exec $topology $2 ss -Hltn 'sport = 5201' | grep -q ." >/dev/null
	local mbit
	mbit=$(on "$1" timeout 30 iperf3 -c "$3" -t 3 -f m | awk '/receiver/ {print $(NF-2)}')
	wait $! || true
	awk -v m="${mbit:-0}" 'BEGIN {exit !(m > 1)}' || fail "TCP from $1 to $2: ${mbit:-no} Mbit/s arrive"
	echo "$mbit"
}

up pair
for node in leaf1 leaf2; do await "pair: $node is ready" healthy $node; done
on client ping -c 30 -i 0.1 -q 10.0.0.2 >"$dir/ping" || fail "ping: $(cat "$dir/ping")"
ok "  ping: $(grep -o '[0-9]* received' "$dir/ping") of 30"
ok "  TCP through two switches, stamped: $(tcp client server 10.0.0.2) Mbit/s"
all_stamped() { # NODE: what matched left with a stamp, and there was some
	local text matched stamped
	text=$(show "$1" "tam tail-stamping sessions iperf")
	matched=$(field "Packet Count" <<<"$text") stamped=$(field "Stamped Count" <<<"$text")
	[ "${matched:-0}" -gt 0 ] && [ "$matched" = "$stamped" ]
}
for node in leaf1 leaf2; do await "  every frame was stamped at $node" all_stamped $node; done
# The periods that both have closed: what leaf1 marked, leaf2 counted.
periods() { show "$1" "tam alt-mark periods ping" | awk '$1 ~ /^[0-9]+$/ {print $1, $2, $3}' | sort; }
marks_arrive() {
	local both
	both=$(join <(periods leaf1) <(periods leaf2))
	awk '{n += $3; if ($3 != $5) bad = 1} END {exit bad || n < 10}' <<<"$both"
}
await "  every marked ping of leaf1 is counted by leaf2, period by period" marks_arrive
sketch() { show leaf1 "tam flymon task heavy" | grep -q '^10\.0\.0\.1,10\.0\.0\.2,[0-9]*,5201,6 '; }
await "  leaf1's sketch has the flow" sketch
flows() { show leaf2 "tam flymon task flows" | awk '/^cardinality/ && $2 > 1 {ok = 1} END {exit !ok}'; }
await "  leaf2's has a number of flows" flows
records() { show leaf1 "tam table-record" | awk '$1 == "paths" {ok = $(NF-1) > 0 && $NF == 0} END {exit !ok}'; }
await "  records are sent, none is lost" records
down

up clos
for node in leaf1 leaf2 leaf3 spine1 spine2; do await "clos: $node is ready" healthy $node; done
for a in 1 2 3; do
	for b in 1 2 3; do
		on host$a ping -c 2 -i 0.2 -W 2 -q 10.$b.0.2 >/dev/null || fail "host$a does not reach host$b"
	done
done
ok "  every host reaches every host"
ok "  TCP through three switches, stamped: $(tcp host1 host3 10.3.0.2) Mbit/s"
counted() { show "$1" "tam tail-stamping sessions iperf" | field "Stamped Count"; }
spines_agree() {
	local in out a b
	in=$(counted leaf1) out=$(counted leaf3) a=$(counted spine1) b=$(counted spine2)
	[ "$in" -gt 0 ] && [ "$in" = $((a + b)) ] && [ "$in" = "$out" ]
}
await "  what leaf1 has stamped the two spines have, and leaf3" spines_agree
down

milliseconds() { echo $((($(date +%s%N) - $1) / 1000000)); }
# run_alone OPTION...: a switch in a container, as little as it needs.
run_alone() {
	docker run -d --name "$alone" --cap-drop ALL --cap-add NET_RAW --cap-add NET_ADMIN --read-only --tmpfs /tmp \
		--security-opt no-new-privileges -v "$alone:/var/lib/tamtam" "$@" >/dev/null
}
ready_alone() { docker exec "$alone" tamtam health; }
for ports in 4 64; do
	start=$(date +%s%N)
	run_alone -e TAMTAM_PORTS=$ports "$TAMTAM_IMAGE"
	await "alone: $ports ports" ready_alone >/dev/null
	ok "alone: with $ports ports ready $(milliseconds "$start") ms after docker run began"
	process=$(docker inspect -f '{{.State.Pid}}' "$alone")
	start=$(date +%s%N)
	kill -TERM "$process"
	docker wait "$alone" >"$dir/code"
	took=$(milliseconds "$start")
	[ "$(cat "$dir/code")" = 0 ] || fail "it has ended with exit code $(cat "$dir/code")"
	ok "  and ended $took ms after SIGTERM, with exit code 0"
	docker rm "$alone" >/dev/null
done

pod() {
	run_alone -v "$PWD/docker/containerlab/pair-leaf2.txt:/etc/tamtam/startup:ro" "$TAMTAM_IMAGE" \
		up --keep --metrics :9101 --log-format json
	await "$1" ready_alone
}
pod "as a pod: it is ready"
docker exec "$alone" tamtam cli -c 'configure terminal' -c 'interface Ethernet0' -c 'description "to spine"'
docker stop "$alone" >/dev/null
docker logs "$alone" 2>&1 | grep '^{' | while read -r line; do
	python3 -c 'import json,sys; json.loads(sys.argv[1])' "$line" || exit 1
done || fail "its log is not JSON"
docker rm "$alone" >/dev/null
pod "  and again, on the volume of the first"
docker exec "$alone" tamtam cli -c 'show interface status' | grep -q 'to spine' || fail "what was changed is gone"
ok "  what was changed is there"
echo "all passed"
