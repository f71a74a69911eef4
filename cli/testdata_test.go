package cli

// switchTree is a switch with all that the show commands show.
const switchTree = `{
"tam": {
  "switch": {
    "config": {"switch-id": 2020, "enterprise-id": 1234},
    "state": {"switch-id": 2020, "enterprise-id": 1234, "op-switch-id": 2020, "op-enterprise-id": 1234,
     "status": "active"}},
  "features": {"feature": [{"feature-ref": "TAILSTAMPING", "config": {"feature-ref": "TAILSTAMPING",
   "status": "ACTIVE"}}]},
  "features-state": {"feature": [{"feature-ref": "TAILSTAMPING", "state": {"feature-ref": "TAILSTAMPING",
   "op-status": "ACTIVE"}}]},
  "collectors": {"collector": [
    {"name": "IFA_Col_i19", "config": {"name": "IFA_Col_i19", "ip": "192.168.78.121", "port": 7071, "protocol": "UDP"},
     "state": {"status": "active"}},
    {"name": "MOD_Col_m16", "config": {"name": "MOD_Col_m16", "ip": "2001:db8::7", "port": 7076, "protocol": "TCP"},
     "state": {"status": "active"}}]},
  "samplers": {"sampler": [
    {"name": "aggresive", "config": {"name": "aggresive", "sampling-rate": 2000}, "state": {"status": "active"}},
    {"name": "sflow_low", "config": {"name": "sflow_low", "sampling-rate": 1}, "state": {"status": "active"}}]},
  "flowgroups": {"flowgroup": [
    {"name": "tcp_port_236",
     "config": {"name": "tcp_port_236", "id": 4025, "priority": 100, "interfaces": ["Ethernet20", "Ethernet4"]},
     "ipv4": {"config": {"source-address": "13.92.96.32/32", "destination-address": "7.72.235.82"}},
     "transport": {"config": {"destination-port": 236}},
     "state": {"status": "active", "packets": "7656", "octets": "980000"}},
    {"name": "tcp_port_239",
     "config": {"name": "tcp_port_239", "id": 4026, "priority": 99, "ip-version": "IPV6"},
     "l2": {"config": {"source-mac": "00:11:22:00:00:00", "source-mac-mask": "ff:ff:ff:00:00:00", "ethertype": 34525}},
     "ipv6": {"config": {"source-address": "2001:db8::/32", "protocol": 6, "dscp": 46, "hop-limit": 64}},
     "transport": {"config": {"source-port": "1906..1910", "destination-port": 239, "tcp-flags": ["TCP_SYN",
      "TCP_ACK"]}},
     "state": {"status": "pending", "reason": "no ACL rule TAM|tcp_port_239"}}]},
  "tailstamping-sessions": {"tailstamping-session": [
    {"name": "http_236", "config": {"name": "http_236", "flowgroup": "tcp_port_236"},
     "state": {"flowgroup": "tcp_port_236", "status": "active", "counters": {"matched-packets": "7656",
      "matched-octets": "980000", "stamped-packets": "7600",
       "not-stamped": {"not-tcp-udp": "50", "not-ethernet-ii": "0", "cut": "0", "mtu": "6"}}}},
    {"name": "http_239", "config": {"name": "http_239", "flowgroup": "tcp_port_239"},
     "state": {"flowgroup": "tcp_port_239", "status": "pending", "reason": "flow group tcp_port_239 is not active"}}]}
},
"interfaces": {"interface": [
  {"name": "Ethernet20", "config": {"name": "Ethernet20", "mtu": 9100, "enabled": true, "description": "to spine 1"},
   "state": {"alias": "Eth6/1", "oper-status": "UP", "admin-status": "UP", "speed": 25000, "lanes": "21",
    "status": "active",
     "counters": {"in-pkts": "10", "in-octets": "1000", "in-errors": "0", "in-discards": "1", "out-pkts": "9",
      "out-octets": "1188", "out-errors": "0", "out-discards": "0"}}},
  {"name": "Ethernet4", "config": {"name": "Ethernet4", "mtu": 1500, "enabled": false},
   "state": {"alias": "Eth2/1", "oper-status": "DOWN", "admin-status": "DOWN", "speed": 100000, "lanes": "5,6,7,8",
    "status": "active"},
   "breakout-mode": {"groups": {"group": [{"index": 1, "config": {"index": 1, "num-breakouts": 1,
    "breakout-speed": "SPEED_100GB"},
     "state": {"index": 1, "num-breakouts": 1, "breakout-speed": "SPEED_100GB", "status": "active"}}]}}},
  {"name": "PortChannel1", "config": {"name": "PortChannel1", "mtu": 9100, "enabled": true},
   "state": {"oper-status": "UP"},
   "aggregation": {"members": {"member": [{"interface": "Ethernet20", "config": {"interface": "Ethernet20"}}]}}}]},
"vlans": {"vlan": [
  {"vlan-id": 10, "config": {"vlan-id": 10}, "members": {"member": [
    {"interface": "Ethernet4", "config": {"interface": "Ethernet4", "tagging-mode": "UNTAGGED"}},
    {"interface": "PortChannel1", "config": {"interface": "PortChannel1", "tagging-mode": "TAGGED"},
     "state": {"status": "PENDING", "reason": "PortChannel1 has no member"}}]}}]},
"acl": {"tables": {"table": [
  {"name": "TAM", "state": {"name": "TAM", "type": "TAM", "status": "Active"},
   "rules": {"rule": [
     {"rule-name": "tcp_port_236", "state": {"priority": 100, "matched-packets": "7656", "matched-octets": "980000",
      "status": "Active"}},
     {"rule-name": "tcp_port_239", "state": {"priority": 99, "status": "Inactive",
      "reason": "IN_PORTS: no port Ethernet99"}}]}}]}}
}`
