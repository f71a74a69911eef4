package wire

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"tamtam/saisim"
)

const (
	// reportPeriod is how often [Config.Look] is called.
	reportPeriod = time.Second
	// batch is the largest number of frames read from one port in a turn.
	batch = 256
	// mostPieces is the number of bytes of cut frames after which no more frames are read from a port in a turn. They
	// fit into a processor's cache on their way to the chip. It also bounds their number: a host may request very small
	// pieces.
	mostPieces = 256 << 10
	// spin is the time before the chip's next event below which the pump does not sleep.
	spin = 50 * time.Microsecond
	// oldest is the largest age of an unread frame. A higher age means that the kernel's clock was set.
	oldest = time.Minute
	// ringMemory is the size of all rings together, in bytes. Each gets a share, from leastRing to mostRing.
	ringMemory, mostRing, leastRing = 64 << 20, 8 << 20, 1 << 20
)

// A line is the wire at one port.
type line struct {
	Port
	*socket
	id      saisim.PortID
	present bool // the chip has the port
	warned  [NumLosses]bool
	is      interfaceState // at the last look; zero if that failed
	follower
	// Losses since the last report to the chip.
	unread, unsent uint64
	frames         []saisim.Arrival // of this turn
	next           int              // index of the first of them that the chip does not have
}

// A pump advances a chip's time and moves its frames, in one goroutine.
type pump struct {
	Config
	lines []*line
	byID  []*line // nil if the port has no line
	wake  *waker
	calls chan func()
	polls []unix.PollFd

	pieces   []byte // frames cut in this turn
	lengths  []int
	now      time.Time    // time of this turn
	reached  saisim.Cycle // how far the chip's time may advance in this turn
	changed  atomic.Bool  // an interface may have changed since the last look
	looked   time.Time
	reported time.Time
}

// A waker wakes a waiting pump. Any goroutine may use it, also when the pump has ended.
type waker struct {
	mu sync.Mutex
	fd int // -1 means that it is closed, and its number may be in use again
}

func newWaker() (*waker, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("wires: eventfd: %w", err)
	}
	return &waker{fd: fd}, nil
}

func (w *waker) wake() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fd >= 0 {
		_, _ = unix.Write(w.fd, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	}
}

func (w *waker) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	unix.Close(w.fd)
	w.fd = -1
}

// Run wires the ports until ctx ends. An interface that does not exist, at the start or later, is a link that is down
// until it exists. If a raw socket may not be opened, Run returns an error.
func Run(ctx context.Context, cfg Config) error {
	if len(cfg.Wires) > MaxPorts {
		return fmt.Errorf("wires: %d ports have an interface, want at most %d", len(cfg.Wires), MaxPorts)
	}
	p := &pump{Config: cfg, calls: make(chan func(), batch)}
	defer func() {
		var closed sync.WaitGroup // the kernel needs some 30 ms for each, and closes them in parallel
		for _, l := range p.lines {
			closed.Go(l.close)
		}
		closed.Wait()
	}()
	if p.Links != nil {
		if err := p.Links.open(); err != nil {
			return err
		}
	}
	ring := min(mostRing, max(leastRing, ringMemory/max(1, len(cfg.Wires))))
	for _, port := range slices.Sorted(maps.Keys(cfg.Wires)) {
		s, err := openSocket(port, cfg.Wires[port], ring)
		if err != nil {
			return fmt.Errorf("port %s: %w", port, err)
		}
		p.lines = append(p.lines, &line{Port: Port{Name: port, Interface: cfg.Wires[port]}, socket: s})
	}
	wake, err := newWaker()
	if err != nil {
		return err
	}
	p.wake = wake
	defer wake.close()
	listen, deaf, err := newListener()
	if err != nil {
		return err
	}
	defer listen.close()
	if deaf != nil {
		p.Log.Warn("the kernel does not report changes of links, so they are polled", "every", lookPeriod, "error", deaf)
	}
	stop := context.AfterFunc(ctx, wake.wake)
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	var helpers sync.WaitGroup
	helpers.Go(func() { p.forward(ctx) })
	if len(p.lines) > 0 {
		helpers.Go(func() {
			listen.run(ctx, slices.Collect(maps.Values(cfg.Wires)), func() {
				p.changed.Store(true)
				wake.wake()
			})
		})
	}
	defer func() {
		cancel()
		helpers.Wait()
	}()
	p.Chip.SetOutput(p.send)
	for ctx.Err() == nil {
		if moved := p.turn(time.Now()); !moved {
			if err := p.wait(); err != nil {
				return err
			}
		}
	}
	return nil
}

