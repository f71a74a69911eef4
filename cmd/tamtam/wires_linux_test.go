package main

import (
	"bytes"
	"encoding/binary"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tamtam/device"
	"tamtam/internal/netns/netnstest"
	"tamtam/internal/racetest"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/swss/swsstest"
)

// Two hosts at veth pairs reach each other through a switch on live interfaces, with their tags and stamps. The links
// of the ports follow those of the interfaces, and an interface that is recreated is connected again.
func TestLiveInterfaces(t *testing.T) {
	racetest.Live(t)
	if !netnstest.Own(t) {
		return
	}
	veths(t, [2]string{"eth1", "host1"}, [2]string{"eth2", "host2"})
	s := startLiveSwitch(t)
	s.wait("Ethernet0", "up")
	s.wait("Ethernet4", "up")
	for _, member := range []string{"Vlan10|Ethernet0", "Vlan10|Ethernet4"} {
		s.fleet.wait(t, schema.StateVLANMember, member, active)
	}
	a, b := openHost(t, "host1"), openHost(t, "host2")

	// Untagged at one port, tagged at the other.
	plain := frame("\x02\x00\x00\x00\xaa\x02\x02\x00\x00\x00\xaa\x01\x08\x00hello")
	a.send(plain)
	if got, want := b.receive(), append(append(bytes.Clone(plain[:12]), 0x81, 0, 0, 10), plain[12:]...); !bytes.Equal(got,
		want) {
		t.Errorf("host2 got %x\nwant %x", got, want)
	}
	tagged := frame("\x02\x00\x00\x00\xaa\x01\x02\x00\x00\x00\xaa\x02\x81\x00\x00\x0a\x08\x00hello")
	b.send(tagged)
	if got, want := a.receive(), append(bytes.Clone(tagged[:12]), tagged[16:]...); !bytes.Equal(got, want) {
		t.Errorf("host1 got %x\nwant %x", got, want)
	}

	ip(t, "link set host1 down") // its peer eth1 loses the carrier
	s.wait("Ethernet0", "down")
	ip(t, "link set host1 up")
	s.wait("Ethernet0", "up")
	a = openHost(t, "host1") // the old socket still reports that the link was down

	ip(t, "link del eth2")
	s.wait("Ethernet4", "down")
	veths(t, [2]string{"eth2", "host2"})
	s.wait("Ethernet4", "up")
	b = openHost(t, "host2")
	a.send(plain)
	if got := b.receive(); len(got) != len(plain)+4 {
		t.Errorf("behind the new interface host2 got %x", got)
	}
}

// ip runs iproute2's command.
func ip(t *testing.T, args string) {
	t.Helper()
	if out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput(); err != nil {
		if bytes.Contains(out, []byte("Unknown device type")) || bytes.Contains(out, []byte("not supported")) {
			t.Skipf("ip %s: %s", args, out)
		}
		t.Fatalf("ip %s: %v: %s", args, err, out)
	}
}

// veths creates pairs of virtual interfaces, and sets them and the loopback up.
func veths(t *testing.T, pairs ...[2]string) {
	t.Helper()
	ip(t, "link set lo up")
	for _, pair := range pairs {
		ip(t, "link add "+pair[0]+" type veth peer name "+pair[1])
		ip(t, "link set "+pair[0]+" up")
		ip(t, "link set "+pair[1]+" up")
	}
}

// startUp starts a switch in one process with its configuration on a separate Redis. flags are additional flags.
func startUp(t *testing.T, config device.ConfigDB, flags ...string) *fleet {
	t.Helper()
	server := swsstest.StartServer(t)
	f := &fleet{redis: server.Open(), addr: server.Addr}
	if err := config.Load(t.Context(), f.redis); err != nil {
		t.Fatal(err)
	}
	startProcess(t, append([]string{"up", "--redis", server.Addr, "--gnmi", "127.0.0.1:0", "--data",
		filepath.Join(t.TempDir(), "data")}, flags...)...)
	return f
}

