package device_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"tamtam/collector"
	"tamtam/internal/racetest"
	"tamtam/saisim/profile"
	"tamtam/swss"
	"tamtam/tam/ifa"
	"tamtam/tam/ipfix"
	"tamtam/tamtamtest"
)

// An analyst is a switch on a path of IFA: frames enter at Ethernet0 and leave by Ethernet2. The collector is at
// Ethernet1.
type analyst struct {
	*testing.T
	*tamtamtest.Switch
}

// newAnalyst returns a switch with a flow group FG1 of UDP.
func newAnalyst(t *testing.T, device string) *analyst {
	t.Helper()
	racetest.Stepped(t)
	a := &analyst{t, tamtamtest.StartOn(t, profile.Small(), dropsConfig)}
	a.Set("TAM|device", "device-id", device)
	a.Set("TAM_FLOW_GROUP|FG1", "aging_interval", "1000")
	a.Set("TAM_FLOW_GROUP|FG1|RULE1", "src_ip_prefix", "10.1.1.0/24", "dst_ip_prefix", "20.2.2.0/24", "ip_protocol", "17")
	return a
}

// through sends a frame through the switch and returns the frame that leaves.
func (a *analyst) through(frame []byte) []byte {
	a.Helper()
	f := bytes.Clone(frame)
	copy(f, []byte{2, 0, 0, 0, 7, 0xe4}) // MAC address of the router
	a.Send("Ethernet0", f)
	a.Advance(time.Millisecond)
	left := a.Left("Ethernet2")
	if len(left) != 1 {
		a.Fatalf("%d frames left, want one", len(left))
	}
	return left[0]
}

// counted checks fields of a row of COUNTERS_DB.
func (a *analyst) counted(row, want string) {
	a.Helper()
	a.Poll()
	got := a.Row(swss.CountersDB, row)
	fields := ""
	for _, f := range []string{"MATCHED", "UNSAMPLED", "ALREADY", "ABSENT", "INSERTED", "STRIPPED", "CUT", "UNSUPPORTED",
		"HOP_LIMIT", "MAX_LENGTH", "MTU", "REPORTED", "MESSAGES", "UNSENDABLE", "LOST"} {
		if v := got[f]; v != "" && v != "0" {
			fields += fmt.Sprintf("%s %s ", f, v)
		}
	}
	if fields != want {
		a.Errorf("%s: %q, want %q", row, fields, want)
	}
}

// wantStatus checks the status and reason of a session.
func (a *analyst) wantStatus(session, status, reason string) {
	a.Helper()
	row := a.Row(swss.StateDB, "TAM_IFA_SESSION_TABLE|"+session)
	if row["status"] != status || row["reason"] != reason {
		a.Errorf("%s: %s %q, want %s %q", session, row["status"], row["reason"], status, reason)
	}
}

func udpFrameFor(dst byte, size int) []byte {
	f := append([]byte{
		2, 0, 0, 0, 7, 0xe4, 2, 0, 0, 0, 0, 0x11, 8, 0,
		0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0, 10, 1, 1, 7, 20, 2, 2, dst, 3, 232, 7, 208, 0, 0, 0, 0,
	}, bytes.Repeat([]byte{'x'}, size)...)
	ip := f[14:]
	n := len(ip)
	ip[2], ip[3] = byte(n>>8), byte(n)
	ip[24], ip[25] = byte((n-20)>>8), byte(n-20)
	sum := 0
	for i := 0; i < 20; i += 2 {
		sum += int(ip[i])<<8 | int(ip[i+1])
	}
	sum = sum&0xffff + sum>>16
	sum = ^(sum&0xffff + sum>>16)
	ip[10], ip[11] = byte(sum>>8), byte(sum)
	return f
}

