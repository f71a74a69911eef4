#!/usr/bin/python3
"""fabric.py starts three switches and two hosts, drops packets in five ways, and compares all accounts of the drops.

    h1 --- Ethernet0 leaf1 Ethernet4 --- Ethernet0 spine Ethernet4 --- Ethernet4 leaf2 Ethernet0 --- h2

It runs in the namespaces that fabric.sh makes. `fabric.py send JSON` sends packets from a host.
"""

import json
import os
import re
import socket
import struct
import subprocess
import sys
import time

FRAME = 1500  # bytes that the link from spine to leaf2 carries
BIG = 3000    # bytes of a packet that it does not carry

# Addresses by switch and interface of the chip.
SWITCHES = {
    "leaf1": {"mac": "02:00:00:00:01:00", "asn": 65001, "id": "10.255.0.1",
              "Ethernet0": "10.1.0.1/24", "Ethernet4": "10.0.1.0/31", "peers": {"10.0.1.1": 65100}},
    "spine": {"mac": "02:00:00:00:02:00", "asn": 65100, "id": "10.255.0.2",
              "Ethernet0": "10.0.1.1/31", "Ethernet4": "10.0.2.1/31", "peers": {"10.0.1.0": 65001, "10.0.2.0": 65002}},
    "leaf2": {"mac": "02:00:00:00:03:00", "asn": 65002, "id": "10.255.0.3",
              "Ethernet0": "10.2.0.1/24", "Ethernet4": "10.0.2.0/31", "peers": {"10.0.2.1": 65100}},
}
HOSTS = {"h1": ("10.1.0.2", "10.1.0.1"), "h2": ("10.2.0.2", "10.2.0.1")}

# Wires: a container and its interface at each end. Interface eth1 is the wire of Ethernet0, eth2 that of Ethernet4.
WIRES = [("h1", "eth1", "leaf1", "eth1"), ("leaf1", "eth2", "spine", "eth1"), ("spine", "eth2", "leaf2", "eth2"),
         ("leaf2", "eth1", "h2", "eth1")]

# The ways: a name, the switch that drops, its port, the number of packets, what is special in them, and the reason of
# SONiC's debug counter; None means an ACL rule's counter.
WAYS = [
    ("ACL rule", "leaf1", "Ethernet0", 11, {"port": 7}, None),
    ("VLAN that the port is not in", "leaf1", "Ethernet0", 12, {"port": 8, "vlan": 99}, "INGRESS_VLAN_FILTER"),
    ("route that drops", "spine", "Ethernet0", 13, {"port": 9, "dst": "198.51.100.1"}, "BLACKHOLE_ROUTE"),
    ("source is a group address", "leaf1", "Ethernet0", 14, {"port": 10, "from": "03:00:00:00:00:01"},
     "SMAC_MULTICAST"),
    ("MTU of a router interface", "spine", "Ethernet0", 15, {"port": 11, "size": BIG}, "EXCEEDS_L3_MTU"),
]


