#!/usr/bin/python3
"""start.py makes CONFIG_DB of a switch with 32 ports of 40G, as the tests expect it, and starts all programs in order.

CONFIG_DB is read from /etc/sonic/config_db.json if it exists.
"""

import json
import os
import subprocess
import time

import redis

PROGRAMS = ("syncd portsyncd orchagent coppmgrd neighsyncd fdbsyncd vrfmgrd portmgrd intfmgrd vlanmgrd buffermgrd "
            "nbrmgrd vxlanmgrd tunnelmgrd fabricmgrd teammgrd teamsyncd tlm_teamd zebra staticd mgmtd bgpd fpmsyncd "
            "sflowmgrd natmgrd natsyncd").split()

CONFIG = "/etc/sonic/config_db.json"
HWSKU = "/usr/share/sonic/hwsku/"

# The first lane of each port of four, in the order of ports.
FIRST_LANES = (25, 29, 33, 37, 45, 41, 1, 5, 13, 9, 17, 21, 53, 49, 57, 61,
               69, 65, 73, 77, 109, 105, 113, 117, 125, 121, 81, 85, 93, 89, 101, 97)

POOL_SIZE = 12766208


def ports():
    """Return the rows of PORT."""
    return {f"Ethernet{4 * i}": {
        "lanes": ",".join(str(lane + j) for j in range(4)), "alias": f"fortyGigE0/{4 * i}", "index": str(i),
        "speed": "40000", "admin_status": "down", "mtu": "9100"} for i, lane in enumerate(FIRST_LANES)}


def configuration():
    """Return CONFIG_DB after the first start."""
    with open("/sys/class/net/eth0/address") as f:
        mac = f.read().strip()
    port = ports()
    queues, pgs = {}, {}
    for name in port:
        pgs[name + "|0"] = {"profile": "ingress_lossy_profile"}
        for queue, profile in (("3-4", "lossless"), ("0-2", "lossy"), ("5-6", "lossy")):
            queues[f"{name}|{queue}"] = {"profile": f"egress_{profile}_profile"}
    return {
        "DEVICE_METADATA": {"localhost": {"mac": mac, "switch_type": "switch", "buffer_model": "traditional",
                                          "hostname": os.uname().nodename, "hwsku": os.environ.get("HWSKU", "")}},
        "FEATURE": {name: {"state": "enabled"} for name in
                    ("swss", "bgp", "teamd", "nat", "database", "lldp", "dhcp_relay", "macsec")},
        "PORT": port,
        "CABLE_LENGTH": {"AZURE": {name: "0m" for name in port}},
        "BUFFER_POOL": {
            "ingress_lossless_pool": {"size": str(POOL_SIZE), "type": "ingress", "mode": "dynamic"},
            "egress_lossless_pool": {"size": str(POOL_SIZE), "type": "egress", "mode": "static"},
            "egress_lossy_pool": {"size": "7326924", "type": "egress", "mode": "dynamic"}},
        "BUFFER_PROFILE": {
            "ingress_lossy_profile": {"pool": "ingress_lossless_pool", "size": "0", "dynamic_th": "3"},
            "egress_lossless_profile": {"pool": "egress_lossless_pool", "size": "0", "static_th": str(POOL_SIZE)},
            "egress_lossy_profile": {"pool": "egress_lossy_pool", "size": "1518", "dynamic_th": "3"}},
        "BUFFER_PG": pgs,
        "BUFFER_QUEUE": queues,
    }


def copp():
    """Return the groups and traps of control-plane policing that coppmgrd reads."""
    def group(queue, rate, **more):
        return {"queue": queue, "meter_type": "packets", "mode": "sr_tcm", "cir": rate, "cbs": rate,
                "red_action": "drop"} | more

    def trap(queue, rate, action="trap", priority=None, **more):
        return group(queue, rate, trap_action=action, trap_priority=priority or queue, **more)

    def row(group, ids, always=False):
        return {"trap_group": group, "trap_ids": ids} | ({"always_enabled": "true"} if always else {})

    return {
        "COPP_GROUP": {
            "default": group("0", "600"), "queue4_group1": trap("4", "6000"),
            "queue4_group2": trap("4", "600", action="copy"), "queue4_group3": trap("4", "100"),
            "queue1_group1": trap("1", "6000"), "queue1_group2": trap("1", "600"), "queue1_group3": trap("1", "200"),
            "queue2_group1": trap("2", "1000", priority="1", genetlink_name="psample",
                                  genetlink_mcgrp_name="packets")},
        "COPP_TRAP": {
            "bgp": row("queue4_group1", "bgp,bgpv6"), "lacp": row("queue4_group1", "lacp", True),
            "arp": row("queue4_group2", "arp_req,arp_resp,neigh_discovery", True),
            "lldp": row("queue4_group3", "lldp"), "dhcp_relay": row("queue4_group3", "dhcp,dhcpv6"),
            "udld": row("queue4_group3", "udld", True), "ip2me": row("queue1_group1", "ip2me", True),
            "macsec": row("queue4_group1", "eapol"), "nat": row("queue1_group2", "src_nat_miss,dest_nat_miss"),
            "sflow": row("queue2_group1", "sample_packet"),
            "neighbor_miss": row("queue1_group3", "neighbor_miss", True)}}


