#!/usr/bin/env bash
# Runs the topologies of docker/containerlab with Docker and veths that are moved into running containers, as
# containerlab makes them (internal/clab), with traffic of this machine's programs:
#   - the tour of docs/getting-started.md between two switches: the results of the features must agree, also with
#     those of the hosts
#   - a Clos: every path carries TCP, and all stamps are counted
#   - a switch between two networks of Docker, and one with 64 ports
#   - a switch that runs as in a pod: changes are kept after a stop
# Prints how long a switch takes to be ready, and to end.
#
# Needs root, Docker, iproute2, iperf3, curl, python3 and ping; builds the image if it is not there.
#
# Usage: scripts/test-topologies.sh
set -euo pipefail
cd "$(dirname "$0")/.."
export TAMTAM_IMAGE=${TAMTAM_IMAGE:-tamtam} HOST_IMAGE=${HOST_IMAGE:-host}
for tool in docker ip nsenter iperf3 ping curl python3; do
	command -v $tool >/dev/null || { echo "test-topologies: $tool is not installed" >&2; exit 1; }
done
docker image inspect "$TAMTAM_IMAGE" >/dev/null 2>&1 || ./scripts/make-image.sh "$TAMTAM_IMAGE"
dir=$(mktemp -d)
go build -o "$dir/clab" ./internal/clab
CGO_ENABLED=0 go build -o "$dir/tamtam" ./cmd/tamtam
topology=
alone=tamtam-test-$$

