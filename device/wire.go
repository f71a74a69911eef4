package device

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"tamtam/saisim"
)

// linkPeriod is how often a live interface is asked whether its link is up.
const linkPeriod = 200 * time.Millisecond

// A wired frame is one that came in from a live interface.
type wired struct {
	port string
	data []byte
}

// A linkState reports whether the interface that a port is wired to has a link.
type linkState struct {
	port string
	up   bool
}

// wires move frames between live interfaces and the chip, and advance the chip's time with the wall
// clock. A port's link is that of its interface.
type wires struct {
	chip   *saisim.Chip
	log    *slog.Logger
	start  time.Time           // the chip's cycle 0
	raw    map[string]*rawPort // by port
	frames chan wired
	links  chan linkState
	cpu    cpuSide

	// Of pump alone.
	up   map[string]bool
	byID map[saisim.PortID]*rawPort
}

// runWires runs until ctx ends; start is the time of the chip's cycle 0. An interface that is
// missing at the start is an error; one that disappears later, and may come back, is a link that is
// down.
func runWires(
	ctx context.Context, chip *saisim.Chip, start time.Time, names map[string]string, cpu cpuSide, log *slog.Logger,
) error {
	w := &wires{
		chip: chip, log: log, start: start, raw: map[string]*rawPort{}, cpu: cpu,
		frames: make(chan wired, 256), links: make(chan linkState),
		up: map[string]bool{}, byID: map[saisim.PortID]*rawPort{},
	}
	defer func() {
		for _, p := range w.raw {
			p.close()
		}
	}()
	for _, port := range SortedKeys(names) {
		p, err := openRawPort(names[port])
		if err != nil {
			return fmt.Errorf("port %s: %w", port, err)
		}
		w.raw[port] = p
		w.up[port] = p.link()
	}
	g, ctx := errgroup.WithContext(ctx)
	for port, p := range w.raw {
		g.Go(func() error { return w.read(ctx, port, p) })
		g.Go(func() error { return w.watch(ctx, port, p, w.up[port]) })
	}
	g.Go(func() error { return w.pump(ctx) })
	return g.Wait()
}

// read hands on the frames of one interface.
func (w *wires) read(ctx context.Context, port string, p *rawPort) error {
	for ctx.Err() == nil {
		frame, err := p.read()
		if err != nil {
			return err
		}
		if frame == nil {
			continue
		}
		select {
		case w.frames <- wired{port, slices.Clone(frame)}:
		case <-ctx.Done():
		}
	}
	return nil
}

// watch hands on the changes of one interface's link.
func (w *wires) watch(ctx context.Context, port string, p *rawPort, was bool) error {
	tick := time.NewTicker(linkPeriod)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		up := p.link()
		if up == was {
			continue
		}
		was = up
		w.log.Info("link of a live interface", "port", port, "interface", p.name, "up", up)
		select {
		case w.links <- linkState{port, up}:
		case <-ctx.Done():
		}
	}
}

// pump is the only goroutine that moves the chip's time: to the wall clock when
// a frame comes in, and to the chip's next event when there is one.
func (w *wires) pump(ctx context.Context) error {
	w.chip.SetOutput(w.send)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
			w.connect()
		case l := <-w.links:
			w.up[l.port] = l.up
			w.connect()
		case f := <-w.cpu.frames():
			w.chip.Advance(w.chip.CycleAt(time.Since(w.start)))
			w.cpu.send(f)
		case f := <-w.frames:
			if len(w.byID) < len(w.raw) {
				w.connect() // this frame may leave at a port created since
			}
			id, ok := w.chip.PortByName(f.port)
			if !ok {
				continue // not configured yet, or no longer: nobody listens
			}
			now := w.chip.CycleAt(time.Since(w.start))
			w.chip.Advance(now)
			if err := w.chip.Receive(id, now, saisim.Frame{Data: f.data, Len: len(f.data)}); err != nil {
				w.log.Debug("frame refused", "port", f.port, "error", err)
			}
		}
		w.chip.Advance(w.chip.CycleAt(time.Since(w.start)))
		timer.Reset(untilNext(w.chip, w.start))
	}
}

// connect finds the ports that exist now, which come and go with the
// configuration, and gives them their links.
func (w *wires) connect() {
	clear(w.byID)
	for port, p := range w.raw {
		if id, ok := w.chip.PortByName(port); ok {
			w.byID[id] = p
			w.chip.SetLink(id, w.up[port])
		}
	}
}

// send gives a frame that leaves the chip to its interface, or to the CPU.
func (w *wires) send(o *saisim.Out) {
	if o.Port == saisim.CPUPort {
		w.cpu.punt(o)
		return
	}
	p := w.byID[o.Port]
	if p == nil {
		return
	}
	if err := p.write(o.Data); err != nil {
		p.lost++
		if p.lost == 1 { // the first says why; a flood of them would add nothing
			w.log.Warn("frames are lost at a live interface", "interface", p.name, "bytes", len(o.Data), "error", err)
		}
	}
}

// untilNext returns how long the chip has nothing to do, bounded, since a SAI
// call can give it something to do.
func untilNext(chip *saisim.Chip, start time.Time) time.Duration {
	const idle = 100 * time.Millisecond
	at, ok := chip.NextEvent()
	if !ok {
		return idle
	}
	return min(idle, max(0, chip.TrueTime(at).Sub(chip.TrueTime(0))-time.Since(start)))
}
