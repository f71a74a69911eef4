package collector

import (
	"fmt"
	"net/netip"
	"time"

	"tamtam/tam/record"
	"tamtam/tam/recordplan"
)

// A RecordedPacket is a mirrored frame with a record of table recording at its end.
type RecordedPacket struct {
	record.Record
	// Exporter is the source of the tunnel.
	Exporter netip.Addr
	// Encapsulation is "udp" or "erspan".
	Encapsulation string
	// Frame is what the mirror session kept of the recorded frame. It shares memory
	// with the mirrored one.
	Frame []byte
}

// FindRecord looks for a record at the end of what a mirrored frame carries: in UDP to any port, or
// in GRE as ERSPAN of type I, II or III, over IPv4 or IPv6 behind any VLAN tags. Frame is without
// FCS; padding behind the IP packet is ignored.
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

// read splits the record off what a tunnel carries.
func (p RecordedPacket) read(payload []byte) (RecordedPacket, bool) {
	r, frame, err := record.Decode(payload)
	if err != nil {
		return RecordedPacket{}, false
	}
	p.Record, p.Frame = r, frame
	return p, true
}

// Latency is how long the packet was in the switch: from its arrival until the record
// was taken. It is false if the times cannot be compared.
func (p *RecordedPacket) Latency() (time.Duration, bool) {
	const most = 1 << 32 // seconds
	in, at := p.In, p.At
	if p.ClockSet || in == (record.Time{}) || at == (record.Time{}) ||
		max(in.Seconds, at.Seconds)-min(in.Seconds, at.Seconds) >= most {
		return 0, false
	}
	seconds := int64(at.Seconds) - int64(in.Seconds)
	return time.Duration(seconds*1e9 + int64(at.Nanoseconds) - int64(in.Nanoseconds)), true
}

// Flow is the five-tuple of the recorded packet. It is false for what is not IP, or is
// cut before the addresses.
func (p *RecordedPacket) Flow() (Flow, bool) { return ParseFlow(p.Frame) }

// A DecodedPacket is a recorded packet with what its record says.
type DecodedPacket struct {
	RecordedPacket
	Answer recordplan.Answer
	// New: the first with this path, or set of paths, but for those of [Records.Know].
	New bool
	// Found are the identities of entries that the packet hit, and of its queue; nil: its session asked for none, or
	// they are not as they ought to be.
	Found []record.Identity
	told  recordplan.Told
	names map[string]string // of labels that are not names
	trap  string            // that took it, or wanted the CPU to have it; "": none, or it is not known
}

// Fate says what became of the packet: the port that it left at, "CPU", or "dropped: REASON"; the latter with the trap
// that it was for in parentheses, if the record has one.
func (p *DecodedPacket) Fate() string {
	switch {
	case p.Why != 0:
		return "dropped: " + p.reason()
	case p.told.End == record.EndCPU:
		return "CPU" + inParentheses(p.trap)
	case p.OutPort == record.NoPort:
		return fmt.Sprintf("port of lane %d", p.OutLane)
	}
	return portName(p.OutPort, "CPU")
}

// reason is why the packet was dropped.
func (p *DecodedPacket) reason() string { return p.told.End + inParentheses(p.trap) }

func inParentheses(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}

// Path writes the path, or how many there may be and the likeliest.
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
