#!/bin/sh
# A cold start of the daemons under supervisord, as SONiC's swss.sh makes one: they end, what was derived is emptied
# (unless STATE_DB asks for a warm restart), the configuration is loaded, they start. Redis is waited for.
#
# Usage: start.sh SUPERVISORD.CONF
set -eu
redis=127.0.0.1:$TAMTAM_PORT
supervisorctl -c "$1" stop 'switch:*' || true # those that do not run are an error
tamtam flush --now --redis "$redis"
tamtam config load "$TAMTAM_CONFIG" --redis "$redis"
supervisorctl -c "$1" start 'switch:*'
