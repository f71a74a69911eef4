package capture

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"net/netip"
	"os"
	"time"
)

// MaxCaptured is the maximum number of bytes of a packet, captured or not: the largest snap length that libpcap and
// Wireshark accept. More indicates a damaged file.
const MaxCaptured = 262144

// Packet is one frame of a capture, without its frame check sequence.
type Packet struct {
	// Time is UTC and exact to the nanosecond; finer times are rounded down. It is zero for a simple packet block, which
	// has no time.
	Time time.Time
	// Data holds the captured bytes, from the destination MAC on. It is valid until the next call of Next. If the
	// capture has no Ethernet header, Data has one whose unknown addresses are zero.
	Data   []byte
	Len    int   // length of the frame on the wire; above len(Data) if the snap length truncated it
	Number int64 // position in the file, from 1
	// From is the sender of a datagram that a [Socket] received; Data is then its payload. It is not set for frames.
	From netip.AddrPort
}

// Cut reports whether the capture contains only the frame's beginning.
func (p Packet) Cut() bool { return len(p.Data) < p.Len }

// Reader reads the packets of one capture, in the order of the file.
type Reader struct {
	src    source
	format format
	closer io.Closer
	buf    []byte
	err    error // the error that ended reading
	simple int64 // offset of the last simple packet block
	last   Packet
}

// format is a file format whose header was read: pcap or pcapng.
type format interface {
	// next reads one packet, whose data are in r.buf, or returns io.EOF between two packets.
	next(r *Reader, into *Packet) error
}

// Open opens the capture file at path. It returns an error of the file system, or an [*Error] if the file is not a
// readable capture.
func Open(path string) (*Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("capture: %w", err)
	}
	r, err := NewReader(f, path)
	if err != nil {
		f.Close()
		return nil, err
	}
	r.closer = f
	return r, nil
}

// NewReader reads a capture from in, beginning with its file header. Errors contain name. It returns an [*Error] if in
// is neither pcap nor pcapng, optionally compressed with gzip. Offsets in errors refer to the uncompressed file. The
// caller must close in.
func NewReader(in io.Reader, name string) (*Reader, error) {
	const buffer = 64 << 10
	r := &Reader{src: source{br: bufio.NewReaderSize(in, buffer), name: name}}
	if m, _ := r.src.br.Peek(2); len(m) == 2 && m[0] == 0x1f && m[1] == 0x8b {
		unpacked, err := gzip.NewReader(r.src.br)
		if err != nil {
			return nil, &Error{File: name, Reason: "cannot unpack the gzip file", Err: err}
		}
		r.src.br = bufio.NewReaderSize(unpacked, buffer)
	}
	var magic [4]byte
	if err := r.src.read(magic[:], "magic number (pcap or pcapng expected)", false); err != nil {
		return nil, err
	}
	var err error
	switch m := binary.LittleEndian.Uint32(magic[:]); m {
	case magicMicro:
		r.format, err = newPcap(&r.src, binary.LittleEndian, time.Microsecond)
	case magicNano:
		r.format, err = newPcap(&r.src, binary.LittleEndian, time.Nanosecond)
	case magicMicroSwapped:
		r.format, err = newPcap(&r.src, binary.BigEndian, time.Microsecond)
	case magicNanoSwapped:
		r.format, err = newPcap(&r.src, binary.BigEndian, time.Nanosecond)
	case blockSection:
		r.format, err = newPcapng(&r.src)
	default:
		err = r.src.fail(0, "magic number % x is that of %s; supported are pcap (microseconds or nanoseconds) and pcapng, "+
			"packed by gzip or not",
			magic, otherFormat(magic))
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// otherFormat returns the kind of a file that is often mistaken for a supported capture.
func otherFormat(magic [4]byte) string {
	switch {
	case magic[0] == 0x1f && magic[1] == 0x8b:
		return "a gzip file inside another (unpack it first)"
	case magic == [4]byte{0x28, 0xb5, 0x2f, 0xfd}:
		return "a zstd file (unpack it first)"
	case magic == [4]byte{'s', 'n', 'o', 'o'}:
		return "a snoop capture"
	case magic == [4]byte{0x34, 0xcd, 0xb2, 0xa1}, magic == [4]byte{0xa1, 0xb2, 0xcd, 0x34}:
		return "a pcap variant with longer packet headers"
	}
	return "no known capture format"
}

// Next returns the next packet, io.EOF after the last one, or an [*Error]. After an error it returns the same error
// again.
func (r *Reader) Next() (Packet, error) {
	if err := r.next(&r.last); err != nil {
		return Packet{}, err
	}
	return r.last, nil
}

// next replaces all of a packet with the next one. After an error the packet has no meaning.
func (r *Reader) next(p *Packet) error {
	if r.err == nil {
		r.src.packet++
		r.err = r.format.next(r, p)
		p.Number = r.src.packet
	}
	return r.err
}

// NextTimed returns the next packet, like Next, but an [*Error] for a packet without a time.
func (r *Reader) NextTimed() (Packet, error) {
	if err := r.nextTimed(&r.last); err != nil {
		return Packet{}, err
	}
	return r.last, nil
}

// nextTimed does the same as next, with an error for a packet without a time.
func (r *Reader) nextTimed(p *Packet) error {
	if err := r.next(p); err != nil {
		return err
	}
	if p.Time.IsZero() {
		r.err = r.src.fail(r.simple, "a simple packet block has no time, which is needed here; want enhanced packet blocks")
	}
	return r.err
}

// Name returns the name given to Open or NewReader.
func (r *Reader) Name() string { return r.src.name }

// Close closes the file that Open opened. After NewReader it does nothing.
func (r *Reader) Close() error {
	if r.closer == nil {
		return nil
	}
	return r.closer.Close()
}

// data reads a packet's captured bytes into r's buffer and converts them to an Ethernet frame. at is the offset of the
// packet's header, and fcs the length of the frame check sequence on the wire in bytes.
func (r *Reader) data(at int64, link uint32, captured, length uint32, fcs int) (data []byte, wire int, err error) {
	if captured > MaxCaptured {
		return nil, 0, r.src.fail(at, "captured length %d, want at most %d", captured, MaxCaptured)
	}
	if length > MaxCaptured {
		return nil, 0, r.src.fail(at+4, "original length %d, want at most %d", length, MaxCaptured)
	}
	if captured > length {
		return nil, 0, r.src.fail(at, "captured length %d is above the original length %d", captured, length)
	}
	if cap(r.buf) < ethernetHeader+int(captured) {
		r.buf = make([]byte, max(2048, ethernetHeader+int(captured)))
	}
	r.buf = r.buf[:ethernetHeader+int(captured)]
	if err := r.src.read(r.buf[ethernetHeader:], "packet's data", false); err != nil {
		return nil, 0, err
	}
	if header := linkHeader(link); int(captured) < header {
		return nil, 0, r.src.fail(at, "captured length %d, want the %d bytes of the header of link type %d and more",
			captured, header, link)
	}
	if data, wire = toEthernet(r.buf, link, int(length)); wire > MaxCaptured {
		return nil, 0, r.src.fail(at+4, "original length %d, want at most %d with a header of Ethernet", length, MaxCaptured)
	}
	wire = max(0, wire-fcs)
	return data[:min(len(data), wire)], wire, nil
}