// forward passes functions from Inject to the pump and wakes it.
func (p *pump) forward(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case f := <-p.Inject:
			select {
			case <-ctx.Done():
				return
			case p.calls <- f:
				p.wake.wake()
			}
		}
	}
}

// inject runs the waiting functions, and reports whether there were any.
func (p *pump) inject() bool {
	n := len(p.calls)
	for range n {
		(<-p.calls)()
	}
	return n > 0
}

// turn moves received frames into the chip, advances its time, and sends its output. It reports whether it did
// anything.
func (p *pump) turn(now time.Time) bool {
	p.now = now
	if p.changed.Swap(false) || now.Sub(p.looked) >= lookPeriod {
		p.look(now)
	}
	p.pieces, p.lengths = p.pieces[:0], p.lengths[:0]
	moved := false
	for _, l := range p.lines {
		if l.ready() {
			moved = true
			p.collect(l)
		}
	}
	p.reached = p.Chip.CycleAt(p.horizon().Sub(p.Start))
	p.deliver()
	p.Chip.Advance(p.reached)
	moved = p.inject() || moved // after all earlier frames, so that it does not delay frames that wait
	for _, l := range p.lines {
		l.release()
		p.flush(l)
	}
	return moved
}

// horizon returns how far the chip's time may advance: to now, but not past a waiting frame. Frames may wait because
// a turn's limit was reached, or because they arrived while another line was read.
func (p *pump) horizon() time.Time {
	to := p.now
	for _, l := range p.lines {
		if !l.ready() {
			continue
		}
		if at := p.when(l.waitsSince()); at.Before(to) {
			to = at
		}
	}
	return to
}

// collect reads the frames of one line.
func (p *pump) collect(l *line) {
	l.frames, l.next = l.frames[:0], 0
	if !l.present {
		p.connect()
	}
	first, most := p.Chip.Now(), len(p.pieces)+mostPieces
	for n := 0; n < batch && len(p.pieces) < most && l.ready(); n++ {
		var f received
		if err := l.receive(&f); err != nil {
			why := TooLong
			if !errors.Is(err, errTooLong) {
				why = Malformed
			}
			p.lose(l, why, 1, len(f.data), err)
			continue
		}
		came := p.Chip.CycleAt(p.when(f.at).Sub(p.Start))
		if came < first {
			l.Late = max(l.Late, p.Chip.TrueTime(first).Sub(p.Chip.TrueTime(came)))
		}
		p.arrive(l, &f, came, max(came, first))
	}
}

// deliver puts the collected frames on the wires of their ports, in the order in which they enter. The chip's time
// advances meanwhile, so that few frames are in the chip at once. They then stay in the processor's cache.
func (p *pump) deliver() { _ = p.Chip.Receiving(p.hand) } // hand returns no error

func (p *pump) hand(chip saisim.Intake) error {
	for {
		var first *line
		at, then := saisim.Cycle(math.MaxUint64), saisim.Cycle(math.MaxUint64) // first enters at at, another line then
		for _, l := range p.lines {
			if l.next == len(l.frames) {
				continue
			}
			if e := l.enters(chip); e < at {
				first, at, then = l, e, at
			} else {
				then = min(then, e)
			}
		}
		if first == nil {
			return nil
		}
		for ; first.next < len(first.frames); first.next++ {
			if at = first.enters(chip); at > then {
				break
			}
			chip.Approach(min(at, p.reached))
			f := &first.frames[first.next]
			if err := chip.ReceiveWaiting(f.Port, f.At, &f.Frame); err != nil {
				p.lose(first, Refused, 1, len(f.Data), err)
				continue
			}
			first.Received++
		}
	}
}

// enters returns the cycle at which the next frame enters the chip.
func (l *line) enters(chip saisim.Intake) saisim.Cycle {
	return max(l.frames[l.next].At, chip.Free(l.id))
}