def config(name):
    """Return CONFIG_DB of a switch."""
    s = SWITCHES[name]
    mtu = {("spine", "Ethernet4"): FRAME}
    rows = {
        "DEVICE_METADATA": {"localhost": {"mac": s["mac"], "hostname": name, "type": "LeafRouter", "hwsku": "tamtam",
                                          "platform": "tamtam", "bgp_asn": str(s["asn"])}},
        "FEATURE": {f: {"state": "enabled"} for f in ("swss", "bgp", "teamd", "database", "lldp")},
        "PORT": {f"Ethernet{4 * i}": {
            "lanes": ",".join(str(4 * i + j) for j in range(4)), "alias": f"etp{i + 1}", "index": str(i + 1),
            "speed": "100000", "admin_status": "up", "mtu": str(mtu.get((name, f"Ethernet{4 * i}"), 9100))}
                 for i in range(2)},
        "INTERFACE": {"Ethernet0": {}, "Ethernet4": {},
                      "Ethernet0|" + s["Ethernet0"]: {}, "Ethernet4|" + s["Ethernet4"]: {}},
        "LOOPBACK_INTERFACE": {"Loopback0": {}, f"Loopback0|{s['id']}/32": {}},
        "FLEX_COUNTER_TABLE": {g: {"FLEX_COUNTER_STATUS": "enable", "POLL_INTERVAL": "1000"}
                               for g in ("PORT", "RIF", "QUEUE", "ACL", "DEBUG_COUNTER")},
        "DEBUG_COUNTER": {}, "DEBUG_COUNTER_DROP_REASON": {},
    }
    for _, at, _, _, _, reason in WAYS:
        if at == name and reason:
            rows["DEBUG_COUNTER"]["D_" + reason] = {"type": "PORT_INGRESS_DROPS"}
            rows["DEBUG_COUNTER_DROP_REASON"][f"D_{reason}|{reason}"] = {}
    if name == "leaf1":
        rows["ACL_TABLE"] = {"EDGE": {"type": "L3", "stage": "ingress", "policy_desc": "EDGE", "ports": ["Ethernet0"]}}
        rows["ACL_RULE"] = {"EDGE|R7": {"PRIORITY": "100", "IP_PROTOCOL": "17", "L4_DST_PORT": "7",
                                        "PACKET_ACTION": "DROP"}}
    return rows


def bgpd(name):
    """Return the configuration of FRR's bgpd."""
    s = SWITCHES[name]
    lines = [f"router bgp {s['asn']}", f" bgp router-id {s['id']}", " no bgp ebgp-requires-policy",
             " timers bgp 1 3"]
    for peer, asn in s["peers"].items():
        lines += [f" neighbor {peer} remote-as {asn}", f" neighbor {peer} timers connect 1"]
    lines += [" address-family ipv4 unicast", "  redistribute connected", "  redistribute static"]
    return "\n".join(lines) + "\n"


def frame(spec, i):
    """Return a frame of UDP from a host; i is in the identification of the IP packet."""
    payload = bytes(max(18, spec.get("size", 0) - 42))
    src, dst = socket.inet_aton(spec["src"]), socket.inet_aton(spec["dst"])
    udp = struct.pack("!HHHH", 10000, spec["port"], 8 + len(payload), 0) + payload
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(udp), i, 0x4000, 64, 17, 0) + src + dst
    total = sum(struct.unpack("!10H", head))
    total = (total & 0xffff) + (total >> 16)
    head = head[:10] + struct.pack("!H", ~(total + (total >> 16)) & 0xffff) + head[12:]
    tag = struct.pack("!HH", 0x8100, spec["vlan"]) if "vlan" in spec else b""
    return bytes.fromhex((spec["to"] + spec["from"]).replace(":", "")) + tag + b"\x08\x00" + head + udp


def send(spec):
    """Send packets from this host."""
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    s.bind(("eth1", 0))
    spec.setdefault("from", s.getsockname()[4].hex())
    for i in range(spec["count"]):
        s.send(frame(spec, i))
        time.sleep(0.005)


