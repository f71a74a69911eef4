#!/bin/bash
# session.sh FILE ... runs the tests of each file, all of them by default, one file after the other.
ip link set lo up
PATH=$SWSS_ADAPTER/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH PYTHONPATH=$SWSS_ADAPTER:$SONIC_PYTHON PYTHONDONTWRITEBYTECODE=1
for f in /sbin/modprobe /usr/bin/apt-get; do # the tests install iproute2 at each start, which is here
    printf '#!/bin/sh\n' > $f && chmod +x $f
done
sed -i -E 's/^(VERSION_ID="?[0-9]+)("?)$/\1.0\2/' "$(readlink -f /etc/os-release)" # the tests expect a dot
mkdir -p /var/run/redis/sonic-db
/usr/bin/python3 -c 'import start; start.write("/var/run/redis/sonic-db/database_config.json", start.databases())'
cd "$SWSS_TESTS" || exit 1
[ $# = 0 ] && set -- test_*.py
touch "$SWSS_RESULTS"
begin=$(wc -l < "$SWSS_RESULTS")
/usr/bin/python3 -m pytest -p results --confcutdir . --continue-on-collection-errors -p no:cacheprovider --tb=short \
    -rN "$@" >> "$OUT/pytest.log" 2>&1
[ -d log ] && cp -r log "$OUT/"
tail -n "+$((begin + 1))" "$SWSS_RESULTS" | cut -f 2 | sort | uniq -c
! tail -n "+$((begin + 1))" "$SWSS_RESULTS" | cut -f 2 | grep -qE 'fails|listed'
