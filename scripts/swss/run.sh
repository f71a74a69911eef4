#!/bin/bash
# run.sh FILE ... runs the tests of sonic-swss, or those of some files, with SONiC's orchagent and managers on tamtam's
# syncd and chip. Root and Linux are needed, no Docker. All changes of files and of the network are undone at the end.
#
#   SWSS_TESTS       the folder tests of sonic-swss
#   SONIC_BINARIES   a folder with orchagent.bin, portsyncd.bin, ...
#   SONIC_PYTHON     a folder with the Python package swsscommon
#   TAMTAM           the program tamtam
#   OUT              a folder for the results and logs
#
# OUT/results.tsv has a line for each function: its name, the result, the reason and the time. Exits 1 if a function
# fails, or passes although exceptions.txt lists it.
set -e
for v in SWSS_TESTS SONIC_BINARIES SONIC_PYTHON; do
    if [ -z "${!v}" ]; then echo "skipped: $v is not set"; exit 0; fi
done
export SWSS_ADAPTER=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd) SWSS_TESTS SONIC_BINARIES SONIC_PYTHON
export TAMTAM=$(readlink -f "$(type -P "${TAMTAM:-tamtam}")") OUT=$(readlink -m "${OUT:-swss-results}")
export SWSS_RESULTS=$OUT/results.tsv SWSS_EXCEPTIONS=${SWSS_EXCEPTIONS:-$SWSS_ADAPTER/exceptions.txt} SWSS_STATE=/state
mkdir -p "$OUT"
"$SWSS_ADAPTER/space.sh" "$SWSS_ADAPTER/session.sh" "$@" || exit 1