// when converts a kernel time to the monotonic clock. If it is later than the time of this turn, it becomes the time of
// this turn.
func (p *pump) when(at time.Time) time.Time {
	if at.After(p.now) {
		p.now = time.Now()
	}
	return p.now.Add(-min(max(0, p.now.Round(0).Sub(at)), oldest))
}

// arrive turns a received frame into what a network card would have delivered, at a cycle that is not in the past.
func (p *pump) arrive(l *line, f *received, came, at saisim.Cycle) {
	if !l.present {
		l.Lost[NoPort]++
		return
	}
	if f.offload.gso == gsoNone {
		if f.offload.flags&needsSum != 0 {
			l.Summed++
			if err := f.offload.complete(f.data); err != nil {
				p.lose(l, Malformed, 1, len(f.data), err)
				return
			}
		}
		data := f.data
		if f.long {
			p.pieces = append(p.pieces, data...)
			data = p.pieces[len(p.pieces)-len(data):]
		}
		l.frames = append(l.frames, saisim.Arrival{Port: l.id, At: at, Frame: saisim.Frame{Data: data, Late: at - came}})
		return
	}
	from, first := len(p.pieces), len(p.lengths)
	var err error
	if p.pieces, p.lengths, err = f.offload.cut(f.data, p.pieces, p.lengths); err != nil {
		p.lose(l, Malformed, 1, len(f.data), err)
		return
	}
	l.Cut++
	for _, n := range p.lengths[first:] {
		piece := saisim.Frame{Data: p.pieces[from : from+n], Late: at - came}
		l.frames = append(l.frames, saisim.Arrival{Port: l.id, At: at, Frame: piece})
		from += n
	}
}

// lose counts lost frames. It logs only the first of a kind, since more messages would add nothing.
func (p *pump) lose(l *line, why Loss, frames, bytes int, err error) {
	l.Lost[why] += uint64(frames)
	if why >= ExceedsMTU {
		l.unsent += uint64(frames)
	} else {
		l.unread += uint64(frames)
	}
	if !l.warned[why] {
		l.warned[why] = true
		p.Log.Warn("frames are lost at a live interface; later ones are only counted", "port", l.Name,
			"interface", l.Interface, "why", why, "bytes", bytes, "error", err)
	}
}

// send passes a frame that leaves the chip to its interface. It is called with the chip locked.
func (p *pump) send(o *saisim.Out) {
	if o.Port == saisim.CPUPort && p.Punt != nil {
		p.Punt(o)
		return
	}
	if int(o.Port) >= len(p.byID) || p.byID[o.Port] == nil {
		return
	}
	l := p.byID[o.Port]
	l.send.queue(o.Data)
	if l.send.full() {
		p.flush(l)
	}
}

// flush sends the queued frames of a line. It counts them as sent unless the interface reports otherwise.
func (p *pump) flush(l *line) {
	for _, q := range l.send.frames {
		l.Sent += uint64(q.frames)
		if q.frames > 1 {
			l.Joined += uint64(q.frames)
		}
	}
	l.send.flush()
	for _, f := range l.send.out.losses() {
		l.Sent -= uint64(f.frames)
		if f.frames > 1 {
			l.Joined -= uint64(f.frames)
		}
		p.lose(l, f.why, f.frames, f.bytes, f.err)
		if f.why == LinkDown {
			p.looked = time.Time{} // a link that is down is reported immediately
		}
	}
}

// wait waits for a frame, the chip's next event, or the next look. Looks are not at whole multiples of a period in the
// time of day: the periods of alternate marking begin there, and counters read as early would be those of no whole one.
func (p *pump) wait() error {
	d := lookPeriod
	if at, ok := p.Chip.NextEvent(); ok {
		d = min(d, p.Chip.TrueTime(at).Sub(p.Chip.TrueTime(0))-time.Since(p.Start))
		if d < spin {
			return nil
		}
	}
	p.polls = p.polls[:0]
	for _, l := range p.lines {
		p.polls = append(p.polls, unix.PollFd{Fd: int32(l.fd), Events: unix.POLLIN})
	}
	p.polls = append(p.polls, unix.PollFd{Fd: int32(p.wake.fd), Events: unix.POLLIN})
	timeout := unix.NsecToTimespec(int64(d))
	if _, err := unix.Ppoll(p.polls, &timeout, nil); err != nil && err != unix.EINTR {
		return fmt.Errorf("wires: poll: %w", err)
	}
	for i, l := range p.lines {
		if p.polls[i].Revents&unix.POLLERR != 0 { // the link went down; the error stays until it is read
			_, _ = unix.GetsockoptInt(l.fd, unix.SOL_SOCKET, unix.SO_ERROR)
			p.looked = time.Time{}
		}
	}
	if last := p.polls[len(p.lines)]; last.Revents != 0 {
		var b [8]byte
		_, _ = unix.Read(p.wake.fd, b[:])
	}
	return nil
}