down() {
	[ -z "$topology" ] || "$dir/clab" down "$topology" >/dev/null 2>&1 || true
	topology=
	docker rm -f "$alone" "$alone-a" "$alone-b" >/dev/null 2>&1 || true
	docker network rm "$alone-a" "$alone-b" >/dev/null 2>&1 || true
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

# tcp FROM TO ADDRESS: prints the Mbit/s that arrived, and fails if there were none.
tcp() {
	on "$2" timeout 30 iperf3 -s -1 >/dev/null 2>&1 &
	await "  iperf3 listens at $2" sh -c "$dir/clab exec $topology $2 ss -Hltn 'sport = 5201' | grep -q ." >/dev/null
	local mbit
	mbit=$(on "$1" timeout 30 iperf3 -c "$3" -t 3 -f m | awk '/receiver/ {print $(NF-2)}')
	wait $! || true
	awk -v m="${mbit:-0}" 'BEGIN {exit !(m > 1)}' || fail "TCP from $1 to $2: ${mbit:-no} Mbit/s arrive"
	echo "$mbit"
}

# The tour is run as docs/getting-started.md has it.
topology=docker/containerlab/pair.clab.yaml
sed -n '/^## A tour/,$p' docs/getting-started.md | sed -n '/^($/,/^)$/p' >"$dir/tour"
[ -s "$dir/tour" ] || fail "docs/getting-started.md has no tour"
bash -euo pipefail "$dir/tour" >"$dir/toured" 2>&1 || fail "the tour: $(tail -20 "$dir/toured")"
toured() { # WHAT EXPRESSION: the tour has printed that
	grep -Eq "$2" "$dir/toured" || fail "the tour: $1: no $2 in: $(cat "$dir/toured")"
	ok "  $1"
}
ok "tour: its commands succeed"
toured "the ping found its host by ARP and lost nothing" '20 packets transmitted, 20 received, 0% packet loss'
toured "curl got the page" '^HTTP/1.0 200 OK'
toured "stamps of both switches, decoded as they came" '^ *2 +2 +Ethernet4 +Ethernet0 '
toured "the marked pings of a period, counted" '^[0-9]+ +[01] +[1-9][0-9]* '
toured "the sketch has the flow" '^10\.0\.0\.1,10\.0\.0\.2,[0-9]+,5201,6 '
toured "the paths of packets, decoded as they came" 'packets: [0-9]+ with an exact path, 0 with several, 0 impossible'
toured "why some were dropped" '10\.0\.0\.1:0 > 10\.0\.0\.2:0: [0-9]+ packets, .*acl'

for node in leaf1 leaf2; do await "pair: $node is ready" healthy $node; done
# HTTP: the received file equals the sent one.
head -c 4000000 /dev/urandom >"$dir/page"
on server python3 -m http.server 8000 --bind 10.0.0.2 --directory "$dir" >/dev/null 2>&1 &
serving=$!
await "  a web server listens" sh -c "$dir/clab exec $topology server ss -Hltn 'sport = 8000' | grep -q ."
on client curl -sf --max-time 30 -o "$dir/got" http://10.0.0.2:8000/page || fail "curl"
kill $serving 2>/dev/null || true
cmp "$dir/page" "$dir/got" || fail "curl: another page came"
ok "  curl: 4 MB through two switches, byte for byte"

# The next tests are exact, and slow enough for collectors that read every frame. Collectors read until they get a
# signal.
address() { # NODE
	docker inspect -f '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}' "clab-$(basename "$topology" .clab.yaml)-$1"
}
cat >"$dir/paths.yaml" <<-END
	paths:
	- name: client-server
	  points:
	  - {switch: leaf1, target: "$(address leaf1):8080", session: ping}
	  - {switch: leaf2, target: "$(address leaf2):8080", session: ping}
END
show leaf1 "tam table-record plan paths | json" >"$dir/plan.json"
# watched: adds a read-only user to both running switches; without a user gNMI refuses.
watched() {
	if "$dir/tamtam" cli --target "$(address leaf1):8080" --skip-verify -c 'show tam switch' >"$dir/stranger" 2>&1; then
		fail "gNMI asks for no login"
	fi
	for node in leaf1 leaf2; do at $node tamtam users set watcher --role read-only -p watch-only >/dev/null; done
	watcher=(--skip-verify --user watcher --password watch-only)
}
watched
collectors=()
# collect NAME NODE COMMAND...: of the machine, in the network of a node; its output is in $dir/NAME.
collect() {
	local name=$1 process
	process=$(docker inspect -f '{{.State.Pid}}' "clab-pair-$2")
	shift 2
	nsenter -t "$process" -n "$dir/tamtam" collect "$@" >"$dir/$name" 2>"$dir/$name.log" &
	collectors+=($!)
}
collect stamps server tailstamp eth1 --format json --every 200ms
collect records collector record --listen 203.0.113.2:4739 --plan "$dir/plan.json" --format json
collect frames collector record --interface eth1 --plan "$dir/plan.json" --format json
"$dir/tamtam" collect --paths "$dir/paths.yaml" "${watcher[@]}" --format json >"$dir/loss" 2>"$dir/loss.log" &
collectors+=($!)
await "  tamtam collect reads both switches" grep -q '"status":"ok"' "$dir/loss"

# ARP: the client deletes its neighbour, and asks again through the switches.
on client ip neigh flush dev eth1
before=$(show leaf2 "tam tail-stamping sessions iperf" | field "Stamped Count")
drops() { show leaf1 "interface counters" | awk '$1 == "Ethernet4" {print $NF}'; }
discarded=$(drops)
# Some of the pings are dropped by an egress ACL of leaf1, behind where it marks and counts.
from=$(date +%s) # periods are those seconds; the collector has read older ones too
on client ping -c 150 -i 0.05 -q 10.0.0.2 >"$dir/ping" &
pinging=$!
acl() { at leaf1 redis-cli -n 4 "$@" >/dev/null; }
sleep 2
acl hset 'ACL_TABLE|CUT' type L3 stage egress ports Ethernet4
acl hset 'ACL_RULE|CUT|ping' PRIORITY 10 IP_PROTOCOL 1 PACKET_ACTION DROP
sleep 2
acl del 'ACL_RULE|CUT|ping'
acl del 'ACL_TABLE|CUT'
wait $pinging || fail "ping: $(cat "$dir/ping")"
asked=$(on client ip neigh show dev eth1 to 10.0.0.2 | awk '{print $3}')
[ "$asked" = "$(on server cat /sys/class/net/eth1/address 2>/dev/null || on server ip -o link show eth1 | sed 's/.*ether \([^ ]*\).*/\1/')" ] ||
	fail "the client found $asked by ARP"
ok "  the client found the server's address by ARP: $asked"
lost=$((150 - $(grep -o '[0-9]* received' "$dir/ping" | cut -d' ' -f1)))
[ $lost -gt 10 ] && [ $lost -lt 100 ] || fail "ping lost $lost of 150"

# TCP with stamps.
on server timeout 30 iperf3 -s -1 >/dev/null 2>&1 &
await "  iperf3 listens" sh -c "$dir/clab exec $topology server ss -Hltn 'sport = 5201' | grep -q ."
on client timeout 30 iperf3 -c 10.0.0.2 -n 2M -b 20M >/dev/null || fail "iperf3"

all_stamped() { # NODE: what matched left with a stamp, and there was some
	local text matched stamped
	text=$(show "$1" "tam tail-stamping sessions iperf")
	matched=$(field "Packet Count" <<<"$text") stamped=$(field "Stamped Count" <<<"$text")
	[ "${matched:-0}" -gt "$before" ] && [ "$matched" = "$stamped" ]
}
for node in leaf1 leaf2; do await "  every frame was stamped at $node" all_stamped $node; done
stamped_live() { # all that leaf2 has stamped came, each with the records of both
	local want
	want=$(($(show leaf2 "tam tail-stamping sessions iperf" | field "Stamped Count") - before))
	python3 - "$dir/stamps" "$want" <<-END
		import json, sys
		reports = [json.loads(line) for line in open(sys.argv[1])]
		stamped, records, missed = (sum(r.get(k, 0) for r in reports) for k in ("stamped", "records", "lost_before_read"))
		hops = {h["switch_id"] for r in reports for f in r["flows"] for p in f["paths"] for h in p["hops"]}
		sys.exit(not (missed == 0 and stamped == int(sys.argv[2]) and records == 2 * stamped and hops == {1, 2}))
	END
}
await "  each of these stamps was decoded as it came, at the server" stamped_live
# The marks must show the losses of the ping. On a machine that is too slow, periods are flagged. The periods that are
# ok must show at most the losses, and if all are ok, exactly the losses.
losses_agree() {
	python3 - "$dir/loss" $lost "$from" <<-END
		import json, sys
		last, lost = {}, int(sys.argv[2])
		for line in open(sys.argv[1]):
		    r = json.loads(line)
		    if r["period"] >= int(sys.argv[3]):
		        last[r["period"]] = r
		some = [r for r in last.values() if r.get("sent") or r["status"] != "ok"]
		ok = [r for r in some if r["status"] == "ok"]
		sent, told = sum(r["sent"] for r in ok), sum(r["lost"] for r in ok)
		if not told or told > lost or sent > 150 or ok == some and (told, sent) != (lost, 150):
		    sys.exit(1)
		print(f"{told} lost of {sent} pings, in {len(ok)} periods that are ok, {len(some) - len(ok)} flagged")
	END
}
await "  alternate marking says what the ping has lost: $lost" losses_agree
ok "    $(losses_agree)"
dropped() { [ $(($(drops) - discarded)) = $lost ]; }
await "  leaf1 has dropped $lost at its port" dropped
sketch() { show leaf1 "tam flymon task heavy" | grep -q '^10\.0\.0\.1,10\.0\.0\.2,[0-9]*,5201,6 '; }
await "  leaf1's sketch has the flow" sketch
flows() { show leaf2 "tam flymon task flows" | awk '/^cardinality/ && $2 > 1 {ok = 1} END {exit !ok}'; }
await "  leaf2's has a number of flows" flows
records() { show leaf1 "tam table-record" | awk '$1 == "paths" {ok = $(NF-1) > 0 && $NF == 0} END {exit !ok}'; }
await "  records are sent, none is lost" records
kill -INT "${collectors[@]}"
wait "${collectors[@]}" || fail "tamtam collect: $(cat "$dir"/*.log)"
for name in records frames; do
	python3 - "$dir/$name" $lost <<-END || fail "tamtam collect record: $name: $(tail -5 "$dir/$name")"
		import json, sys
		text, at, told = open(sys.argv[1]).read(), 0, []
		while text[at:].strip():
		    value, at = json.JSONDecoder().raw_decode(text, at + len(text[at:]) - len(text[at:].lstrip()))
		    told.append(value)
		report = told[-1]
		dropped = sum(d["packets"] for p in report["plans"] for d in p.get("drops", []) if "acl" in d["reason"])
		exact = all(p["packets"] == p["exact"] for p in report["plans"])
		missed, error = report.get("lost_before_read", 0), report.get("error")
		sys.exit(not (exact and not missed and not error and report["records"] > 150 and dropped == int(sys.argv[2])))
	END
done
ok "  records, decoded as they came by UDP and from frames: all paths exact, $lost packets dropped by the ACL"
ok "  TCP through two switches, stamped: $(tcp client server 10.0.0.2) Mbit/s"
down

# Two clocks: that of leaf2 is set, as if it were on another host. Nothing is lost, so no period may show a loss. While
# the clocks are less than a period apart, losses are known and delays are not. At 2 s, two periods, neither is known.
cp docker/containerlab/pair-leaf* "$dir"
sed 's/^name: pair/name: clocks/; /^    leaf2:/a\      cmd: up --allow-faults' docker/containerlab/pair.clab.yaml >"$dir/clocks.clab.yaml"
topology=$dir/clocks.clab.yaml
"$dir/clab" up "$topology" >/dev/null || fail "$topology"
for node in leaf1 leaf2; do
	at $node redis-cli -n 4 hset 'TAM_ALTMARK_TABLE|ping' method double mark2 dscp1 >/dev/null
done
for node in leaf1 leaf2; do await "clocks: $node is ready" healthy $node; done
sed -i "s/\".*:8080\"/\"LEAF:8080\"/; /leaf1/s/LEAF/$(address leaf1)/; /leaf2/s/LEAF/$(address leaf2)/" "$dir/paths.yaml"
watched
"$dir/tamtam" collect --paths "$dir/paths.yaml" "${watcher[@]}" --format json >"$dir/loss" 2>"$dir/loss.log" &
collector=$!
nsenter -t "$(docker inspect -f '{{.State.Pid}}' clab-clocks-client)" -n ping -i 0.05 -q 10.0.0.2 >/dev/null &
pinging=$!
periods_are() { # WHAT: of three periods that are so, and of none that is wrong
	python3 - "$dir/loss" "$1" <<-END
		import json, sys
		last = {}
		for line in open(sys.argv[1]):
		    r = json.loads(line)
		    last[r["period"]] = r
		why = lambda r: " ".join(r.get("reasons") or [])
		known = lambda r: (r.get("lost") is not None, r.get("delay_ns") is not None)
		kinds = {
		    "ok": lambda r: r["status"] == "ok" and known(r) == (True, True),
		    "near": lambda r: "unsynchronised" in why(r) and "clock-step" not in why(r) and known(r) == (True, False),
		    "far": lambda r: "clocks-apart" in why(r) and known(r) == (False, False),
		}
		wrong = [r for r in last.values() if r.get("lost")]
		sys.exit(bool(wrong) or sum(map(kinds[sys.argv[2]], last.values())) < 3)
	END
}
await "  one clock: losses and delays" periods_are ok
at leaf2 tamtam fault clock step +10ms --for 20s >/dev/null
await "  10 ms apart: losses, and no delays" periods_are near
at leaf2 tamtam fault clear >/dev/null
at leaf2 tamtam fault clock step +2s --for 30s >/dev/null
await "  two periods apart: neither, and why" periods_are far
kill $collector $pinging
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

# Networks of Docker instead of moved veths: an address of a host is set beside the one that Docker gives.
between() { # HOST COMMAND...: a command of this machine in its network
	local process
	process=$(docker inspect -f '{{.State.Pid}}' "$alone-$1")
	shift
	nsenter -t "$process" -n "$@"
}
host_alone() { # NAME OPTION...
	local name=$alone-$1
	shift
	docker run -d --name "$name" --cap-drop ALL --no-healthcheck "$@" "$TAMTAM_IMAGE" run ports >/dev/null
}
cat >"$dir/bridge.txt" <<-END
	configure terminal
	interface Vlan 10
	interface Ethernet0
	 switchport access Vlan 10
	interface Ethernet4
	 switchport access Vlan 10
	end
END
docker create --name "$alone" --cap-drop ALL --cap-add NET_RAW --cap-add NET_ADMIN --read-only --tmpfs /tmp \
	--security-opt no-new-privileges -v "$alone:/var/lib/tamtam" -v "$dir/bridge.txt:/etc/tamtam/startup:ro" "$TAMTAM_IMAGE" >/dev/null
docker start "$alone" >/dev/null
for side in a b; do
	docker network create "$alone-$side" >/dev/null
	docker network connect "$alone-$side" "$alone"
	host_alone $side --network "$alone-$side"
done
between a ip addr add 198.18.77.1/24 dev eth0
between b ip addr add 198.18.77.2/24 dev eth0
ready_alone() { docker exec "$alone" tamtam health; }
await "networks: a switch between two networks of Docker is ready" ready_alone
await "  ping from one to the other" between a ping -c 1 -W 1 198.18.77.2
between b timeout 30 iperf3 -s -1 >/dev/null 2>&1 &
await "  iperf3 listens" sh -c "nsenter -t $(docker inspect -f '{{.State.Pid}}' "$alone-b") -n ss -Hltn 'sport = 5201' | grep -q ."
mbit=$(between a timeout 30 iperf3 -c 198.18.77.2 -t 3 -f m | awk '/receiver/ {print $(NF-2)}')
awk -v m="${mbit:-0}" 'BEGIN {exit !(m > 1)}' || fail "TCP between networks: ${mbit:-no} Mbit/s arrive"
ok "  TCP: $mbit Mbit/s"
down

milliseconds() { echo $((($(date +%s%N) - $1) / 1000000)); }
# run_alone OPTION...: a switch in a container with minimal rights.
run_alone() {
	docker run -d --name "$alone" --cap-drop ALL --cap-add NET_RAW --cap-add NET_ADMIN --read-only --tmpfs /tmp \
		--security-opt no-new-privileges -v "$alone:/var/lib/tamtam" "$@" >/dev/null
}
# full moves 64 veths into the running switch, and their other ends into two hosts. A broadcast of the last host leaves
# by the 63 other ports, and the first host answers.
full() {
	local i end interfaces lines=(-c 'configure terminal' -c 'interface Vlan 10')
	host_alone a --network none
	host_alone b --network none
	mapfile -t interfaces < <(docker exec "$alone" tamtam cli -c 'show interface wires' | awk '$1 ~ /^Ethernet[0-9]+$/ {print $1}')
	[ ${#interfaces[@]} = 64 ] || fail "${#interfaces[@]} ports have wires, want 64"
	for i in "${interfaces[@]}"; do lines+=(-c "interface $i" -c 'switchport access Vlan 10' -c exit); done
	docker exec "$alone" tamtam cli "${lines[@]}" || fail "64 ports: configuration"
	for i in $(seq 64); do
		end=a
		[ "$i" != 64 ] || end=b
		ip link add "tt$$-$i" type veth peer name "tt$$-$i-" || fail "64 ports: veth $i"
		ip link set "tt$$-$i" netns "$(docker inspect -f '{{.State.Pid}}' "$alone")" name "eth$i" up
		ip link set "tt$$-$i-" netns "$(docker inspect -f '{{.State.Pid}}' "$alone-$end")" name "p$i" up
	done
	between a ip addr add 198.18.77.1/24 dev p1
	between b ip addr add 198.18.77.64/24 dev p64
	await "  64 interfaces are moved in and up" wires_are 3 up 64
	await "  ping from the last to the first" between b ping -c 1 -W 1 198.18.77.1
	await "  all ports have sent" sent_everywhere
	docker rm -f "$alone-a" "$alone-b" >/dev/null
}
wires_are() { [ "$(docker exec "$alone" tamtam cli -c 'show interface wires' | awk -v c="$1" -v v="$2" '$c == v' | wc -l)" = "$3" ]; }
sent_everywhere() {
	[ "$(docker exec "$alone" tamtam cli -c 'show interface wires' | awk '$1 ~ /^Ethernet[0-9]+$/ && $6 > 0' | wc -l)" = 64 ]
}
for ports in 4 64; do
	start=$(date +%s%N)
	run_alone -e TAMTAM_PORTS=$ports "$TAMTAM_IMAGE"
	await "alone: $ports ports" ready_alone >/dev/null
	ok "alone: with $ports ports ready $(milliseconds "$start") ms after docker run began"
	[ $ports = 4 ] || full
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
		up --keep --metrics :9101 --metrics-open --log-format json --verbose
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
