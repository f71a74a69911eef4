package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"tamtam/device"
	"tamtam/internal/netns/netnstest"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// hopOf is a hop in a report of collect ifa.
type hopOf struct {
	Switch  uint32 `json:"switch_id"`
	InPort  string `json:"in_port"`
	OutPort string `json:"out_port"`
	Latency struct {
		Count int64
		Min   int64 `json:"min_ns"`
	}
}

// A live switch is the IFA initiator for UDP. The command reads the inserted data from frames that leave the switch,
// and from their ERSPAN copies. Frames of other flows, which the switch does not change, are counted as frames without
// IFA.
func TestCollectIFA(t *testing.T) {
	if !netnstest.Own(t) {
		return
	}
	veths(t, [2]string{"eth1", "wire"}, [2]string{"eth2", "tap"})
	f := startUp(t, ifaConfig(), "--port", "Ethernet0=eth1", "--port", "Ethernet4=eth2")
	for _, port := range []string{"Ethernet0", "Ethernet4"} {
		f.wait(t, schema.StatePort, port, portUp)
	}
	f.wait(t, schema.StateTAMIFA, "in", active)

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, write := io.Pipe()
	var errOut bytes.Buffer
	done := make(chan int, 1)
	go func() {
		done <- run(ctx, []string{"collect", "ifa", "tap", "--every", "100ms", "--format", "json"}, strings.NewReader(""),
			write, &errOut)
		write.Close()
	}()
	frame := func(protocol, port byte) []byte {
		return append([]byte("\x02\x00\x00\x00\xaa\x02\x02\x00\x00\x00\xaa\x01\x08\x00\x45\x00\x00\x2e\x00\x00\x00\x00\x40"+
			string([]byte{protocol})+"\x00\x00\xc0\x00\x02\x01\xc0\x00\x02\x02\x03\xe8\x00"+string([]byte{port})+
			"\x00\x1a\x00\x00"), make([]byte, 18)...)
	}
	udp := frame(17, 80)
	sum := uint32(0) // checksum of the IP header
	for i := 14; i < 34; i += 2 {
		sum += uint32(binary.BigEndian.Uint16(udp[i:]))
	}
	binary.BigEndian.PutUint16(udp[24:], ^uint16(sum+sum>>16))
	icmp := frame(1, 0)
	binary.BigEndian.PutUint16(icmp[24:], binary.BigEndian.Uint16(udp[24:])+16)

	wire, tap, eth2 := openHost(t, "wire"), openHost(t, "tap"), openHost(t, "eth2")
	reports := json.NewDecoder(out)
	plain, hops, mirrored, without, sent := int64(0), int64(0), int64(0), int64(0), int64(0)
	// The packets are sent again until they are read, since the interface may not be open yet.
	for plain == 0 || mirrored == 0 || without == 0 {
		wire.send(udp)
		wire.send(icmp)
		sent++
		got := tap.receive()
		for got[23] != 253 { // IFA
			got = tap.receive()
		}
		copied := append(
			[]byte("\x02\x00\x00\x00\x00\x02\x02\x00\x00\x00\x00\x01\x08\x00\x45\x00\x00\x00\x00\x00\x00\x00\x40\x2f\x00\x00"+
				"\x0a\x00\x00\x01\x0a\x00\x00\x02\x00\x00\x88\xbe"), got...)
		binary.BigEndian.PutUint16(copied[16:], uint16(len(copied)-14))
		eth2.send(copied)
		var report struct {
			Stamped, Mirrored int64
			Without           int64 `json:"without_record"`
			Flows             []struct {
				Protocol, Source, Destination string
				Paths                         []struct {
					Frames int64
					Hops   []hopOf
				}
			}
		}
		if err := reports.Decode(&report); err != nil {
			t.Fatal(err, len(done), errOut.String())
		}
		mirrored, without = mirrored+report.Mirrored, without+report.Without
		plain += report.Stamped - report.Mirrored
		for _, flow := range report.Flows {
			if flow.Protocol != "UDP" || flow.Source != "192.0.2.1" || flow.Destination != "192.0.2.2" || len(flow.Paths) != 1 {
				t.Fatalf("%+v", flow)
			}
			h := flow.Paths[0].Hops
			if len(h) != 1 || h[0].Switch != 4711 || h[0].InPort != "Ethernet0" || h[0].OutPort != "Ethernet4" ||
				h[0].Latency.Min <= 0 {
				t.Fatalf("hops %+v, want one of switch 4711 from Ethernet0 to Ethernet4", h)
			}
			hops += h[0].Latency.Count
		}
	}
	cancel()
	if err := reports.Decode(&struct{}{}); err != nil && !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	go io.Copy(io.Discard, out) //nolint:errcheck // what is left
	if code := <-done; code != 0 || errOut.Len() > 0 {
		t.Errorf("exit %d, %s", code, errOut.String())
	}
	if hops != plain+mirrored || hops > 2*sent {
		t.Errorf("%d hops of %d frames and %d mirrored ones, of %d that were sent", hops, plain, mirrored, sent)
	}
}

// ifaConfig returns a configuration with two ports in a VLAN, and an initiator for UDP from 192.0.2.1.
func ifaConfig() device.ConfigDB {
	c := liveTrafficConfig()
	for _, table := range []string{schema.CfgTAMFeature, schema.CfgTAMFlowGroup, schema.CfgTAMTailStamp,
		schema.CfgACLRule} {
		delete(c, table)
	}
	delete(c[schema.CfgPort], "Ethernet8")
	delete(c[schema.CfgVLANMember], "Vlan10|Ethernet8")
	c[schema.CfgTAMDevice] = map[string]swss.FieldValues{schema.TAMDeviceKey: {"device-id": "4711"}}
	c[schema.CfgTAMGroup] = map[string]swss.FieldValues{
		"FG": {}, "FG|R": {"src_ip_prefix": "192.0.2.1/32", "dst_ip_prefix": "192.0.2.0/24", "ip_protocol": "17"},
	}
	c[schema.CfgTAMSession] = map[string]swss.FieldValues{"in": {"type": "ifa", "role": "initiator", "flow_group": "FG"}}
	return c
}
