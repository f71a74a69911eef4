package synthetic

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"tamtam/fleet/jetstream"
	"tamtam/fleet/join"
	"tamtam/fleet/parquet"
)

// A Measurement runs a fleet through a log in JetStream into a store in Parquet files.
type Measurement struct {
	Shape
	Dir string // folder of the store, and of the log if it is in this process
	// Log is the log; without URLs it is in this process, in as many servers as it has replicas.
	Log       jetstream.Options
	Sync      time.Duration // Sync of the servers in this process, see [jetstream.ServerOptions]
	Join      join.Options
	Elsewhere bool // true if other processes join the partitions
}

// Run runs the measurement, and prints its resource use.
func (m *Measurement) Run(ctx context.Context, out io.Writer) error {
	log, stop, err := m.log(ctx)
	if err != nil {
		return err
	}
	defer stop()
	store, err := parquet.Open(parquet.Options{Dir: filepath.Join(m.Dir, "store"), Bytes: 1 << 40})
	if err != nil {
		return err
	}
	mostOfDisk := watchDisk(ctx, m.Dir)
	before, err := cpuTime()
	if err != nil {
		return err
	}
	var res Result
	if m.Elsewhere {
		res, err = Send(ctx, m.Shape, log, store)
	} else {
		res, err = Run(ctx, m.Shape, log, store, m.Join)
	}
	if err != nil {
		return err
	}
	after, err := cpuTime()
	if err != nil {
		return err
	}
	peak, err := mostOfDisk()
	if err != nil {
		return err
	}
	return m.print(out, res, after-before, peak)
}

// log opens the log: one server in this process that does not listen, a cluster of several, or a log in other
// processes.
func (m *Measurement) log(ctx context.Context) (*jetstream.Log, func(), error) {
	o := m.Log
	var servers []*jetstream.Server
	var err error
	dir := filepath.Join(m.Dir, "log")
	switch {
	case len(o.URLs) > 0:
	case o.Replicas == 1:
		var s *jetstream.Server
		s, err = jetstream.StartServer(jetstream.ServerOptions{Dir: dir, Sync: m.Sync})
		servers, o.Server = []*jetstream.Server{s}, s
	default:
		servers, err = jetstream.StartCluster(o.Replicas, jetstream.ServerOptions{Dir: dir, Sync: m.Sync})
	}
	if err != nil {
		return nil, nil, err
	}
	if o.Server == nil {
		for _, s := range servers {
			o.URLs = append(o.URLs, s.URL())
		}
	}
	stop := func() {
		for _, s := range servers {
			s.Close()
		}
	}
	log, err := jetstream.Open(ctx, o)
	if err != nil {
		stop()
		return nil, nil, err
	}
	return log, func() { log.Close(); stop() }, nil
}

func (m *Measurement) print(out io.Writer, r Result, cpu time.Duration, disk int64) error {
	memory, memErr := memoryPeak()
	store, storeErr := diskUsed(filepath.Join(m.Dir, "store"))
	if err := errors.Join(memErr, storeErr); err != nil {
		return err
	}
	row := func(name, format string, value ...any) {
		fmt.Fprintf(out, "%-28s %s\n", name, fmt.Sprintf(format, value...))
	}
	row("switches", "%d", m.Leaves+m.Spines)
	row("flows", "%d", m.Flows)
	row("stamps", "%d", r.Stamps)
	row("frames", "%d", r.Frames)
	row("messages", "%d", r.Messages)
	row("MB of messages", "%.1f", float64(r.Bytes)/1e6)
	row("rows", "%d", r.Rows)
	row("seconds", "%.1f", r.Elapsed.Seconds())
	row("CPU seconds", "%.1f", cpu.Seconds())
	row("stamps/s", "%.0f", float64(r.Stamps)/r.Elapsed.Seconds())
	row("stamps/s/core", "%.0f", float64(r.Stamps)/cpu.Seconds())
	row("MB of memory at most", "%.0f", float64(memory)/1e6)
	row("MB of disk at most", "%.0f", float64(disk)/1e6)
	row("MB of store at the end", "%.0f", float64(store)/1e6)
	row("store equals what was sent", "yes")
	return nil
}
