package capture

import (
	"encoding/binary"
	"time"
)

// The first four bytes of a pcap file, read as little-endian.
const (
	magicMicro        = 0xa1b2c3d4
	magicNano         = 0xa1b23c4d
	magicMicroSwapped = 0xd4c3b2a1
	magicNanoSwapped  = 0x4d3cb2a1
)

// pcap is the classic format (draft-ietf-opsawg-pcap).
type pcap struct {
	order binary.ByteOrder
	unit  time.Duration // unit of the fraction of a second
	below time.Duration // the fractions of a second
	fcs   int           // bytes of frame check sequence at each packet's end
	link  uint32
}

// newPcap reads the rest of the file header, after the magic number.
func newPcap(s *source, order binary.ByteOrder, unit time.Duration) (*pcap, error) {
	var head [20]byte
	if err := s.read(head[:], "pcap file header", false); err != nil {
		return nil, err
	}
	if major, minor := order.Uint16(head[0:]), order.Uint16(head[2:]); major != 2 || minor != 4 {
		return nil, s.fail(4, "pcap version %d.%d, want 2.4", major, minor)
	}
	// The low 16 bits are the link type. If bit 26 is set, the top 4 bits contain the length of the frame check
	// sequence in 16-bit words.
	link := order.Uint32(head[16:])
	if err := checkLinkType(s, 20, link&0xffff); err != nil {
		return nil, err
	}
	p := &pcap{order: order, unit: unit, below: time.Second / unit, link: link & 0xffff}
	if link&(1<<26) != 0 {
		p.fcs = int(link>>28) * 2
	}
	return p, nil
}

func (p *pcap) next(r *Reader, into *Packet) (err error) {
	at := r.src.offset
	head, err := r.src.take(16, "packet's header", true)
	if err != nil {
		return err
	}
	seconds, fraction := int64(p.order.Uint32(head)), time.Duration(p.order.Uint32(head[4:]))
	if fraction >= p.below {
		return r.src.fail(at+4, "fraction of a second %d, want below %d", fraction, p.below)
	}
	into.Time = time.Unix(seconds, int64(fraction*p.unit)).UTC()
	into.Data, into.Len, err = r.data(at+8, p.link, p.order.Uint32(head[8:]), p.order.Uint32(head[12:]), p.fcs)
	return err
}
