#!/usr/bin/env python3
"""vlan-tap.py PORT NAME VLAN: a VLAN interface for kernels that have none.

Makes the TAP interface NAME; what is sent on it leaves on PORT with the tag of VLAN, and
what PORT receives with that tag comes in on it without. Only for record-demo.sh.
"""
import fcntl
import os
import select
import socket
import struct
import sys

TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 0x2, 0x1000
SOL_PACKET, PACKET_AUXDATA, ETH_P_ALL = 263, 8, 3
VLAN_VALID, OUTGOING = 1 << 4, 4

port, name, vlan = sys.argv[1], sys.argv[2], int(sys.argv[3])

tap = os.open("/dev/net/tun", os.O_RDWR)
fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH", name.encode(), IFF_TAP | IFF_NO_PI))
raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
raw.bind((port, 0))
raw.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)

while True:
    ready, _, _ = select.select([tap, raw], [], [])
    if tap in ready:
        frame = os.read(tap, 2048)
        raw.send(frame[:12] + struct.pack("!HH", 0x8100, vlan) + frame[12:])
    if raw in ready:
        # The kernel hands a received tag over beside the frame.
        frame, extra, _, address = raw.recvmsg(2048, socket.CMSG_SPACE(20))
        if address[2] == OUTGOING or not extra:
            continue
        status, _, _, _, _, tci, _ = struct.unpack("IIIHHHH", extra[0][2][:20])
        if status & VLAN_VALID and tci & 0xFFF == vlan:
            os.write(tap, frame)
