#!/bin/bash
# orchagent.sh runs orchagent with the options that follow from CONFIG_DB and the environment.
row() { redis-cli -n 4 --raw hget "DEVICE_METADATA|localhost" "$1"; }
export platform=vs
[ "$HWSKU" = Mellanox-SN2700 ] && export platform=mellanox
if [ "$ASIC_TYPE" = broadcom-dnx ]; then export platform=broadcom sub_platform=broadcom-dnx; fi
[ -n "$PFC_DLR_INIT_ENABLE" ] && export pfcDlrInitEnable=$PFC_DLR_INIT_ENABLE
options=()
[ "$(row ring_thread_enabled)" = true ] && options+=(-R)
[ "$(row suppress-fib-pending)" = enabled ] && options+=(-F)
exec /usr/bin/orchagent -d /var/log/swss -b 8192 -s -m "$(row mac)" "${options[@]}"
