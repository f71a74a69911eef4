#!/usr/bin/env bash
# Runs Compose, whichever of its two forms is installed, on compose.yaml beside this file.
set -euo pipefail
cd "$(dirname "$0")"
if docker compose version >/dev/null 2>&1; then exec docker compose -p tamtam -f compose.yaml "$@"; fi
exec docker-compose -p tamtam -f compose.yaml "$@"
