package fpm

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// The header of each frame: a version, a type, and the length of the whole frame in network byte order.
const (
	headerLen   = 4
	version     = 1
	typeNetlink = 1
	typeProto   = 2 // protobuf, of the older module zebra_fpm
	align       = 4
)

// ErrFraming is in the error of a stream whose frames can no longer be separated: nothing that follows can be read.
var ErrFraming = errors.New("not FPM")

// A Reader reads frames from a stream.
type Reader struct{ r *bufio.Reader }

// NewReader returns a reader of the stream. It holds at most two of the longest frames, 128 KiB.
func NewReader(r io.Reader) *Reader { return &Reader{bufio.NewReaderSize(r, 1<<17)} }

// Next returns the messages of the next frame, which may be empty. They are valid until the next call. io.EOF means
// that the stream has ended between two frames.
func (r *Reader) Next() ([]byte, error) {
	head, err := r.r.Peek(headerLen)
	if err != nil {
		return nil, cut(err, len(head))
	}
	n := int(binary.BigEndian.Uint16(head[2:]))
	switch {
	case head[0] != version:
		return nil, fmt.Errorf("%w: version %d of a frame, want %d", ErrFraming, head[0], version)
	case head[1] == typeProto:
		return nil, fmt.Errorf("%w: a frame of protobuf, want netlink: zebra needs -M dplane_fpm_nl", ErrFraming)
	case head[1] != typeNetlink:
		return nil, fmt.Errorf("%w: type %d of a frame, want %d (netlink)", ErrFraming, head[1], typeNetlink)
	case n < headerLen:
		return nil, fmt.Errorf("%w: a frame of %d bytes, want %d or more", ErrFraming, n, headerLen)
	case n%align != 0:
		return nil, fmt.Errorf("%w: a frame of %d bytes, want a multiple of %d", ErrFraming, n, align)
	}
	frame, err := r.r.Peek(n)
	if err != nil {
		return nil, cut(err, len(frame))
	}
	if _, err := r.r.Discard(n); err != nil {
		return nil, err
	}
	return frame[headerLen:], nil
}

// Whole reports whether Next can return another frame, or an error, without waiting.
func (r *Reader) Whole() bool {
	have := r.r.Buffered()
	if have < headerLen {
		return false
	}
	head, _ := r.r.Peek(headerLen)
	return have >= int(binary.BigEndian.Uint16(head[2:]))
}

// cut distinguishes an end between two frames from one inside a frame.
func cut(err error, have int) error {
	if errors.Is(err, io.EOF) && have > 0 {
		return fmt.Errorf("the stream ends inside a frame: %w", io.ErrUnexpectedEOF)
	}
	return err
}
