package event

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"tamtam/collector"
	"tamtam/collector/journey"
	"tamtam/tam/record"
)

// MaxKey is the maximum length of the key of a recorded packet: that of IPv6 over UDP has 62 bytes.
const MaxKey = 255

// Flags of a recorded packet.
const (
	recordFlow  = 1 << iota // the record has a flow
	recordLater             // the flow is that of a fragment other than the first
	recordTTL
	recordFlags = recordFlow | recordLater | recordTTL
)

// AddRecord adds a copy of a record with its capture time. It returns false if the batch is full. The encoding is
//
//	1   flags: 1 it has a flow, 2 of a later fragment, 4 a TTL
//	1   TTL
//	1   classes that do not contain it, see record.NotOf
//	1   length of an address: 0, 4, 16
//	    source, destination
//	5   protocol, source port, destination port
//	1   length of the key
//	    the key
//	    the record as it came, except for unused flags
func (w *Writer) AddRecord(time int64, c *collector.RecordCopy) (bool, error) {
	if err := checkRecord(c); err != nil {
		return false, err
	}
	flags, ttl := byte(0), byte(0)
	if c.IsFlow {
		flags |= recordFlow
	}
	if c.Flow.LaterFragment {
		flags |= recordLater
	}
	if c.TTL >= 0 {
		flags |= recordTTL
		ttl = byte(c.TTL)
	}
	var addresses []byte
	if c.IsFlow {
		addresses = append(c.Flow.Source.AsSlice(), c.Flow.Destination.AsSlice()...)
	}
	data := append([]byte{flags, ttl, byte(c.Not), byte(len(addresses) / 2)}, addresses...)
	data = append(data, c.Flow.Protocol)
	data = binary.BigEndian.AppendUint16(data, c.Flow.SourcePort)
	data = binary.BigEndian.AppendUint16(data, c.Flow.DestPort)
	data = append(data, byte(len(c.Key)))
	data = append(data, c.Key...)
	return w.Add(time, c.Append(data))
}

// checkRecord returns an error if a copy cannot be encoded.
func checkRecord(c *collector.RecordCopy) error {
	switch f := &c.Flow; {
	case c.Key == "" || len(c.Key) > MaxKey:
		return fmt.Errorf("a record of a packet with a key of %d bytes: want 1 to %d", len(c.Key), MaxKey)
	case c.TTL < -1 || c.TTL > 255:
		return fmt.Errorf("a record of a packet with TTL %d: want 0 to 255, or -1 for none", c.TTL)
	case !c.IsFlow && *f != (collector.Flow{}):
		return fmt.Errorf("a record of a packet that is no flow, with flow %s: want none", f)
	case c.IsFlow && (!f.Source.IsValid() || f.Source.BitLen() != f.Destination.BitLen() || f.Source.Zone() != "" ||
		f.Destination.Zone() != ""):
		return fmt.Errorf("a record of a packet from %s to %s: want addresses of one kind", f.Source, f.Destination)
	}
	return nil
}

// ReadRecord reads an event of a batch of Records. Bits and identities share the event's memory.
func ReadRecord(b Blob) (collector.RecordCopy, error) {
	d := decoder{b: b.Data}
	c := collector.RecordCopy{TTL: -1}
	head := d.bytes(4)
	if d.bad || head[0]&^recordFlags != 0 || head[0]&recordTTL == 0 && head[1] != 0 {
		return collector.RecordCopy{}, fmt.Errorf("a record's event begins with %x: want flags, TTL, classes and a length",
			head)
	}
	c.IsFlow, c.Flow.LaterFragment, c.Not = head[0]&recordFlow != 0, head[0]&recordLater != 0, record.Classes(head[2])
	if head[0]&recordTTL != 0 {
		c.TTL = int(head[1])
	}
	from, to := d.bytes(uint64(head[3])), d.bytes(uint64(head[3]))
	if head[3] != 0 {
		var ok, alsoOK bool
		c.Flow.Source, ok = netip.AddrFromSlice(from)
		c.Flow.Destination, alsoOK = netip.AddrFromSlice(to)
		if !ok || !alsoOK {
			return collector.RecordCopy{}, fmt.Errorf("a record's event with addresses of %d bytes: want 0, 4 or 16", head[3])
		}
	}
	ports := d.bytes(6)
	if d.bad {
		return collector.RecordCopy{}, errors.New("a record's event ends before the key")
	}
	c.Flow.Protocol = ports[0]
	c.Flow.SourcePort, c.Flow.DestPort = binary.BigEndian.Uint16(ports[1:]), binary.BigEndian.Uint16(ports[3:])
	c.Key = journey.Key(d.bytes(uint64(ports[5])))
	r, rest, err := record.Decode(d.b)
	if err != nil {
		return collector.RecordCopy{}, fmt.Errorf("a record's event: %w", err)
	}
	if len(rest) > 0 {
		return collector.RecordCopy{}, fmt.Errorf("a record's event has %d bytes before the record", len(rest))
	}
	c.Record = r
	return c, checkRecord(&c)
}
