package collector

import (
	"fmt"
	"strings"

	"tamtam/collector/journey"
	"tamtam/tam/record"
)

// A RecordCopy is a recorded packet without its frame, but with the fields of the frame that [JourneyReader] needs.
type RecordCopy struct {
	record.Record
	Key journey.Key
	// Flow is the five-tuple of the packet if IsFlow is true. It is false if the packet is not IP, or is truncated
	// before the addresses.
	Flow   Flow
	IsFlow bool
	TTL    int            // TTL or hop limit, or -1 if it has none
	Not    record.Classes // classes that the packet does not have, see [record.NotOf]
}

// CopyOf returns the copy of a recorded packet. It returns false if its frame is too short for a key.
func CopyOf(p *RecordedPacket) (RecordCopy, bool) {
	key, whole := journey.KeyOf(p.Frame, int(p.Length))
	c := RecordCopy{Record: p.Record, Key: key, TTL: ttlOf(p.Frame), Not: record.NotOf(p.Frame)}
	c.Flow, c.IsFlow = p.Flow()
	return c, whole
}

// FindRecordIn looks for a record at the end of a UDP payload.
func FindRecordIn(payload []byte) (RecordedPacket, bool) {
	return RecordedPacket{Encapsulation: "udp"}.read(payload)
}

// A JourneyReader converts records for [journey.Join].
type JourneyReader struct {
	records  *Records          // nil if there are no plans
	switches map[uint32]string // names by switch id
}

// NewJourneyReader returns a reader with the plans of the records, and the names of switches by switch id.
func NewJourneyReader(plans []*record.Plan, switches map[uint32]string) (*JourneyReader, error) {
	j := &JourneyReader{switches: switches}
	if len(plans) == 0 {
		return j, nil
	}
	var err error
	j.records, err = NewRecords(plans...)
	return j, err
}

// Name returns the name of a switch, or "" if it is unknown.
func (j *JourneyReader) Name(id uint32) string { return j.switches[id] }

// Timed reports whether the times of a record are possible.
func Timed(r *record.Record) bool {
	return max(r.In.Seconds, r.At.Seconds) < latestSecond && r.In != (record.Time{}) && r.At != (record.Time{})
}

// Record converts a copy for the join. The switch must have a name, and the times must be [Timed].
func (j *JourneyReader) Record(c *RecordCopy) journey.Record {
	r := journey.Record{
		Key: c.Key, Flow: c.flowText(), Switch: j.switches[c.Switch], In: portName(c.InPort, ""), Arrived: sinceEpoch(c.In),
		Left: sinceEpoch(c.At), TTL: c.TTL, ClockSuspect: c.Unsynchronised || c.ClockSet, Ended: endOf(&c.Record),
	}
	var d DecodedPacket
	known := false
	if j.records != nil {
		d, known = j.records.decode(RecordedPacket{Record: c.Record}, c.Not)
	}
	switch {
	case r.Ended == 0:
		r.Out = portName(c.OutPort, "")
	case known:
		r.End = d.Fate()
	case r.Ended == journey.AtCPU:
		r.End = "CPU"
	default:
		r.End = fmt.Sprintf("dropped: reason %d", c.Why)
	}
	if r.Known = known; known {
		r.Path = d.Path()
	} else {
		r.Path = fmt.Sprintf("tables are not known: there is no plan %d", c.Plan)
	}
	for _, x := range d.identities() {
		r.Notes = append(r.Notes, strings.ReplaceAll(x.Kind, "_", " ")+" "+x.Is)
	}
	return r
}

func (c *RecordCopy) flowText() string {
	if !c.IsFlow {
		return "not IP"
	}
	return c.Flow.String()
}

// endOf returns the end of a packet in the switch, or 0 if it left.
func endOf(r *record.Record) journey.Ended {
	switch {
	case r.Why != 0:
		return journey.DroppedFor(r.Why)
	case r.OutPort == record.NoPort:
		return journey.AtCPU
	}
	return 0
}