// look checks the state of all interfaces, and reports it to their ports.
func (p *pump) look(now time.Time) {
	p.looked = now
	for _, l := range p.lines {
		is, err := l.look()
		var taken *takenError
		reason := l.reason(is, err)
		if is.up != l.Up || reason != l.Reason {
			level := slog.LevelInfo
			if err != nil {
				level = slog.LevelWarn
			}
			p.Log.Log(context.Background(), level, "link of a live interface", "port", l.Name, "interface", l.Interface,
				"up", is.up, "reason", reason)
		}
		if l.is = is; err != nil {
			l.is = interfaceState{}
		}
		l.There, l.Up, l.Taken, l.MTU, l.Reason = is.there, is.up, errors.As(err, &taken), is.mtu, reason
		l.send.mtu = is.mtu
		p.countDrops(l)
	}
	p.connect()
	p.follow(now)
	for _, l := range p.lines {
		if l.present && l.unread+l.unsent > 0 && p.Chip.AddLost(l.id, l.unread, l.unsent) {
			l.unread, l.unsent = 0, 0
		}
	}
	if now.Sub(p.reported) >= reportPeriod && p.Look != nil {
		p.reported = now
		list := make([]Port, len(p.lines))
		for i, l := range p.lines {
			list[i] = l.Port
		}
		p.Look(list)
	}
}

// reason returns why the interface of a line carries no frames, "" if it does.
func (l *line) reason(is interfaceState, err error) string {
	switch {
	case err != nil:
		return err.Error()
	case !is.there:
		return "there is no interface " + l.Interface
	case l.shut && l.refused == "":
		return "the port is shut down, and interface " + l.Interface + " with it"
	case l.refused != "":
		return l.refused
	case !is.up:
		return "interface " + l.Interface + " is down or has no carrier"
	}
	return ""
}

// follow sets interfaces up and down like their ports.
func (p *pump) follow(now time.Time) {
	if p.Links == nil {
		return
	}
	for _, l := range p.lines {
		l.follower.follow(now, l.present, l.present && p.Chip.PortAdmin(l.id))
		if err := l.act(p.Links, l.socket, l.is); err != nil {
			p.Log.Warn("an interface does not follow its port", "port", l.Name, "interface", l.Interface, "error", err)
		}
	}
}

// countDrops counts the losses at the ring of a line, and makes a new ring if it is stuck.
func (p *pump) countDrops(l *line) {
	switch n, stuck := l.lost(); {
	case stuck:
		err := errors.New("the kernel has no offload header for a frame, and gives none after it; the ring is created again")
		p.lose(l, Malformed, int(n), 0, errors.Join(err, l.remakeRing()))
	case n > 0:
		p.lose(l, RingFull, int(n), 0, errors.New("this process did not come to read them"))
	}
}

// longestStamped returns the longest frame, with FCS, that the interface accepts; 0 means unknown. A frame with one
// tag may be 4 bytes longer, but that is not used: space for one more record is not worth the dependency.
func (l *line) longestStamped() uint32 {
	if l.MTU == 0 {
		return 0
	}
	return uint32(l.MTU) + ethernetHeader + fcsLen
}

const fcsLen = 4

// connect finds the ports that exist now, which depend on the configuration, and sets their link states.
func (p *pump) connect() {
	clear(p.byID)
	for _, l := range p.lines {
		if l.id, l.present = p.Chip.PortByName(l.Name); l.present {
			if more := int(l.id) + 1 - len(p.byID); more > 0 {
				p.byID = append(p.byID, make([]*line, more)...)
			}
			p.byID[l.id] = l
			p.Chip.SetWire(l.id, l.Up, l.longestStamped())
		}
	}
}