// Three switches have a session of each role. The initiator samples, each switch on the path adds a hop, and the
// terminator removes all IFA data and reports it over IPFIX to its own collector. All counters are exact.
func TestIFASessions(t *testing.T) {
	begin, middle, end := newAnalyst(t, "1"), newAnalyst(t, "2"), newAnalyst(t, "3")
	begin.Set("TAM_SAMPLINGRATE_TABLE|third", "sampling-rate", "3")
	begin.Set("TAM_SESSION|begin", "type", "ifa", "role", "initiator", "flow_group@", "FG1", "sampler", "third",
		"hop_limit", "9", "max_length", "64")
	middle.Set("TAM_SESSION|middle", "type", "ifa", "role", "transit")
	end.Set("TAM_COLLECTOR|C1", "src_ip", "11.22.33.44", "dst_ip", "10.20.30.40", "dst_port", "10000")
	end.Set("TAM_SESSION|end", "type", "ifa", "role", "terminator", "flow_group", "FG1", "collector@", "C1")
	begin.wantStatus("begin", "active", "")
	middle.wantStatus("middle", "active", "")
	end.wantStatus("end", "active", "")
	plain := udpFrameFor(8, 80)
	for i := range 6 {
		in := begin.through(plain)
		p, err := ifa.Decode(in[14:])
		if i%3 != 0 {
			if err == nil {
				t.Errorf("packet %d was sampled", i)
			}
			continue
		}
		if err != nil || len(p.Hops) != 1 || p.Hops[0].Device != 1 || p.HopLimit != 9 || p.Header.MaxLength != 64 {
			t.Fatalf("packet %d: %+v %v", i, p, err)
		}
		out := end.through(middle.through(in))
		if _, err := ifa.Decode(out[14:]); err == nil || len(out) != len(plain) || !bytes.Equal(out[34:], plain[34:]) {
			t.Errorf("left as %x, want %x but for what routers change", out, plain)
		}
	}
	end.through(plain)
	d := ipfix.NewDecoder(0)
	frames := end.Left("Ethernet1")
	reports := reportsIn(t, d, frames)
	if len(reports) != 2 || d.Counts().Lost > 0 {
		t.Fatalf("%d reports, the decoder counts %+v", len(reports), d.Counts())
	}
	c := collector.NewIFA(10, 1<<20, true)
	read := 0
	for _, f := range frames {
		records := c.Add(f, time.Unix(0, 0), len(f))
		for i := range records {
			if records[i].SwitchID != uint32(i+1) {
				t.Errorf("hop %d is of switch %d", i, records[i].SwitchID)
			}
		}
		read += len(records)
	}
	if read != 2*3 {
		t.Errorf("the collector has read %d hops, want 3 of 2 packets", read)
	}
	for _, r := range reports {
		if r.src != "11.22.33.44" || r.dst != "10.20.30.40" || r.domain != 3 || r.values["ingressInterface"] != "1" ||
			r.values["egressInterface"] != "3" {
			t.Errorf("report %+v", r)
		}
	}
	begin.counted("TAM_IFA_COUNTERS:begin", "MATCHED 6 UNSAMPLED 4 INSERTED 2 ")
	middle.counted("TAM_IFA_COUNTERS:middle", "INSERTED 2 ")
	middle.counted("TAM_IFA_TRANSIT_COUNTERS:device", "INSERTED 2 ")
	end.counted("TAM_IFA_COUNTERS:end", "MATCHED 3 ABSENT 1 STRIPPED 2 REPORTED 2 MESSAGES 2 ")
	for _, a := range []*analyst{begin, middle, end} {
		for _, p := range a.Problems() {
			t.Error(p)
		}
	}
}

// A terminator continues to strip IFA headers but is not active if nothing sends its reports. Its collector is in VRF
// mgmt, and no host is attached to the CPU port.
func TestIFAReportsWithoutSender(t *testing.T) {
	begin, end := newAnalyst(t, "1"), newAnalyst(t, "3")
	begin.Set("TAM_SESSION|begin", "type", "ifa", "role", "initiator", "flow_group", "FG1")
	end.Set("TAM_COLLECTOR|C1", "dst_ip", "10.20.30.40", "dst_port", "10000", "vrf", "mgmt")
	end.Set("TAM_SESSION|end", "type", "ifa", "role", "terminator", "flow_group", "FG1", "collector", "C1")
	end.wantStatus("end", "active", "")
	for range 3 {
		end.through(begin.through(udpFrameFor(8, 80)))
	}
	for range 5 {
		end.Advance(time.Second)
		end.Poll()
	}
	end.wantStatus("end", "pending",
		`collector "C1": the host does not send its reports: hostd or hostifd is to have the switch's CPU port`)
	end.through(begin.through(udpFrameFor(8, 80)))
	end.counted("TAM_IFA_COUNTERS:end", "MATCHED 4 STRIPPED 4 REPORTED 4 MESSAGES 4 ")
}

// A session is added and removed by the shell, and the shell shows its state.
func TestIFAByShell(t *testing.T) {
	a := newAnalyst(t, "7")
	a.CLI("configure terminal", "tam", "ifa", "session edge role initiator flow-group FG1 hop-limit 4")
	a.wantStatus("edge", "active", "")
	a.through(udpFrameFor(8, 40))
	a.Poll()
	for _, line := range []string{"show tam ifa", "show tam ifa sessions edge", "show tam ifa counters",
		"show running-configuration"} {
		t.Log(a.CLI(line))
	}
}
