package capture

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"time"
)

// Writer writes one nanosecond pcap file, little-endian, Ethernet. pcapgo's writer is not used: it replaces zero times
// with the wall clock and wraps times that do not fit. Both would silently corrupt a simulation. Only Flush and Close
// guarantee that packets reach the file.
type Writer struct {
	out    io.Writer
	buf    []byte // data that out does not have yet
	err    error  // the error of out, after which it gets no more data
	name   string
	closer io.Closer
}

// atOnce is the number of bytes that a writer gathers. A packet that does not fit makes its buffer larger.
const atOnce = 64 << 10

// Create creates or truncates the capture file at path. The file has its header after the first Flush or Close, so that
// a port that sent nothing has an empty but valid capture.
func Create(path string) (*Writer, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("capture: %w", err)
	}
	w := NewWriter(f, path)
	w.closer = f
	return w, nil
}

// NewWriter returns a writer of a capture to out. Errors contain name. The caller must close out.
func NewWriter(out io.Writer, name string) *Writer {
	w := &Writer{out: out, buf: make([]byte, 24, atOnce), name: name}
	binary.LittleEndian.PutUint32(w.buf[0:], magicNano)
	binary.LittleEndian.PutUint16(w.buf[4:], 2)
	binary.LittleEndian.PutUint16(w.buf[6:], 4)
	binary.LittleEndian.PutUint32(w.buf[16:], MaxCaptured)
	binary.LittleEndian.PutUint32(w.buf[20:], ethernet)
	return w
}

// Write appends a frame without its frame check sequence. length is its length on the wire: len(data), or more if data
// is truncated. The time must be in the years 1970 to 2106, the range of the format. An error describes the part of the
// packet that cannot be written, or is that of the file.
func (w *Writer) Write(at time.Time, data []byte, length int) error {
	seconds := at.Unix()
	if seconds < 0 || seconds > math.MaxUint32 {
		return fmt.Errorf("capture: %s: time %v, want one from 1970 to 2106", w.name, at)
	}
	if len(data) > MaxCaptured || length < len(data) || length > math.MaxUint32 {
		return fmt.Errorf("capture: %s: %d bytes of a frame of %d, want at most %d and no more than the frame has",
			w.name, len(data), length, MaxCaptured)
	}
	if len(w.buf)+16+len(data) > cap(w.buf) {
		if err := w.Flush(); err != nil {
			return err
		}
	}
	w.buf = binary.LittleEndian.AppendUint32(w.buf, uint32(seconds))
	w.buf = binary.LittleEndian.AppendUint32(w.buf, uint32(at.Nanosecond()))
	w.buf = binary.LittleEndian.AppendUint32(w.buf, uint32(len(data)))
	w.buf = binary.LittleEndian.AppendUint32(w.buf, uint32(length))
	w.buf = append(w.buf, data...)
	return nil
}

// Flush writes all buffered data to the file.
func (w *Writer) Flush() error {
	if w.err == nil && len(w.buf) > 0 {
		_, w.err = w.out.Write(w.buf)
		w.buf = w.buf[:0]
	}
	if w.err != nil {
		return fmt.Errorf("capture: %s: %w", w.name, w.err)
	}
	return nil
}

// Close flushes the data, and closes the file that Create opened.
func (w *Writer) Close() error {
	err := w.Flush()
	if w.closer == nil {
		return err
	}
	if closeErr := w.closer.Close(); err == nil && closeErr != nil {
		err = fmt.Errorf("capture: %w", closeErr)
	}
	return err
}
