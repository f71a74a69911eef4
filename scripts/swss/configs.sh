#!/bin/bash
# configs.sh FILE ... starts a switch with each config_db.json: SONiC's orchagent and managers on tamtam's syncd and
# chip. Then every row that has an object in SAI is looked up in ASIC_DB. Exits 1 if an object is missing, a row waits,
# or a program has ended. Root and Linux are needed, no Docker.
#
#   SONIC_BINARIES   a folder with orchagent.bin, portsyncd.bin, ...
#   TAMTAM           the program tamtam
#   OUT              a folder for the logs; the default is config-results
set -e
if [ -z "$SONIC_BINARIES" ] || [ $# = 0 ]; then echo "skipped: SONIC_BINARIES or SONIC_CONFIGS is not set"; exit 0; fi
export SWSS_ADAPTER=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd) SONIC_BINARIES SONIC_PYTHON SWSS_STATE=/state
export TAMTAM=$(readlink -f "$(type -P "${TAMTAM:-tamtam}")") OUT=$(readlink -m "${OUT:-config-results}")
mkdir -p "$OUT"
files=()
for f in "$@"; do files+=("$(readlink -f "$f")"); done
exec "$SWSS_ADAPTER/space.sh" env PYTHONDONTWRITEBYTECODE=1 "$SWSS_ADAPTER/configs.py" "${files[@]}"