class Fabric:
    """The switches and hosts."""

    def __init__(self):
        import docker  # the stand-in beside this file, which needs the environment of fabric.sh
        run = docker.from_env().containers.run
        self.nets = {n: run("", name=n + "-net") for n in [*SWITCHES, *HOSTS]}
        for a, eth_a, b, eth_b in WIRES:
            ends = [self.nets[n].pid for n in (a, b)]
            subprocess.run(["ip", "link", "add", eth_a, "mtu", "9216", "netns", str(ends[0]), "type", "veth",
                            "peer", "name", eth_b, "mtu", "9216", "netns", str(ends[1])], check=True)
        for name, net in self.nets.items():
            for what in ("all.disable_ipv6=1", "default.disable_ipv6=1"):
                net.exec_run("sysctl -qw net.ipv6.conf." + what)
            net.exec_run("sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.arp_ignore=2 "
                         "net.ipv4.conf.all.arp_announce=1")
            for eth in ("eth1", "eth2"):
                net.exec_run(f"ip link set {eth} up")
        for name, (address, router) in HOSTS.items():
            self.nets[name].exec_run(f"ip addr add {address}/24 dev eth1")
            self.nets[name].exec_run(f"ip route add default via {router}")
        self.switches = {n: self._switch(run, n) for n in SWITCHES}

    def _switch(self, run, name):
        base = os.path.join(os.environ["OUT"], name)
        for folder in ("sonic", "frr", "log"):
            os.makedirs(os.path.join(base, folder), exist_ok=True)
        with open(base + "/sonic/config_db.json", "w", encoding="ascii") as f:
            json.dump(config(name), f, indent=1)
        static = "ip route 198.51.100.0/24 blackhole\n" if name == "spine" else ""
        for daemon, text in (("bgpd", bgpd(name)), ("staticd", static)):
            with open(f"{base}/frr/{daemon}.conf", "w", encoding="ascii") as f:
                f.write(text)
        subprocess.run(["chown", "-R", "frr:frr", base + "/frr"], check=True)
        binds = {base + "/sonic": "/etc/sonic", base + "/frr": "/etc/frr", base + "/log": "/var/log"}
        return run("", name=name, network_mode=f"container:{name}-net", environment=["HOSTNAME=" + name],
                   volumes={src: {"bind": dst} for src, dst in binds.items()})

    def bash(self, name, text):
        """Run a line of bash in a switch and return its output."""
        return self.switches[name].exec_run(["bash", "-c", text], stderr=False).output.decode()

    def wait(self, what, seconds, ready):
        """Wait until ready returns true."""
        end = time.time() + seconds
        while not ready():
            if time.time() > end:
                sys.exit(f"{what}: not within {seconds} seconds; the logs are in {os.environ['OUT']}")
            time.sleep(0.5)
        print(f"ok   {what}", flush=True)

    def redis(self, name, db, *words):
        """Return the answer of a switch's Redis."""
        return self.bash(name, " ".join(["redis-cli", "-n", str(db), "--raw"] + [f"'{w}'" for w in words])).strip()

    def counter(self, way):
        """Return SONiC's counter for a way; None while there is none."""
        _, name, port, _, _, reason = way
        if reason is None:
            oid = self.redis(name, 2, "hget", "ACL_COUNTER_RULE_MAP", "EDGE:R7")
            stat = "SAI_ACL_COUNTER_ATTR_PACKETS"
            value = self.redis(name, 2, "hget", "COUNTERS:" + oid, stat)
            if not value:
                value = self.redis(name, 2, "hget", "COUNTERS:" + oid, "Packets")
        else:
            oid = self.redis(name, 2, "hget", "COUNTERS_PORT_NAME_MAP", port)
            stat = self.redis(name, 2, "hget", "COUNTERS_DEBUG_NAME_PORT_STAT_MAP", "D_" + reason)
            value = self.redis(name, 2, "hget", "COUNTERS:" + oid, stat)
        return int(value) if value else None

    def ping(self, count):
        """Report whether all pings from h1 reach h2."""
        out = self.nets["h1"].exec_run(f"ping -c {count} -i 0.2 -W 1 -q 10.2.0.2").output.decode()
        return f" {count} received" in out

    def page(self, name):
        """Return the drops by reason on a switch's page."""
        text = self.bash(name, "curl -s http://127.0.0.1:8088/drops")
        section = re.search(r"<h3>By reason</h3>.*?</section>", text, re.S)
        rows = re.findall(r'<th scope="row">([^<]*)</th><td class="n" data-of="Packets">([^<]*)<',
                          section.group(0) if section else "")
        return {reason: int(re.sub(r"\D", "", n)) for reason, n in rows}


