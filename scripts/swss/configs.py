#!/usr/bin/python3
"""configs.py FILE ... starts a switch with each config_db.json, and looks up its rows in ASIC_DB.

It runs in the namespaces that configs.sh makes. `configs.py look NAME` prints the table of a switch, inside of it.
"""

import ipaddress
import json
import os
import re
import subprocess
import sys
import time

# Tables of CONFIG_DB with interfaces.
INTERFACES = ("INTERFACE", "VLAN_INTERFACE", "PORTCHANNEL_INTERFACE", "LOOPBACK_INTERFACE")


def complete(config):
    """Add what SONiC's db_migrator and sonic-cfggen add to old configurations."""
    config = {t: rows for t, rows in config.items() if isinstance(rows, dict)}
    for table in INTERFACES:
        rows = config.get(table, {})
        for key in list(rows):
            rows.setdefault(key.split("|")[0], {})
    for vlan, row in config.get("VLAN", {}).items():
        for member in row.pop("members", []):
            config.setdefault("VLAN_MEMBER", {}).setdefault(f"{vlan}|{member}", {"tagging_mode": "untagged"})
    for row in config.get("PORT", {}).values():
        row.setdefault("mtu", "9100")
        row.setdefault("admin_status", "up")
    metadata = config.setdefault("DEVICE_METADATA", {}).setdefault("localhost", {})
    metadata.setdefault("mac", "02:00:00:00:07:e4")
    for rows in config.values():
        for key, row in rows.items():
            rows[key] = {f: v for f, v in row.items() if v is not None} if isinstance(row, dict) else {}
    return config


def start(path):
    """Start a switch with the configuration of a file and return its container."""
    import docker  # the stand-in beside this file, which needs the environment of configs.sh
    name = os.path.splitext(os.path.basename(path))[0]
    run = docker.from_env().containers.run
    net = run("", name=name + "-net")
    net.exec_run("sysctl -qw net.ipv4.ip_forward=1")
    base = os.path.join(os.environ["OUT"], name)
    for folder in ("sonic", "log"):
        os.makedirs(os.path.join(base, folder), exist_ok=True)
    with open(path, encoding="utf-8") as f:
        config = complete(json.load(f))
    with open(base + "/sonic/config_db.json", "w", encoding="ascii") as f:
        json.dump(config, f, indent=1)
    binds = {base + "/sonic": "/etc/sonic", base + "/log": "/var/log"}
    switch = run("", name=name, network_mode=f"container:{name}-net", environment=["HOSTNAME=" + name],
                 volumes={src: {"bind": dst} for src, dst in binds.items()})
    return name, net, switch


class Rows:
    """The rows of CONFIG_DB and the objects of ASIC_DB."""

    def __init__(self):
        import redis

        def db(n):
            return redis.Redis(unix_socket_path="/var/run/redis/redis.sock", db=n, decode_responses=True)
        self.asic, self.appl, self.state = db(1), db(0), db(6)
        with open("/etc/sonic/config_db.json", encoding="utf-8") as f:
            self.config = json.load(f)
        self.objects = {}
        for key in self.asic.keys("ASIC_STATE:*"):
            _, kind, name = key.split(":", 2)
            self.objects.setdefault(kind.removeprefix("SAI_OBJECT_TYPE_"), {})[name] = self.asic.hgetall(key)
        self.vlans = {o["SAI_VLAN_ATTR_VLAN_ID"]: oid for oid, o in self.objects.get("VLAN", {}).items()
                      if "SAI_VLAN_ATTR_VLAN_ID" in o}
        self.ports = {}
        for h in self.objects.get("HOSTIF", {}).values():
            self.ports[h.get("SAI_HOSTIF_ATTR_NAME")] = h.get("SAI_HOSTIF_ATTR_OBJ_ID")
        self.routes = {json.loads(name)["dest"] for name in self.objects.get("ROUTE_ENTRY", {})}

    def port(self, name, row):
        """Return what is wrong with a port, "" if nothing."""
        oid = self.ports.get(name)
        o = self.objects.get("PORT", {}).get(oid)
        if o is None:
            return "no port"
        lanes = o.get("SAI_PORT_ATTR_HW_LANE_LIST", "")
        want = row["lanes"].split(",")
        if lanes and lanes != f"{len(want)}:{','.join(want)}":
            return f"lanes {lanes}"
        if o.get("SAI_PORT_ATTR_SPEED") not in (None, row.get("speed")):
            return "speed " + o["SAI_PORT_ATTR_SPEED"]
        up = o.get("SAI_PORT_ATTR_ADMIN_STATE", "false") == "true"
        return "" if up == (row["admin_status"] == "up") else f"admin state {up}"

    def address(self, key):
        """Return what is wrong with an address of an interface."""
        ip = ipaddress.ip_interface(key.split("|")[1])
        want = {f"{ip.ip}/{ip.max_prefixlen}", str(ip.network)}
        missing = [p for p in want if str(ipaddress.ip_network(p)) not in self.routes]
        return "no route " + ", ".join(missing) if missing else ""

    def wrong(self, table, key, row):
        """Return what is wrong with a row; None if its table is not looked up."""
        if table == "PORT":
            return self.port(key, row)
        if table == "VLAN":
            return "" if key.removeprefix("Vlan") in self.vlans else "no VLAN"
        if table == "VLAN_MEMBER":
            vlan = self.vlans.get(key.split("|")[0].removeprefix("Vlan"))
            mode = {"tagged": "TAGGED", "untagged": "UNTAGGED"}[row["tagging_mode"]]
            bridged = {o.get("SAI_BRIDGE_PORT_ATTR_PORT_ID"): oid
                       for oid, o in self.objects.get("BRIDGE_PORT", {}).items()}
            port = bridged.get(self.ports.get(key.split("|")[1]))
            for o in self.objects.get("VLAN_MEMBER", {}).values():
                if o["SAI_VLAN_MEMBER_ATTR_VLAN_ID"] == vlan and o["SAI_VLAN_MEMBER_ATTR_BRIDGE_PORT_ID"] == port:
                    return "" if o["SAI_VLAN_MEMBER_ATTR_VLAN_TAGGING_MODE"].endswith("_" + mode) else "other mode"
            return "no member"
        if table == "PORTCHANNEL":
            return "" if len(self.objects.get("LAG", {})) == len(self.config[table]) else "no LAG"
        if table == "PORTCHANNEL_MEMBER":
            at = [o["SAI_LAG_MEMBER_ATTR_PORT_ID"] for o in self.objects.get("LAG_MEMBER", {}).values()]
            return "" if self.ports.get(key.split("|")[1]) in at else "no member"
        if table in INTERFACES:
            name = key.split("|")[0]
            if name.startswith("Vlan") and name not in self.config.get("VLAN", {}):
                return None  # SONiC's managers wait for the VLAN, too
            return self.address(key) if "|" in key else ""
        if table == "ACL_TABLE":
            return "" if self.objects.get("ACL_TABLE") else "no table"
        if table == "MIRROR_SESSION":
            return "" if self.state.exists("MIRROR_SESSION_TABLE|" + key) else "no session"
        return None


