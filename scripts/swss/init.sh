#!/bin/bash
# init.sh is the first process of the container with SONiC's programs: it puts the programs and files where an image
# of docker-sonic-vs has them, then becomes supervisord.
hostname "$HOSTNAME"
here=$SWSS_ADAPTER
for f in "$SONIC_BINARIES"/*.bin; do
    ln -sf "$f" "/usr/bin/$(basename "$f" .bin)"
done
ln -sf "$TAMTAM" /usr/bin/tamtam
ln -sf "$here/cfggen.py" /usr/bin/sonic-cfggen
[ -d /var/log/swss ] || rm -rf /var/log/*
for f in ip bridge; do
    [ -e /usr/sbin/$f.real ] || mv "$(readlink -f /usr/sbin/$f)" /usr/sbin/$f.real
    ln -sf "$here/kernel/$f" /usr/sbin/$f
done
if ! ip.real link add team0 type team 2>/dev/null; then
    for f in teamd teamdctl teamsyncd; do
        ln -sf "$here/kernel/teamd" /usr/bin/$f
    done
fi
ip link del team0 2>/dev/null
ip netns add void
ip -n void link set lo up
ip netns exec void sysctl -qw net.ipv6.conf.default.disable_ipv6=1
mkdir -p /var/log/swss /var/log/supervisor /var/run/redis/sonic-db /etc/sonic /etc/swss/config.d /usr/share/sonic/hwsku \
    /var/warmboot/teamd /var/run/teamd
rm -f /var/run/redis/*.sock
exec /usr/bin/python3 /usr/bin/supervisord -n -c "$here/supervisord.conf"
