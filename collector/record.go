package collector

import (
	"fmt"
	"net/netip"
	"time"

	"tamtam/tam/record"
	"tamtam/tam/recordplan"
)

// A RecordedPacket is a mirrored frame with a table record at its end.
type RecordedPacket struct {
	record.Record
	// Exporter is the source address of the tunnel.
	Exporter netip.Addr
	// Encapsulation is "udp" or "erspan".
	Encapsulation string
	// Frame is the part of the recorded frame that the mirror session kept. It shares memory with the mirrored frame.
	Frame []byte
}

// FindRecord looks for a record at the end of a mirrored frame's payload. The tunnel is UDP to any port, or GRE as
// ERSPAN of type I, II or III, over IPv4 or IPv6 after any VLAN tags. The frame is without FCS. Padding after the IP
// packet is ignored.
func FindRecord(frame []byte) (RecordedPacket, bool) {
	d, ok := parseDatagram(frame)
	if !ok {
		return RecordedPacket{}, false
	}
	p := RecordedPacket{Exporter: d.from}
	var payload []byte
	if u, ok := d.udp(); ok {
		p.Encapsulation, payload = "udp", u.Payload
	} else if m, ok := d.erspan(); ok {
		p.Encapsulation, payload = "erspan", m.Frame
	} else {
		return RecordedPacket{}, false
	}
	return p.read(payload)
}

// read splits the record off the payload of a tunnel.
func (p RecordedPacket) read(payload []byte) (RecordedPacket, bool) {
	r, frame, err := record.Decode(payload)
	if err != nil {
		return RecordedPacket{}, false
	}
	p.Record, p.Frame = r, frame
	return p, true
}

// Latency returns the time from the packet's arrival in the switch until the record was made. It returns false if the
// times cannot be compared.
func (p *RecordedPacket) Latency() (time.Duration, bool) {
	const most = 1 << 32 // limit of the difference in seconds
	in, at := p.In, p.At
	if p.ClockSet || in == (record.Time{}) || at == (record.Time{}) ||
		max(in.Seconds, at.Seconds)-min(in.Seconds, at.Seconds) >= most {
		return 0, false
	}
	seconds := int64(at.Seconds) - int64(in.Seconds)
	return time.Duration(seconds*1e9 + int64(at.Nanoseconds) - int64(in.Nanoseconds)), true
}

// Flow returns the five-tuple of the recorded packet. It returns false if the packet is not IP, or is truncated before
// the addresses.
func (p *RecordedPacket) Flow() (Flow, bool) { return ParseFlow(p.Frame) }

// A DecodedPacket is a recorded packet with its decoded record.
type DecodedPacket struct {
	RecordedPacket
	Answer recordplan.Answer
	// New means that this is the first packet with this path, or set of paths, apart from those of [Records.Know].
	New bool
	// Found holds the identities of entries that the packet hit, and of its queue. Nil means that its session did not
	// record them, or that they are invalid.
	Found    []record.Identity
	reported recordplan.Knowledge
	names    map[string]string // names of ACL rules by their labels
	trap     string            // trap of the packet, or "" if there is none or it is unknown
}

// Fate returns the packet's fate: its egress port, "CPU", or "dropped: REASON". "CPU" and the reason are followed by
// the trap in parentheses, if the record has one.
func (p *DecodedPacket) Fate() string {
	switch {
	case p.Why != 0:
		return "dropped: " + p.reason()
	case p.reported.End == record.EndCPU:
		return "CPU" + inParentheses(p.trap)
	case p.OutPort == record.NoPort:
		return fmt.Sprintf("port of lane %d", p.OutLane)
	}
	return portName(p.OutPort, "CPU")
}

// reason returns the reason why the packet was dropped.
func (p *DecodedPacket) reason() string { return p.reported.End + inParentheses(p.trap) }

func inParentheses(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}

// Path returns the path, or the number of possible paths and the likeliest one.
func (p *DecodedPacket) Path() string { return pathText(&p.Answer) }

func pathText(a *recordplan.Answer) string {
	switch {
	case a.Impossible:
		return "impossible: " + a.Why
	case a.Exact:
		return a.Paths[0].String()
	}
	return fmt.Sprintf("one of %s, with %.3g %s", a.Total, a.Paths[0].P, a.Paths[0].String())
}