// portUp reports whether a port's link is up.
func portUp(row swss.FieldValues) bool { return row["oper_status"] == "up" }

// frame pads a frame to Ethernet's minimum length, so that no interface pads it.
func frame(s string) []byte {
	return append([]byte(s), make([]byte, max(0, 64-len(s)))...)
}

type liveSwitch struct {
	t *testing.T
	*fleet
}

func startLiveSwitch(t *testing.T) *liveSwitch {
	config := twoPorts("tagged")
	return &liveSwitch{t, startUp(t, config, "--port", "Ethernet0=eth1", "--port", "Ethernet4=eth2")}
}

// twoPorts returns a configuration of two ports in one VLAN, the second one with tags or without.
func twoPorts(mode string) device.ConfigDB {
	return device.ConfigDB{
		schema.CfgPort: {
			"Ethernet0": swss.FieldValues{"lanes": "1,2,3,4", "speed": "100000", "admin_status": "up"},
			"Ethernet4": swss.FieldValues{"lanes": "5,6,7,8", "speed": "100000", "admin_status": "up"},
		},
		schema.CfgVLAN: {"Vlan10": swss.FieldValues{"vlanid": "10"}},
		schema.CfgVLANMember: {
			"Vlan10|Ethernet0": swss.FieldValues{"tagging_mode": "untagged"},
			"Vlan10|Ethernet4": swss.FieldValues{"tagging_mode": mode},
		},
	}
}

// wait returns once the port has an operational status.
func (s *liveSwitch) wait(port, oper string) {
	s.t.Helper()
	s.fleet.wait(s.t, schema.StatePort, port, func(row swss.FieldValues) bool { return row["oper_status"] == oper })
}

// A host is a raw socket at the far end of a veth pair.
type host struct {
	t  *testing.T
	fd int
}

func openHost(t *testing.T, name string) *host {
	t.Helper()
	index := ifindex(t, name)
	const all = unix.ETH_P_ALL << 8
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, all)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	for _, err := range []error{
		unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: index}),
		unix.SetsockoptPacketMreq(fd, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP,
			&unix.PacketMreq{Ifindex: int32(index), Type: unix.PACKET_MR_PROMISC}),
		unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1),
		unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_AUXDATA, 1),
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: int64(time.Minute / time.Second)}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return &host{t, fd}
}

func ifindex(t *testing.T, name string) int {
	ask, err := unix.NewIfreq(name)
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFINDEX, ask); err != nil {
		t.Fatal(err)
	}
	return int(ask.Uint32())
}

func (h *host) send(b []byte) {
	h.t.Helper()
	if _, err := unix.Write(h.fd, b); err != nil {
		h.t.Fatal(err)
	}
}

// receive returns the next frame of the test, with its tag restored. Frames that the kernel sends of its own accord
// (neighbour discovery, multicast reports) are left out.
func (h *host) receive() []byte {
	h.t.Helper()
	buf, oob := make([]byte, 2048), make([]byte, 256)
	for {
		n, oobn, _, _, err := unix.Recvmsg(h.fd, buf, oob, 0)
		if err != nil {
			h.t.Fatalf("nothing came within a minute: %v", err)
		}
		if n < 14 || !bytes.Equal(buf[6:11], []byte{2, 0, 0, 0, 0xaa}) {
			continue
		}
		got := bytes.Clone(buf[:n])
		msgs, _ := unix.ParseSocketControlMessage(oob[:oobn])
		for _, m := range msgs {
			if m.Header.Type == unix.PACKET_AUXDATA && binary.NativeEndian.Uint32(m.Data)&unix.TP_STATUS_VLAN_VALID != 0 {
				tci := binary.NativeEndian.Uint16(m.Data[16:])
				got = append(append(bytes.Clone(buf[:12]), 0x81, 0, byte(tci>>8), byte(tci)), buf[12:n]...)
			}
		}
		return got
	}
}
