package sketching

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"

	"tamtam/collector/capture"
	"tamtam/tam/flymon"
)

// maxCaptureFlows is the maximum number of flows of a capture.
const maxCaptureFlows = 8_000_000

// A replayed returns the IP packets of a capture, in the order of their times.
type replayed struct {
	path    string
	reader  *capture.Reader
	sorted  *capture.Sorted
	index   map[flymon.Vector]int32
	vectors []flymon.Vector
}

func openReplayed(path string) (*replayed, error) {
	reader, err := capture.Open(path)
	if err != nil {
		return nil, err
	}
	return &replayed{path: path, reader: reader, sorted: capture.NewSorted(reader), index: map[flymon.Vector]int32{}}, nil
}

func (r *replayed) keys() []flymon.Vector { return r.vectors }

func (r *replayed) next(p *sighting) (bool, error) {
	for {
		packet, err := r.sorted.Next()
		if errors.Is(err, io.EOF) {
			return false, r.reader.Close()
		}
		if err != nil {
			return false, fmt.Errorf("%s: %w", r.path, err)
		}
		v, ok := fiveTuple(packet.Data)
		if !ok {
			continue
		}
		i, known := r.index[v]
		if !known {
			if len(r.vectors) == maxCaptureFlows {
				return false, fmt.Errorf("%s: packet %d: more than %d flows, which is the limit", r.path, packet.Number,
					maxCaptureFlows)
			}
			i = int32(len(r.vectors))
			r.index[v] = i
			r.vectors = append(r.vectors, v)
		}
		*p = sighting{flow: i, at: uint64(packet.Time.UnixNano()), size: uint32(packet.Len + fcsLen)}
		return true, nil
	}
}

// fiveTuple reads addresses, protocol and ports of a frame. It returns false if the frame is not IP. Fragments after
// the first have no ports, nor have protocols other than TCP, UDP and SCTP. Ports after extension headers of IPv6 are
// not read.
func fiveTuple(frame []byte) (flymon.Vector, bool) {
	if len(frame) < 14 {
		return flymon.Vector{}, false
	}
	kind, b := binary.BigEndian.Uint16(frame[12:]), frame[14:]
	for range 2 { // tags
		if (kind == 0x8100 || kind == 0x88a8) && len(b) >= 4 {
			kind, b = binary.BigEndian.Uint16(b[2:]), b[4:]
		}
	}
	var src, dst netip.Addr
	var protocol byte
	first := true
	switch {
	case kind == 0x0800 && len(b) >= 20 && b[0]>>4 == 4:
		header := 4 * int(b[0]&15)
		if header < 20 || header > len(b) {
			return flymon.Vector{}, false
		}
		src, dst, protocol = netip.AddrFrom4([4]byte(b[12:])), netip.AddrFrom4([4]byte(b[16:])), b[9]
		first = binary.BigEndian.Uint16(b[6:])&0x1fff == 0
		b = b[header:]
	case kind == 0x86dd && len(b) >= 40 && b[0]>>4 == 6:
		src, dst, protocol = netip.AddrFrom16([16]byte(b[8:])), netip.AddrFrom16([16]byte(b[24:])), b[6]
		b = b[40:]
	default:
		return flymon.Vector{}, false
	}
	var sport, dport uint16
	if first && (protocol == protocolTCP || protocol == protocolUDP || protocol == 132) && len(b) >= 4 {
		sport, dport = binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
	}
	return flymon.Make(src, dst, sport, dport, protocol, 0), true
}
