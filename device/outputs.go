package device

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"tamtam/collector/capture"
	"tamtam/saisim"
)

// outputs holds the captures of the frames sent to each port and to the CPU. They have a temporary name until commit. A
// goroutine writes them, so that the chip does not wait for files.
type outputs struct {
	dir     string
	names   []string
	writers map[saisim.PortID]*capture.Writer
	plans   map[string][]byte // plans of table recording, by file name
	done    bool

	gathered *sentFrames      // frames that the goroutine does not have yet
	full     chan *sentFrames // frames for the goroutine, closed after the last ones
	free     chan *sentFrames
	writing  sync.WaitGroup
	failed   atomic.Pointer[writeError] // the first error of a write
}

// sentFrames holds frames to write, whose data lie in one buffer.
type sentFrames struct {
	frames []sentFrame
	data   []byte
}

type writeError struct{ error }

type sentFrame struct {
	at     saisim.Cycle
	size   int // bytes of data
	length int // length on the wire
	port   saisim.PortID
}

// The goroutine gets frames when there are so many, or so many bytes of them.
const (
	gatherFrames = 1024
	gatherBytes  = 256 << 10
)

// partial is the suffix of a file that is not complete.
const partial = ".partial"

func createOutputs(dir string, chip *saisim.Chip, ports []string) (*outputs, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	o := &outputs{dir: dir, writers: map[saisim.PortID]*capture.Writer{}}
	o.gathered, o.full, o.free = &sentFrames{}, make(chan *sentFrames, 1), make(chan *sentFrames, 3)
	o.free <- &sentFrames{}
	o.free <- &sentFrames{}
	create := func(name string, id saisim.PortID) error {
		w, err := capture.Create(filepath.Join(dir, name+".pcap"+partial))
		if err != nil {
			return err
		}
		o.names = append(o.names, name)
		o.writers[id] = w
		return nil
	}
	errs := []error{create("CPU", saisim.CPUPort)}
	for _, name := range ports {
		id, _ := chip.PortByName(name)
		errs = append(errs, create(name, id))
	}
	if err := errors.Join(errs...); err != nil {
		o.discard()
		return nil, err
	}
	o.writing.Go(func() { o.writeAll(chip.IdealClock()) })
	return o, nil
}

func (o *outputs) write(out *saisim.Out) {
	g := o.gathered
	g.frames = append(g.frames, sentFrame{port: out.Port, at: out.At, size: len(out.Data), length: out.Len})
	g.data = append(g.data, out.Data...)
	if len(g.frames) == gatherFrames || len(g.data) >= gatherBytes {
		o.full <- g
		o.gathered = <-o.free
	}
}

// writeAll writes the frames of ports with a capture that it is handed, until the first error.
func (o *outputs) writeAll(clock *saisim.IdealClock) {
	port, to := saisim.CPUPort, o.writers[saisim.CPUPort]
	for g := range o.full {
		data := g.data
		for _, f := range g.frames {
			if o.failed.Load() != nil {
				break
			}
			if f.port != port {
				port, to = f.port, o.writers[f.port]
			}
			if to != nil {
				if err := to.Write(clock.At(f.at).Time(), data[:f.size], f.length); err != nil {
					o.failed.Store(&writeError{err})
				}
			}
			data = data[f.size:]
		}
		g.frames, g.data = g.frames[:0], g.data[:0]
		o.free <- g
	}
}

// err returns the first error of a write so far.
func (o *outputs) err() error {
	if err := o.failed.Load(); err != nil {
		return err.error
	}
	return nil
}

// wait hands over the last frames and waits until all are written. No frame may follow.
func (o *outputs) wait() {
	if o.gathered != nil {
		o.full <- o.gathered
		close(o.full)
		o.gathered = nil
	}
	o.writing.Wait()
}

// commit completes the files and adds report.json.
func (o *outputs) commit(report *Report) error {
	o.wait()
	errs := []error{o.err()}
	for _, w := range o.writers {
		errs = append(errs, w.Close())
	}
	text, err := report.JSON()
	errs = append(errs, err, os.WriteFile(filepath.Join(o.dir, "report.json"+partial), text, 0o644))
	for name, plan := range o.plans {
		errs = append(errs, os.WriteFile(filepath.Join(o.dir, name+partial), plan, 0o644))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	o.forget()
	for _, f := range append(o.files(), filepath.Join(o.dir, "report.json")) {
		if err := os.Rename(f+partial, f); err != nil {
			return err
		}
	}
	o.done = true
	return nil
}

// forget removes obsolete captures and plans. The report of an earlier run in the directory lists them. This run did
// not write them, for example because its switch has other ports.
func (o *outputs) forget() {
	var old struct {
		Ports       map[string]json.RawMessage
		TableRecord map[string]RecordReport
	}
	text, err := os.ReadFile(filepath.Join(o.dir, "report.json"))
	if err != nil || json.Unmarshal(text, &old) != nil {
		return
	}
	for name := range old.Ports {
		if name == filepath.Base(name) && !slices.Contains(o.names, name) {
			_ = os.Remove(filepath.Join(o.dir, name+".pcap"))
		}
	}
	for _, r := range old.TableRecord {
		for _, name := range r.Plans {
			if name == filepath.Base(name) && o.plans[name] == nil && strings.HasSuffix(name, planSuffix) {
				_ = os.Remove(filepath.Join(o.dir, name))
			}
		}
	}
}

func (o *outputs) files() []string {
	var fs []string
	for _, n := range o.names {
		fs = append(fs, filepath.Join(o.dir, n+".pcap"))
	}
	for name := range o.plans {
		fs = append(fs, filepath.Join(o.dir, name))
	}
	slices.Sort(fs)
	return fs
}

// discard removes all files that were not committed.
func (o *outputs) discard() {
	if o.done {
		return
	}
	o.wait()
	for _, w := range o.writers {
		w.Close()
	}
	for _, f := range append(o.files(), filepath.Join(o.dir, "report.json")) {
		os.Remove(f + partial)
	}
}
