#!/usr/bin/env bash
# Measures how long a new user needs on a clean Debian, from the package of a release and from a clone: until a session
# of the user's own, with traffic of two hosts, is on the page of the user's own switch. The commands are those of
# docs/operate.md and docs/getting-started.md. It prints a table in Markdown, of commands and seconds.
#
# It needs root, Debian's mmdebstrap, and a release (make release). The clean Debian has no more than a minimal one has,
# and a network namespace of its own after the installation. Go has no package there in this version, so the one of
# this machine is used, and its installation is not measured. Modules come from Go's module proxy.
#
# Usage: scripts/time-install.sh
#   DIST    directory of the release (dist)
#   FROM    what is measured: "package clone"
#   CLEAN   an archive of a clean Debian (default: made by mmdebstrap)
set -euo pipefail
cd "$(dirname "$0")/.."
dist=$(realpath "${DIST:-dist}") tree=$PWD
dir=$(mktemp -d)
root=$dir/root
machine= # the process that holds its network and mounts
leave() {
	local pid
	for pid in /proc/[0-9]*; do [ "$(readlink "$pid/root")" != "$root" ] || kill "${pid#/proc/}"; done
	[ -z "$machine" ] || { kill "$machine"; wait "$machine"; } 2>/dev/null || true
	machine=
	umount -q -l "$root"/{proc,sys,usr/local/go} "$root" 2>/dev/null || true
}
trap 'leave; rm -rf "$dir"' EXIT
clean=${CLEAN:-$dir/clean.tar}
[ -n "${CLEAN:-}" ] || mmdebstrap -q --variant=minbase --include=ca-certificates bookworm "$clean"

# fresh makes a clean Debian.
fresh() {
	leave
	rm -rf "$root"
	mkdir "$root"
	mount --bind "$root" "$root" # "ip netns" wants a root that is a mount
	tar -C "$root" -xf "$clean"
	mount -t proc proc "$root/proc"
	mount -t sysfs sysfs "$root/sys"
	cp /etc/resolv.conf /etc/hosts "$root/etc/"
	cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/" # a proxy of this machine may have a CA of its own
	total=0 commands=0
}

# step TITLE COMMANDS runs commands, one a line, in the clean Debian, and prints the seconds of their end.
step() {
	local began=$EPOCHREALTIME
	printf 'set -e\nexport PATH=$PATH:/root/bin:/usr/local/go/bin HOME=/root GOFLAGS= DEBIAN_FRONTEND=noninteractive\ncd /root\n%s\n' \
		"$2" >"$root/root/step"
	${machine:+nsenter -t "$machine" -n -m} chroot "$root" bash /root/step >"$dir/log" 2>&1 </dev/null || { tail -20 "$dir/log" >&2; echo "time-install: $1" >&2; exit 1; }
	local lines seconds
	lines=$(grep -vc '^#' <<<"$2")
	seconds=$(awk -v a="$began" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }')
	total=$(awk -v a="$total" -v b="$seconds" 'BEGIN { printf "%.1f", a + b }')
	commands=$((commands + lines))
	echo "| $from | $1 | $lines | $seconds |"
}

# own measures from the installed program to the session on the page. Each command is a line.
own() {
	cp "$dir/switch.json" "$root/root/"
	unshare -n -m sleep infinity &
	machine=$!
	until [ "$(readlink /proc/$machine/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.1; done
	nsenter -t "$machine" -n ip link set lo up
	step "two hosts, and the switch between them" 'ip netns add h1 && ip link add tam1 type veth peer name host netns h1 && ip link set tam1 up
ip -n h1 link set host up mtu 1400 && ip -n h1 addr add 10.0.0.1/24 dev host
ip netns add h2 && ip link add tam2 type veth peer name host netns h2 && ip link set tam2 up
ip -n h2 link set host up mtu 1400 && ip -n h2 addr add 10.0.0.2/24 dev host
tamtam up --config switch.json --port Ethernet0=tam1 --port Ethernet4=tam2 --http localhost:8089 >up.log 2>&1 &
until grep -q "the switch is up" up.log; do sleep 0.1; done'
	step "a flow group and a session" 'tamtam cli -c "configure terminal" -c tam -c "flow-group mine protocol 17 dst-l4-port 7000" -c tail-stamping -c enable -c "session mine-latency flowgroup mine" -c end
until tamtam cli -c "show tam tail-stamping sessions mine-latency" | grep -q "Packet Count"; do sleep 0.1; done'
	step "ten packets, and the session on the page" 'ip netns exec h1 bash -c "exec 3>/dev/udp/10.0.0.2/7000; for i in {1..10}; do until echo hello >&3; do :; done; done" 2>/dev/null
until curl -s "http://localhost:8089/switch?name=sonic" | grep mine-latency | grep -q "<td[^>]*>10<"; do sleep 0.1; done'
	echo "| $from | **together** | $commands | $total |"
}

python3 - "$tree/docs/getting-started.md" >"$dir/switch.json" <<'PY'
import re, sys
print(re.search(r"figures: file switch.json -->\n```json\n(.*?)```", open(sys.argv[1]).read(), re.S).group(1))
PY
echo "| from | step | commands | seconds |"
echo "| --- | --- | --- | --- |"
for from in ${FROM:-package clone}; do
	fresh
	case $from in
	package)
		cp "$dist"/tamtam_*_amd64.deb "$root/root/"
		step "install it, and the tools of the hosts" 'apt-get update
apt-get install -y --no-install-recommends ./tamtam_*_amd64.deb curl iproute2'
		;;
	clone)
		git clone -q --bare "$tree" "$root/root/tamtam.git"
		mkdir -p "$root/usr/local/go"
		mount --bind /usr/local/go "$root/usr/local/go"
		step "install git and the tools of the hosts" 'apt-get update
apt-get install -y --no-install-recommends git curl iproute2 redis-tools'
		step "clone and build" 'git clone -q tamtam.git tamtam
cd tamtam && go build -o /root/bin/ ./cmd/tamtam'
		;;
	esac
	own
done