def look():
    """Print the table of this switch, and exit with 1 if something is wrong."""
    end = time.time() + 240
    while True:
        r = Rows()
        bad, lines = [], []
        for table in sorted(r.config):
            results = {k: r.wrong(table, k, row) for k, row in r.config[table].items()}
            looked = {k: v for k, v in results.items() if v is not None}
            if looked:
                lines.append((table, len(looked), sum(v == "" for v in looked.values())))
                bad += [f"{table}|{k}: {v}" for k, v in looked.items() if v]
        waits = r.appl.keys("*_KEY_SET")
        if not bad and not waits or time.time() > end:
            break
        time.sleep(1)
    for table, rows, there in lines:
        print(f"{table:24} {rows:5} {there:5}")
    for line in bad:
        print("missing: " + line)
    for key in waits:
        print("waits: " + key)
    ended = subprocess.run(["supervisorctl", "status"], stdout=subprocess.PIPE, check=False, text=True).stdout
    ended = [line.split()[0] for line in ended.splitlines() if re.search(r"EXITED|FATAL|STOPPED|BACKOFF", line)]
    ended = [p for p in ended if p != "start.sh"]
    for program in ended:
        print("ended: " + program)
    sys.exit(bool(bad or waits or ended))


def refusals(log):
    """Return the refused requests of syncd's log: kinds with their numbers."""
    count = {}
    for line in log.splitlines():
        if "refused a request" in line:
            op, key, error = (re.search(p, line) for p in (r"op=(\S+)", r'key="?SAI_OBJECT_TYPE_(\w+)', r'error=(.*)'))
            name = " ".join(m.group(1) for m in (op, key, error) if m)
            name = re.sub(r"oid:0x[0-9a-f]+", "oid", name)
            count[name] = count.get(name, 0) + 1
    return count


def main():
    """Start a switch for each file."""
    bad = False
    for path in sys.argv[1:]:
        name, net, switch = start(path)
        print(f"\n{name:24} {'rows':>5} {'there':>5}", flush=True)
        end = time.time() + 180
        ready = "redis-cli --raw exists PORT_TABLE:PortInitDone"
        while time.time() < end and switch.exec_run(ready).output.strip() != b"1":
            time.sleep(1)
        run = switch.exec_run([sys.executable, os.path.abspath(__file__), "look"])
        print(run.output.decode(), end="")
        log = switch.exec_run("supervisorctl tail -1000000 syncd stderr").output.decode()
        for what, n in sorted(refusals(log).items()):
            print(f"refused {n:5} {what[:110]}")
        sys.stdout.flush()
        bad = bad or run.exit_code != 0
        switch.remove()
        net.remove()
    sys.exit(bad)


if __name__ == "__main__":
    if sys.argv[1:] == ["look"]:
        look()
    else:
        main()