def packet(way):
    """Return what is sent for a way."""
    return {"src": "10.1.0.2", "dst": "10.2.0.2", "to": SWITCHES["leaf1"]["mac"], "count": way[3]} | way[4]


def trace(fabric, way):
    """Return the fate of such a packet at the switch that drops it, as tamtam predicts it."""
    _, name, port, _, _, _ = way
    p = packet(way)
    words = f"src {p['src']} dst {p['dst']} src-port 10000 dst-port {p['port']}"
    if "from" in p:
        words += f" src-mac {p['from']}"
    if "vlan" in p:
        words += f" vlan {p['vlan']}"
    if "size" in p:
        words += f" size {p['size']}"
    answer = fabric.bash(name, f"tamtam trace {port} {words} 2>&1")
    fate = re.search(r"Fate : (.*)", answer)
    return fate.group(1) if fate else answer.strip()


def why(fabric, way):
    """Return the fates of a way's flow with their numbers of packets, as tamtam has counted them."""
    p = packet(way)
    line = f"show tam why flow {p['src']} {p['dst']} protocol udp dst-port {p['port']} last 1"
    answer = fabric.bash(way[1], f"tamtam cli -c '{line}' 2>&1")
    return {m[0]: int(m[1]) for m in re.findall(r"^(dropped: \S+|sent)\s+\S+\s+(\d+)", answer, re.M)} or answer.strip()


def main():
    """Run the network and compare."""
    fabric = Fabric()
    for name in SWITCHES:
        fabric.wait(f"{name}: orchagent has made its ports and counters", 120, lambda n=name: all(
            fabric.redis(n, 2, "hget", "COUNTERS_PORT_NAME_MAP", p) for p in ("Ethernet0", "Ethernet4")))
    fabric.wait("BGP: h1 reaches h2 through three chips", 180, lambda: fabric.ping(3))
    for name in SWITCHES:
        fabric.bash(name, "tamtam run mgmtd --redis unix:/var/run/redis/redis.sock --insecure --http 127.0.0.1:8088 "
                          "> /var/log/mgmtd.log 2>&1 < /dev/null &")
        fabric.wait(f"{name}: the page", 60, lambda n=name: fabric.bash(
            n, "curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:8088/drops") == "200")
    for way in WAYS:
        fabric.wait(f"{way[1]}: SONiC's counter for: {way[0]}", 60, lambda w=way: fabric.counter(w) is not None)
    before = [(fabric.counter(w), fabric.page(w[1])) for w in WAYS]
    for way in WAYS:
        run = fabric.nets["h1"].exec_run([sys.executable, os.path.abspath(__file__), "send", json.dumps(packet(way))])
        if run.exit_code:
            sys.exit("h1 cannot send: " + run.output.decode())
    time.sleep(3)
    print(f"\n{'dropped by':30} {'at':6} {'sent':>4} {'SONiC':>5} {'why':>4} {'page':>4}  {'SONiC counts':22} trace")
    bad = False
    for way, (old, page) in zip(WAYS, before):
        fate = trace(fabric, way)
        flow = why(fabric, way)
        dropped = re.match(r"dropped: (\S+)", fate)
        reason = dropped.group(1) if dropped else ""
        counted = fabric.counter(way) - old
        shown = fabric.page(way[1]).get(reason, 0) - page.get(reason, 0)
        told = flow.get("dropped: " + reason, 0) if isinstance(flow, dict) else 0
        right = counted == told == shown == way[3]
        bad = bad or not right
        print(f"{way[0]:30} {way[1]:6} {way[3]:4} {counted:5} {told:4} {shown:4}  {way[5] or 'rule EDGE:R7':22} "
              + fate + ("" if right else f"   differs: {flow}"), flush=True)
    if not fabric.ping(10):
        print("h1 no longer reaches h2")
        bad = True
    sys.exit(bad)


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "send":
        send(json.loads(sys.argv[2]))
    else:
        main()
