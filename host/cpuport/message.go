package cpuport

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"time"
)

// Version is the version of the messages on the socket.
const Version = 1

// A message is one packet of the socket (SOCK_SEQPACKET). Its first byte is its kind. Numbers are in network byte
// order, and a name is its length in one byte and then its bytes.
//
//	hello    both    version(1) name                 client first, with its name; in the answer it is ""
//	punted   client  time(8) vlan(2) length(4) port trap data
//	sampled  client  as punted, with rate(4) flags(1) pool(8) lost(8) copies(2) out-vlan(2) queue(1) depth(4) out why
//	                 in front of data; flags are 1: egress, 2: queued
//	routed   client  as sampled, with prefix(1) next-hop in front of data; next-hop is as a name, of 4 or 16 bytes
//	ruled    client  as routed, or with an empty next-hop, with rule, a name, in front of data
//	frame    server  vlan(2) port data               one of vlan and port is 0 or empty
//	refused  client  text                            reason why a frame, or the client, is refused
//	counts   both    nothing, or JSON of Counts      requested by the client, answered by the server
//	interfaces both  as hello                        of a client that requests host interfaces
//	interface server JSON of Interface
//	held     client  there(1) name                   1 with the file of a device (SCM_RIGHTS), 0 when it is gone
//
// time is in nanoseconds since 1970 by the chip's clock. length is that of the frame before it was truncated.
const (
	kindHello   = 1
	kindPunted  = 2
	kindFrame   = 3
	kindRefused = 4
	kindCounts  = 5
	kindSampled = 6
	kindRouted  = 7
	kindRuled   = 8

	kindInterfaces = 9
	kindInterface  = 10
	kindHeld       = 11
)

const (
	maxName    = 255
	maxMessage = 1 + 8 + 2 + 4 + 5*(1+maxName) + 30 + 18 + MaxFrame
)

func appendName(b []byte, name string) []byte {
	name = name[:min(len(name), maxName)]
	return append(append(b, byte(len(name))), name...)
}

// A reader decodes a message. Once a field is missing, all later ones are, too.
type reader struct {
	b   []byte
	bad string // the first missing field
}

func (r *reader) next(n int, field string) []byte {
	if r.bad != "" || len(r.b) < n {
		if r.bad == "" {
			r.bad = field
		}
		return make([]byte, n)
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) name(field string) string { return string(r.next(int(r.next(1, field)[0]), field)) }

func (r *reader) err(what string) error {
	if r.bad == "" {
		return nil
	}
	return fmt.Errorf("a message %q that ends within its %s", what, r.bad)
}

func appendHello(b []byte, kind byte, who string) []byte {
	return appendName(append(b, kind, Version), who)
}

func parseHello(b []byte) (who string, err error) {
	r := reader{b: b}
	version := r.next(1, "version")[0]
	who = r.name("name")
	if err := r.err("hello"); err != nil {
		return "", err
	}
	if version != Version {
		return "", fmt.Errorf("version %d of the CPU port's messages, want %d", version, Version)
	}
	return who, nil
}

func appendPunted(b []byte, p *Packet) []byte {
	kind, sampled := byte(kindPunted), p.Sample != Sample{}
	if sampled {
		kind = kindSampled
	}
	routed := p.Sample.NextHop.IsValid()
	if routed {
		kind = kindRouted
	}
	ruled := p.Sample.Rule != ""
	if ruled {
		kind = kindRuled
	}
	b = binary.BigEndian.AppendUint64(append(b, kind), uint64(p.Time.UnixNano()))
	b = binary.BigEndian.AppendUint16(b, p.VLAN)
	b = binary.BigEndian.AppendUint32(b, uint32(p.Len))
	b = appendName(appendName(b, p.Port), p.Trap)
	if sampled {
		b = appendSample(b, &p.Sample)
	}
	if routed || ruled {
		b = appendName(append(b, p.Sample.Prefix), string(p.Sample.NextHop.AsSlice()))
	}
	if ruled {
		b = appendName(b, p.Sample.Rule)
	}
	return append(b, p.Data...)
}

// Flags of a sample.
const (
	flagEgress = 1
	flagQueued = 2
)

func appendSample(b []byte, s *Sample) []byte {
	flags := byte(0)
	if s.Egress {
		flags |= flagEgress
	}
	if s.Queued {
		flags |= flagQueued
	}
	b = append(binary.BigEndian.AppendUint32(b, s.Rate), flags)
	b = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, s.Pool), s.Lost)
	b = binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(b, s.Copies), s.OutVLAN)
	b = binary.BigEndian.AppendUint32(append(b, s.Queue), s.Depth)
	return appendName(appendName(b, s.Out), s.Why)
}

