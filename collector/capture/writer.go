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

// Writer writes one nanosecond pcap file, little-endian, Ethernet. It is our own since
// pcapgo's writer puts the wall clock where a time is zero and wraps times that do
// not fit, either of which would spoil a simulation without a word. Nothing reaches the file for
// certain before Flush or Close.
type Writer struct {
	bw     *bufio.Writer
	name   string
	closer io.Closer
	head   [16]byte
}

// Create makes the capture file at path, or empties the one that is there. It holds its
// header from the first Flush or Close on, so that a port that sent nothing has an empty
// but valid capture.
func Create(path string) (*Writer, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("capture: %w", err)
	}
	w := NewWriter(f, path)
	w.closer = f
	return w, nil
}

// NewWriter writes a capture to out; name stands for it in errors. Closing out stays the
// caller's task.
func NewWriter(out io.Writer, name string) *Writer {
	w := &Writer{bw: bufio.NewWriterSize(out, 64<<10), name: name}
	var head [24]byte
	binary.LittleEndian.PutUint32(head[0:], magicNano)
	binary.LittleEndian.PutUint16(head[4:], 2)
	binary.LittleEndian.PutUint16(head[6:], 4)
	binary.LittleEndian.PutUint32(head[16:], MaxCaptured)
	binary.LittleEndian.PutUint32(head[20:], ethernet)
	w.bw.Write(head[:]) // smaller than the buffer: cannot fail
	return w
}

// Write appends a frame without its frame check sequence. length is its length on the wire:
// len(data), or more when data is only its beginning. The time must lie in the years 1970
// to 2106, which is all that the format can say. An error says what of the packet cannot be written, or
// is that of the file.
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

// Flush hands everything written so far to the file.
func (w *Writer) Flush() error {
	if err := w.bw.Flush(); err != nil {
		return fmt.Errorf("capture: %s: %w", w.name, err)
	}
	return nil
}

// Close flushes, and closes the file that Create made.
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