def databases():
    """Return database_config.json."""
    ids = {"APPL_DB": 0, "ASIC_DB": 1, "COUNTERS_DB": 2, "CONFIG_DB": 4, "PFC_WD_DB": 5, "FLEX_COUNTER_DB": 5,
           "STATE_DB": 6, "SNMP_OVERLAY_DB": 7, "GB_ASIC_DB": 9, "GB_COUNTERS_DB": 10, "GB_FLEX_COUNTER_DB": 11,
           "APPL_STATE_DB": 14, "DPU_APPL_DB": 15, "DPU_APPL_STATE_DB": 16, "DPU_STATE_DB": 17, "DPU_COUNTERS_DB": 18}
    bar = ("CONFIG_DB", "STATE_DB", "SNMP_OVERLAY_DB", "DPU_APPL_STATE_DB", "DPU_STATE_DB")
    return {"INSTANCES": {"redis": {"hostname": "127.0.0.1", "port": 6379,
                                    "unix_socket_path": "/var/run/redis/redis.sock"}},
            "DATABASES": {name: {"id": number, "separator": "|" if name in bar else ":", "instance": "redis"}
                          for name, number in ids.items()},
            "VERSION": "1.0"}


def write(path, value):
    """Write a file of JSON."""
    with open(path, "w") as f:
        json.dump(value, f, indent=1)


def load(config):
    """Write rows to CONFIG_DB."""
    db = redis.Redis(unix_socket_path="/var/run/redis/redis.sock", db=4)
    pipe = db.pipeline()
    for table, rows in config.items():
        for key, fields in rows.items():
            values = {f + "@" if isinstance(v, list) else f: ",".join(v) if isinstance(v, list) else v
                      for f, v in fields.items()}
            pipe.hset(f"{table}|{key}", mapping=values or {"NULL": "NULL"})
    pipe.set("CONFIG_DB_INITIALIZED", "1")
    pipe.execute()


def supervisorctl(*words):
    """Run supervisorctl."""
    subprocess.run(["supervisorctl", *words], check=False)


def settle(begin):
    """Wait until orchagent has programmed CONFIG_DB: the tests begin when start.sh has ended, and expect that."""
    appl, record = redis.Redis(unix_socket_path="/var/run/redis/redis.sock", db=0), "/var/log/swss/sairedis.rec"
    while time.time() < begin + 45:
        if os.path.exists(record) and begin < os.path.getmtime(record) < time.time() - 2:
            if appl.exists("PORT_TABLE:PortInitDone"):
                return
            # portsyncd lists all interfaces once, and the kernel ends the list early if one is made meanwhile.
            supervisorctl("restart", "portsyncd")
            time.sleep(1)
        time.sleep(0.2)


def main():
    """Start the switch."""
    begin = time.time()
    write("/var/run/redis/sonic-db/database_config.json", databases())
    write("/etc/sonic/copp_cfg.json", copp())
    # The dynamic buffer model computes headroom from these: the size in bytes, the others in KiB.
    write("/etc/sonic/asic_table.json", [{"OP": "SET", "ASIC_TABLE:TAMTAM": {
        "cell_size": "144", "pipeline_latency": "18", "mac_phy_delay": "0.8", "peer_response_time": "9.9"}}])
    with open(HWSKU + "pg_profile_lookup.ini", "w") as f:
        f.write("# speed cable size xon xoff threshold xon_offset\n")
        for cable in ("5m", "40m", "300m"):
            for speed in (10000, 25000, 40000, 50000, 100000):
                f.write(f"{speed} {cable} 56368 18432 55120 -3 2496\n")
    if not os.path.exists(HWSKU + "port_config.ini"):
        with open(HWSKU + "port_config.ini", "w") as f:
            f.write("# name lanes alias index speed\n")
            for name, p in ports().items():
                f.write(f"{name} {p['lanes']} {p['alias']} {p['index']} {p['speed']}\n")
    if not os.path.exists(CONFIG):
        config = configuration()
        write(CONFIG, config)
        write("/tmp/ports.json", {"PORT": config["PORT"]})
        write("/etc/sonic/init_cfg.json", {t: config[t] for t in ("DEVICE_METADATA", "FEATURE")})
    supervisorctl("start", "rsyslogd", "redis-server")
    ping = ["redis-cli", "-s", "/var/run/redis/redis.sock", "ping"]
    while subprocess.run(ping, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode:
        time.sleep(0.05)
    with open(CONFIG) as f:
        load(json.load(f))
    supervisorctl("start", *PROGRAMS)
    settle(begin)


if __name__ == "__main__":
    main()
