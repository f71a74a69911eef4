#!/bin/bash
# syncd_start.sh runs tamtam's syncd in the place of SONiC's in a virtual switch. Interface eth1 is the wire of Ethernet0,
# eth2 that of Ethernet4, and so on.
ports=()
for eth in $(ip -o link show | grep -oE '\beth[0-9]+' | sort -u); do
    n=${eth#eth}
    [ "$n" -gt 0 ] && ports+=(--port "Ethernet$((4 * (n - 1)))=$eth")
done
mode=redis_sync
[ "$(redis-cli -n 4 --raw hget 'DEVICE_METADATA|localhost' synchronous_mode)" = disable ] && mode=redis_async
exec tamtam run syncd --redis unix:/var/run/redis/redis.sock --sairedis "$mode" --host-interfaces "${ports[@]}"
