package devicetest

import (
	"bytes"
	"net"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"tamtam/collector/capture"
	"tamtam/device"
	"tamtam/saisim"
)

// MacA and MacB are the source and destination addresses of frames from Ethernet.
var (
	MacA = net.HardwareAddr{2, 0, 0, 0, 0, 1}
	MacB = net.HardwareAddr{2, 0, 0, 0, 0, 2}
)

// Frame returns a frame of these layers, with lengths.
func Frame(t testing.TB, ls ...gopacket.SerializableLayer) []byte {
	t.Helper()
	buf := gopacket.NewSerializeBuffer()
	for _, l := range ls {
		switch l := l.(type) {
		case *layers.TCP:
			l.DataOffset = 5
		case *layers.UDP:
			l.Length = 8
		}
	}
	NoError(t, gopacket.SerializeLayers(buf, gopacket.SerializeOptions{FixLengths: true}, ls...))
	return bytes.Clone(buf.Bytes())
}

// Ethernet returns the header of a frame from MacA to MacB.
func Ethernet(typ layers.EthernetType) *layers.Ethernet {
	return &layers.Ethernet{SrcMAC: MacA, DstMAC: MacB, EthernetType: typ}
}

// IPv4 returns a header of IPv4 from 192.0.2.1 to 192.0.2.2.
func IPv4(p layers.IPProtocol) *layers.IPv4 {
	return &layers.IPv4{Version: 4, TTL: 64, Protocol: p, SrcIP: net.IP{192, 0, 2, 1}, DstIP: net.IP{192, 0, 2, 2}}
}

// IPv4Frame returns a frame with an IPv4 header of this protocol, followed by the given layers.
func IPv4Frame(t testing.TB, p layers.IPProtocol, behind ...gopacket.SerializableLayer) []byte {
	t.Helper()
	return Frame(t, append([]gopacket.SerializableLayer{Ethernet(layers.EthernetTypeIPv4), IPv4(p)}, behind...)...)
}

// Payload returns n bytes.
func Payload(n int) gopacket.Payload { return bytes.Repeat([]byte{0xab}, n) }

// A Packet is a packet of a capture.
type Packet struct {
	At     time.Time
	Data   []byte
	Length int // length on the wire in bytes
}

// PacketAt returns a packet that is captured completely.
func PacketAt(at time.Time, data []byte) Packet { return Packet{At: at, Data: data, Length: len(data)} }

// Inputs returns the inputs of ports, from pairs of a port's name and the path of a capture.
func Inputs(portsAndPaths ...string) (list []device.Input) {
	for i := 0; i < len(portsAndPaths); i += 2 {
		list = append(list, device.Input{Port: portsAndPaths[i], Path: portsAndPaths[i+1]})
	}
	return list
}

// WriteCapture writes a capture.
func WriteCapture(t *testing.T, path string, packets ...Packet) {
	t.Helper()
	w, err := capture.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range packets {
		NoError(t, w.Write(p.At, p.Data, p.Length))
	}
	NoError(t, w.Close())
}

// A SentFrame is a frame with the port by which it leaves or enters the chip.
type SentFrame struct {
	Port saisim.PortID
	Data []byte
}

// RouterMAC is the MAC address of the switches.
var RouterMAC = net.HardwareAddr{2, 0, 0, 0, 7, 0xe4}

// HostMAC returns the MAC address of host n.
func HostMAC(n byte) net.HardwareAddr { return net.HardwareAddr{2, 0, 0, 0, 0, n} }
