#!/bin/bash
# fabric.sh runs a network of three switches, leaf, spine and leaf, with a host at each leaf. Each switch is SONiC's
# orchagent and managers, and FRR, on tamtam's syncd and chip. Then packets are dropped in five ways, and SONiC's
# counters, tamtam's account of the flow, its traces and its page are compared. Exits 1 if they disagree. Root and Linux
# are needed, no Docker.
#
#   SONIC_BINARIES   a folder with orchagent.bin, portsyncd.bin, ...
#   TAMTAM           the program tamtam
#   OUT              a folder for the logs; the default is fabric-results
set -e
if [ -z "$SONIC_BINARIES" ]; then echo "skipped: SONIC_BINARIES is not set"; exit 0; fi
export SWSS_ADAPTER=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd) SONIC_BINARIES SONIC_PYTHON= SWSS_STATE=/state
export TAMTAM=$(readlink -f "$(type -P "${TAMTAM:-tamtam}")") OUT=$(readlink -m "${OUT:-fabric-results}")
mkdir -p "$OUT"
exec "$SWSS_ADAPTER/space.sh" env PYTHONDONTWRITEBYTECODE=1 "$SWSS_ADAPTER/fabric.py"