func (r *reader) sample() (s Sample) {
	s.Rate = binary.BigEndian.Uint32(r.next(4, "rate"))
	flags := r.next(1, "flags")[0]
	s.Egress, s.Queued = flags&flagEgress != 0, flags&flagQueued != 0
	s.Pool = binary.BigEndian.Uint64(r.next(8, "pool"))
	s.Lost = binary.BigEndian.Uint64(r.next(8, "lost"))
	s.Copies = binary.BigEndian.Uint16(r.next(2, "copies"))
	s.OutVLAN = binary.BigEndian.Uint16(r.next(2, "out-vlan"))
	s.Queue = r.next(1, "queue")[0]
	s.Depth = binary.BigEndian.Uint32(r.next(4, "depth"))
	s.Out, s.Why = r.name("out"), r.name("why")
	return s
}

func parsePunted(kind byte, b []byte) (p Packet, err error) {
	r := reader{b: b}
	p.Time = time.Unix(0, int64(binary.BigEndian.Uint64(r.next(8, "time")))).UTC()
	p.VLAN = binary.BigEndian.Uint16(r.next(2, "vlan"))
	p.Len = int(binary.BigEndian.Uint32(r.next(4, "length")))
	p.Port, p.Trap = r.name("port"), r.name("trap")
	if kind != kindPunted {
		p.Sample = r.sample()
	}
	var hop string
	if kind == kindRouted || kind == kindRuled {
		p.Sample.Prefix = r.next(1, "prefix")[0]
		hop = r.name("next-hop")
	}
	if kind == kindRuled {
		p.Sample.Rule = r.name("rule")
	}
	if err := r.err("punted"); err != nil {
		return Packet{}, err
	}
	if kind == kindRuled && p.Sample.Rule == "" {
		return Packet{}, errors.New("a message \"ruled\" without a rule")
	}
	if kind == kindRouted || hop != "" || p.Sample.Prefix != 0 {
		var ok bool
		if p.Sample.NextHop, ok = netip.AddrFromSlice([]byte(hop)); !ok || int(p.Sample.Prefix) > p.Sample.NextHop.BitLen() {
			return Packet{}, fmt.Errorf("a message \"routed\" with a next hop of %d bytes and a prefix of %d bits, want 4 or "+
				"16 bytes and at most as many bits", len(hop), p.Sample.Prefix)
		}
	}
	p.Data = r.b
	if p.Len < len(p.Data) || len(p.Data) > MaxFrame {
		return Packet{}, fmt.Errorf("a message \"punted\" with %d bytes of a frame of %d, want at most that and %d",
			len(p.Data), p.Len, MaxFrame)
	}
	return p, nil
}

func appendFrame(b []byte, f *Frame) []byte {
	b = binary.BigEndian.AppendUint16(append(b, kindFrame), f.VLAN)
	return append(appendName(b, f.Port), f.Data...)
}

func parseFrame(b []byte) (f Frame, err error) {
	r := reader{b: b}
	f.VLAN = binary.BigEndian.Uint16(r.next(2, "vlan"))
	f.Port = r.name("port")
	if err := r.err("frame"); err != nil {
		return Frame{}, err
	}
	f.Data = r.b
	return f, f.Check()
}

func appendCounts(b []byte, c Counts) []byte {
	text, err := json.Marshal(c)
	if err != nil {
		panic(err) // cannot happen: numbers only
	}
	return append(append(b, kindCounts), text...)
}

func parseCounts(b []byte) (c Counts, err error) {
	if err := json.Unmarshal(b, &c); err != nil {
		return Counts{}, fmt.Errorf("a message \"counts\": %w", err)
	}
	return c, nil
}
