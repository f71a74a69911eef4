#!/usr/bin/env bash
# Moves interfaces of this host into the container that holds the chip's ports (compose.ports.yaml). Needs root.
#
# Usage: ports.sh NAME=INTERFACE...     as in eth1=enp1s0: enp1s0 is called eth1 there
set -euo pipefail
export COMPOSE_FILE=${COMPOSE_FILE:-compose.yaml:compose.ports.yaml}
container=$("$(dirname "$0")/compose.sh" ps -q ports)
[ -n "$container" ] || { echo "ports.sh: no container \"ports\" runs: docker/compose.sh up -d ports" >&2; exit 1; }
network=$(docker inspect -f '{{.State.Pid}}' "$container")
for pair in "$@"; do
	name=${pair%%=*} interface=${pair#*=}
	[[ $pair == ?*=?* ]] || {
		echo "ports.sh: \"$pair\": want NAME=INTERFACE, as in eth1=enp1s0" >&2
		exit 2
	}
	ip link set "$interface" netns "$network" name "$name"
	nsenter -t "$network" -n ip link set "$name" up
done
