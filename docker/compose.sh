#!/usr/bin/env bash
# Runs Compose, whichever of its two forms is installed, on the files beside this one: compose.yaml, or those that
# COMPOSE_FILE names, as in COMPOSE_FILE=compose.yaml:compose.ports.yaml.
set -euo pipefail
cd "$(dirname "$0")"
export COMPOSE_PROJECT_NAME=${COMPOSE_PROJECT_NAME:-tamtam} COMPOSE_FILE=${COMPOSE_FILE:-compose.yaml}
if docker compose version >/dev/null 2>&1; then exec docker compose "$@"; fi
exec docker-compose "$@"
