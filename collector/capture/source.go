package capture

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// Error describes where a capture is damaged, or which part of it is not supported.
type Error struct {
	File   string // name given to Open or NewReader
	Packet int64  // number of the current packet from 1, or 0 for the file header
	Offset int64  // offset of the invalid field or structure in the file
	Reason string // the content found there, and the expected content
	Err    error  // the cause of a failed read
}

// Error returns file, packet, offset and reason in one line.
func (e *Error) Error() string {
	where := "file header"
	if e.Packet > 0 {
		where = fmt.Sprintf("packet %d", e.Packet)
	}
	text := fmt.Sprintf("%s: %s at byte %d: %s", e.File, where, e.Offset, e.Reason)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the cause. For a file that ends too early it is io.ErrUnexpectedEOF.
func (e *Error) Unwrap() error { return e.Err }

// source reads a file sequentially and tracks its position. It never allocates in proportion to a length found in the
// file.
type source struct {
	br     *bufio.Reader
	name   string
	offset int64 // offset of the next byte
	packet int64 // number of the current packet
}

func (s *source) fail(offset int64, format string, args ...any) error {
	return &Error{File: s.name, Packet: s.packet, Offset: offset, Reason: fmt.Sprintf(format, args...)}
}

// read fills buf. what describes its content. If the file ends before the first byte, read returns io.EOF if atEnd
// allows the end here.
func (s *source) read(buf []byte, what string, atEnd bool) error {
	if len(buf) <= s.br.Size() {
		b, err := s.take(len(buf), what, atEnd)
		copy(buf, b)
		return err
	}
	n, err := io.ReadFull(s.br, buf)
	s.offset += int64(n)
	if err != nil {
		return s.failed(err, n, len(buf), what, atEnd)
	}
	return nil
}

// take does the same as read for the next n bytes, and returns them. They are valid until the next call of a method.
func (s *source) take(n int, what string, atEnd bool) ([]byte, error) {
	b, err := s.br.Peek(n) // n is at most the size of the buffer
	s.br.Discard(len(b))   // cannot fail
	s.offset += int64(len(b))
	if err != nil {
		return nil, s.failed(err, len(b), n, what, atEnd)
	}
	return b, nil
}

// failed returns the error of a read that gave got of the bytes of what.
func (s *source) failed(err error, got, want int, what string, atEnd bool) error {
	switch {
	case err == io.EOF && got == 0 && atEnd:
		return io.EOF
	case err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF):
		return s.cut(s.offset-int64(got), int64(got), int64(want), what)
	}
	return &Error{File: s.name, Packet: s.packet, Offset: s.offset, Reason: "cannot read " + what, Err: err}
}

// skip skips n bytes of what.
func (s *source) skip(n int64, what string) error {
	start := s.offset
	for s.offset-start < n {
		done, err := s.br.Discard(int(min(n-(s.offset-start), 1<<20)))
		s.offset += int64(done)
		if err == io.EOF {
			return s.cut(start, s.offset-start, n, what)
		}
		if err != nil {
			return &Error{File: s.name, Packet: s.packet, Offset: s.offset, Reason: "cannot read " + what, Err: err}
		}
	}
	return nil
}

func (s *source) cut(start, got, want int64, what string) error {
	return &Error{File: s.name, Packet: s.packet, Offset: start, Err: io.ErrUnexpectedEOF,
		Reason: fmt.Sprintf("the file ends after %d of the %d bytes of the %s", got, want, what)}
}
