#!/bin/sh
# Makes a cold start of the daemons under supervisord, as SONiC's swss.sh does. It waits for Redis, ends the daemons,
# empties the derived databases (unless STATE_DB requests a warm restart), loads the configuration, and starts the
# daemons.
#
# Usage: start.sh SUPERVISORD.CONF
set -eu
redis=127.0.0.1:$TAMTAM_PORT
supervisorctl -c "$1" stop 'switch:*' || true # those that do not run are an error
tamtam flush --now --redis "$redis"
tamtam config load "$TAMTAM_CONFIG" --redis "$redis"
supervisorctl -c "$1" start 'switch:*'
