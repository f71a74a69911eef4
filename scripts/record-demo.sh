#!/usr/bin/env bash
# Records the demo's captures again: real programs communicate across a veth pair between two network
# namespaces, and tcpdump writes what each side sends. The captures in the repository were made
# by this script; it is needed again only to change what they hold.
#
# Needs root, and: iproute2 ethtool tcpdump iperf3 socat curl python3 iputils-ping (Debian's names).
# Usage: scripts/record-demo.sh [DIR]      (default: cmd/tamtam/demo)
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(realpath "${1:-cmd/tamtam/demo}")

[ "$(id -u)" = 0 ] || { echo "record-demo: must run as root: it makes network namespaces" >&2; exit 1; }
for tool in ip ethtool tcpdump iperf3 socat curl python3 ping; do
	command -v "$tool" >/dev/null || { echo "record-demo: $tool is not installed" >&2; exit 1; }
done

client=tamtam-client-$$ server=tamtam-server-$$
work=$(mktemp -d)
pids=()
cleanup() {
	for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
	wait
	ip netns del "$client" 2>/dev/null || true
	ip netns del "$server" 2>/dev/null || true
	rm -rf "$work"
}
trap cleanup EXIT

# start NAMESPACE COMMAND...: in the background, ended by cleanup
start() {
	local ns=$1
	shift
	ip netns exec "$ns" "$@" >/dev/null 2>&1 &
	pids+=($!)
}

ip netns add "$client"
ip netns add "$server"
ip link add eth0 netns "$client" type veth peer name eth0 netns "$server"

# side NAMESPACE NUMBER: addresses from the ranges kept for documentation. Offloads are off, so that
# the captures hold the frames a cable would carry. The VLAN's MTU leaves room for its tag, so
# that no frame is above 1514 bytes.
side() {
	local ns=$1 n=$2
	ip -n "$ns" link set eth0 address "02:00:00:00:00:0$n"
	ip netns exec "$ns" ethtool -K eth0 tx off rx off sg off tso off gso off gro off txvlan off rxvlan off >/dev/null
	ip netns exec "$ns" sysctl -q -w net.ipv6.conf.eth0.accept_dad=0 net.ipv6.conf.eth0.router_solicitations=0
	ip -n "$ns" addr add "192.0.2.$n/24" dev eth0
	ip -n "$ns" addr add "2001:db8::$n/64" dev eth0 nodad
	ip -n "$ns" link set lo up
	ip -n "$ns" link set eth0 up
	start "$ns" scripts/vlan-tap.py eth0 vlan100 100
	until ip -n "$ns" link show vlan100 >/dev/null 2>&1; do sleep 0.1; done
	ip -n "$ns" link set vlan100 address "02:00:00:00:00:0$n" mtu 1496
	ip -n "$ns" addr add "198.51.100.$n/24" dev vlan100
	ip -n "$ns" link set vlan100 up
}
side "$client" 1
side "$server" 2

# A page whose bytes are the same every time.
seq -f 'line %05.0f of a page that only serves to be carried' 1 400 >"$work/page.txt"
start "$server" python3 -m http.server --directory "$work" --bind :: 80
start "$server" iperf3 --server --port 5201
start "$server" socat -u UDP-RECV:6000 OPEN:/dev/null
for side in client server; do
	start "${!side}" tcpdump --interface eth0 --direction out --time-stamp-precision nano --immediate-mode \
		--snapshot-length 2048 -U -w "$work/$side.pcap"
done
until [ -s "$work/client.pcap" ] && [ -s "$work/server.pcap" ] &&
	[ -n "$(ip netns exec "$server" ss -Hlt 'sport = :80')" ] && [ -n "$(ip netns exec "$server" ss -Hlt 'sport = :5201')" ]; do
	sleep 0.1
done

in_client() { ip netns exec "$client" "$@" >/dev/null; }
in_client ping -q -c 5 -i 0.05 192.0.2.2
in_client curl -s --max-time 5 http://192.0.2.2/page.txt
in_client iperf3 --client 192.0.2.2 --port 5201 --udp --length 500 --bitrate 400k --time 1 --repeating-payload
in_client ping -q -6 -c 3 -i 0.05 2001:db8::2
in_client curl -s --max-time 5 'http://[2001:db8::2]/page.txt'
in_client ping -q -c 3 -i 0.05 198.51.100.2
in_client curl -s --max-time 5 http://198.51.100.2/page.txt
# One datagram that leaves in three fragments, and some tiny ones that leave as padded frames would.
head -c 4000 "$work/page.txt" | in_client socat -u -b 4000 - UDP-SENDTO:192.0.2.2:6000
for word in one two three; do echo "$word" | in_client socat -u - UDP-SENDTO:192.0.2.2:6000; done
sleep 0.3

for side in client server; do cp "$work/$side.pcap" "$out/$side.pcap"; done
echo "record-demo: wrote $out/client.pcap and $out/server.pcap" >&2
