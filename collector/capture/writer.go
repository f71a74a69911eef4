package capture

import (
	"bufio"
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
	bw     *bufio.Writer
	name   string
	closer io.Closer
	head   [16]byte
}

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
	w := &Writer{bw: bufio.NewWriterSize(out, 64<<10), name: name}
	var head [24]byte
	binary.LittleEndian.PutUint32(head[0:], magicNano)
	binary.LittleEndian.PutUint16(head[4:], 2)
	binary.LittleEndian.PutUint16(head[6:], 4)
	binary.LittleEndian.PutUint32(head[16:], MaxCaptured)
	binary.LittleEndian.PutUint32(head[20:], ethernet)
	w.bw.Write(head[:]) // cannot fail, because it is smaller than the buffer
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
	binary.LittleEndian.PutUint32(w.head[0:], uint32(seconds))
	binary.LittleEndian.PutUint32(w.head[4:], uint32(at.Nanosecond()))
	binary.LittleEndian.PutUint32(w.head[8:], uint32(len(data)))
	binary.LittleEndian.PutUint32(w.head[12:], uint32(length))
	if _, err := w.bw.Write(w.head[:]); err != nil {
		return fmt.Errorf("capture: %s: %w", w.name, err)
	}
	if _, err := w.bw.Write(data); err != nil {
		return fmt.Errorf("capture: %s: %w", w.name, err)
	}
	return nil
}

// Flush writes all buffered data to the file.
func (w *Writer) Flush() error {
	if err := w.bw.Flush(); err != nil {
		return fmt.Errorf("capture: %s: %w", w.name, err)
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
