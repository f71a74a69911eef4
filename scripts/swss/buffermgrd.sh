#!/bin/bash
# buffermgrd.sh runs buffermgrd in the mode that CONFIG_DB has, with its scripts for virtual switches.
export ASIC_VENDOR=vs
if [ "$(redis-cli -n 4 --raw hget 'DEVICE_METADATA|localhost' buffer_model)" = dynamic ]; then
    exec /usr/bin/buffermgrd -a /etc/sonic/asic_table.json
fi
exec /usr/bin/buffermgrd -l /usr/share/sonic/hwsku/pg_profile_lookup.ini
