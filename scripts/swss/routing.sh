#!/bin/bash
# routing.sh NAME runs a daemon of FRR, or fpmsyncd. Without SONiC's own fpmsyncd, tamtam's takes its place.
name=$1 lib=/usr/lib/frr
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
case $name in
fpmsyncd) type -P fpmsyncd >/dev/null && exec fpmsyncd
    exec tamtam run fpmsyncd --redis unix:/var/run/redis/redis.sock ;;
zebra) options=(-M dplane_fpm_nl -s 90000000) ;;
esac
[ -x $lib/"$name" ] || exec "$here/program.sh" "$name"
install -d -o frr -g frr /var/run/frr
[ -f "$here/$name.conf" ] && install -o frr -g frr "$here/$name.conf" /etc/frr/
exec "$lib/$name" -A 127.0.0.1 -f "/etc/frr/$name.conf" "${options[@]}"
