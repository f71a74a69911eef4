package device_test

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gopacket/gopacket/layers"

	"tamtam/device"
	"tamtam/device/devicetest"
	"tamtam/saisim/profile"
)

// A stream is a capture of n frames, one every 100 ns, that is generated while it is read; the flow changes with
// every frame.
type stream struct {
	n, i    uint32
	frame   []byte
	rest    []byte
	buf     []byte
	reached func(i uint32) // called every 65536 frames; nil means that it is not called
}

func newStream(t testing.TB, n uint32, size int) *stream {
	buf := append([]byte{0x4d, 0x3c, 0xb2, 0xa1, 2, 0, 4, 0}, make([]byte, 12)...)
	s := &stream{n: n, rest: append(buf, 1, 0, 0, 0), buf: make([]byte, 0, 1<<17)}
	binary.LittleEndian.PutUint32(s.rest[16:], 65535)
	for len(s.frame) < size {
		s.frame = devicetest.IPv4Frame(t, layers.IPProtocolUDP, &layers.UDP{SrcPort: 5000, DstPort: 6000},
			devicetest.Payload(size-42))
	}
	return s
}

func (s *stream) Read(p []byte) (int, error) {
	if len(s.rest) == 0 {
		s.rest = s.buf[:0]
		for len(s.rest) < 1<<16 && s.i < s.n {
			ns := uint64(s.i) * 100
			s.rest = binary.LittleEndian.AppendUint32(s.rest, uint32(1_000_000_000+ns/1_000_000_000))
			s.rest = binary.LittleEndian.AppendUint32(s.rest, uint32(ns%1_000_000_000))
			s.rest = binary.LittleEndian.AppendUint32(s.rest, uint32(len(s.frame)))
			s.rest = binary.LittleEndian.AppendUint32(s.rest, uint32(len(s.frame)))
			binary.BigEndian.PutUint32(s.frame[26:], s.i)
			s.rest = append(s.rest, s.frame...)
			if s.i++; s.reached != nil && s.i%65536 == 0 {
				s.reached(s.i)
			}
		}
		s.buf = s.rest
	}
	if len(s.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// pipe returns the path of a named pipe that delivers the stream.
func (s *stream) pipe(t testing.TB) string {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skipf("no named pipes: %v", err)
	}
	go func() {
		w, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err == nil {
			_, err = io.CopyBuffer(struct{ io.Writer }{w}, s, make([]byte, 1<<16))
			w.Close()
		}
		if err != nil && !errors.Is(err, syscall.EPIPE) { // its reader may end first
			t.Error(err)
		}
	}()
	return path
}

// The memory of a switch does not grow with the capture: the heap is the same after 196,000 frames as after 65,000.
func TestReplayInConstantMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	var early, late atomic.Uint64
	s := newStream(t, 200_000, 60)
	s.reached = func(i uint32) {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		switch {
		case i <= 65536:
			early.Store(m.HeapAlloc)
		case i >= 190_000:
			late.Store(max(late.Load(), m.HeapAlloc))
		}
	}
	r := device.Replay{Inputs: devicetest.Inputs("Ethernet0", s.pipe(t)), Out: t.TempDir()}
	r.Profile, r.Config = profile.Small(), devicetest.TwoPorts()
	report, err := r.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := report.Ports["Ethernet1"].Sent; got != 200_000 {
		t.Errorf("%d frames left", got)
	}
	t.Logf("heap %d KiB, later %d KiB", early.Load()>>10, late.Load()>>10)
	if late.Load() > early.Load()+1<<20 {
		t.Errorf("the heap grows from %d to %d bytes", early.Load(), late.Load())
	}
}

// BenchmarkReplay measures a whole run from file to file: reader, chip and writer, and the start of the switch. It
// bridges between two ports, without and with a record at the end of each frame.
func BenchmarkReplay(b *testing.B) {
	stamped := devicetest.TwoPorts()
	plain := device.ConfigDB{}
	for _, table := range []string{"DEVICE_METADATA", "PORT", "VLAN", "VLAN_MEMBER"} {
		plain[table] = stamped[table]
	}
	b.Run("plain", func(b *testing.B) { benchmarkReplay(b, plain) })
	b.Run("stamped", func(b *testing.B) { benchmarkReplay(b, stamped) })
}

func benchmarkReplay(b *testing.B, c device.ConfigDB) {
	in := filepath.Join(b.TempDir(), "in.pcap")
	f, err := os.Create(in)
	devicetest.NoError(b, err)
	_, err = io.Copy(f, newStream(b, uint32(b.N), 60))
	devicetest.NoError(b, errors.Join(err, f.Close()))
	r := device.Replay{Inputs: devicetest.Inputs("Ethernet0", in), Out: b.TempDir()}
	r.Profile, r.Config = profile.Default(), c
	began, used := time.Now(), processorTime(b)
	b.ReportAllocs()
	b.ResetTimer()
	if _, err := r.Run(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.N)/time.Since(began).Seconds()/1e6, "Mpps")
	b.ReportMetric(float64(processorTime(b)-used)/float64(b.N), "cpu-ns/op")
}

// processorTime returns the processor time that this process has used, on all cores together.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	devicetest.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
