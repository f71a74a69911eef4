package hostifd

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"tamtam/schema"
)

// A Kernel is where devices are.
type Kernel interface {
	// Ours lists the devices that are host interfaces of tamtam's already.
	Ours() ([]string, error)
	// Open makes the device, or takes it over.
	Open(name string) (Tap, error)
	// Set brings the device, which is open, to what it should be. With whole, addresses that are not wanted go,
	// whoever has set them; else those of old.
	Set(name string, d, old Device, whole bool) error
	Remove(name string) error
	// Neighbors calls f for every neighbour that there is and that changes, until ctx ends or something is lost.
	Neighbors(ctx context.Context, f func(Neighbor)) error
	// SetNeighbor makes a permanent neighbour, or where there is none one that is asked whether it is still there.
	SetNeighbor(n Neighbor, permanent bool) error
	RemoveNeighbor(n Neighbor) error
	// Ask has Linux find out a neighbour's MAC address.
	Ask(n Neighbor) error
	// Advice says which settings are not as host interfaces need them, and what would be right.
	Advice() []string
}

// A Tap is a device's other end: what Linux sends is read, what is written Linux receives.
type Tap interface {
	io.ReadWriteCloser
	SetCarrier(on bool) error
}

// A CPU is the chip's CPU port.
type CPU interface {
	// Receive returns the next frame for the CPU: the port that it came in at, its VLAN (0: none) and why the CPU has
	// it. A frame that was cut has no data.
	Receive(ctx context.Context) (port string, vlan uint16, trap string, data []byte, err error)
	// Send sends a frame at a port, or in a VLAN.
	Send(port string, vlan uint16, data []byte) error
}

// A Host is the devices that there are, and the frames that go through them. It outlives what the databases say.
type Host struct {
	kernel Kernel
	log    *slog.Logger

	mu     sync.Mutex // of what follows
	taps   map[string]Tap
	are    map[string]Device
	errs   map[string]error // what could not be done, by device
	begun  bool
	reader sync.WaitGroup

	now    atomic.Pointer[view]
	cpu    atomic.Pointer[CPU]
	counts Counts
}

// A view is what frames are looked up in.
type view struct {
	plan
	taps map[string]Tap
}

// Counts are frames.
type Counts struct {
	ToHost, FromHost atomic.Uint64 // that got to the other side
	// Of the chip's, lost: they were cut, are of no device, or of one that is down.
	Cut, NoDevice, DeviceDown atomic.Uint64
	// Of Linux', lost: the chip is away, all members are down, or the CPU port did not take them.
	NoCPU, NoWay, Refused atomic.Uint64
}

// NewHost returns a host without devices.
func NewHost(k Kernel, log *slog.Logger) *Host {
	h := &Host{kernel: k, log: log, taps: map[string]Tap{}, are: map[string]Device{}, errs: map[string]error{}}
	h.now.Store(&view{})
	return h
}

// apply brings the devices to the plan, as far as that works.
func (h *Host) apply(p plan) {
	h.mu.Lock()
	defer h.mu.Unlock()
	clear(h.errs)
	if p.whole {
		h.removeOthers(p)
	}
	for _, name := range slices.SortedFunc(maps.Keys(p.devices), schema.CompareNames) {
		if err := h.bring(name, p.devices[name]); err != nil {
			h.errs[name] = err
			h.log.Error("a host interface is not as it should be", "interface", name, "because", err)
		}
	}
	h.now.Store(&view{plan: p, taps: maps.Clone(h.taps)})
}

// removeOthers removes devices that are not wanted, also those of a former process.
func (h *Host) removeOthers(p plan) {
	var names []string
	if !h.begun {
		former, err := h.kernel.Ours()
		if err != nil {
			h.errs["host"] = err
			return
		}
		names, h.begun = former, true
	}
	for _, name := range append(names, slices.Collect(maps.Keys(h.taps))...) {
		if _, wanted := p.devices[name]; wanted {
			continue
		}
		if err := h.drop(name); err != nil {
			h.errs[name] = err
		}
	}
}

func (h *Host) drop(name string) error {
	if tap := h.taps[name]; tap != nil {
		tap.Close()
		delete(h.taps, name)
	}
	delete(h.are, name)
	h.log.Info("a host interface goes", "interface", name)
	return h.kernel.Remove(name)
}

// bring brings one device to what it should be.
func (h *Host) bring(name string, d Device) error {
	tap, old := h.taps[name], h.are[name]
	fresh := tap == nil
	if fresh {
		var err error
		if tap, err = h.kernel.Open(name); err != nil {
			return err
		}
		if err := tap.SetCarrier(d.Carrier); err != nil {
			return errors.Join(err, tap.Close())
		}
		h.taps[name] = tap
		h.log.Info("a host interface is there", "interface", name)
		h.reader.Go(func() { h.read(name, tap) })
	}
	if d.equal(old) && !fresh {
		return nil
	}
	delete(h.are, name) // until all is done
	if err := errors.Join(tap.SetCarrier(d.Carrier), h.kernel.Set(name, d, old, fresh || old.MTU == 0)); err != nil {
		return err
	}
	h.are[name] = d
	return nil
}

// trouble says what could not be done, "" if all was.
func (h *Host) trouble() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var list []string
	for _, name := range slices.SortedFunc(maps.Keys(h.errs), schema.CompareNames) {
		list = append(list, fmt.Sprintf("%s: %v", name, h.errs[name]))
	}
	const few = 3
	if n := len(list) - few; n > 0 {
		list = append(list[:few], fmt.Sprintf("and %d more", n))
	}
	return strings.Join(list, "; ")
}

// Close removes all devices.
func (h *Host) Close() error {
	h.mu.Lock()
	var errs []error
	for name := range maps.Clone(h.taps) {
		errs = append(errs, h.drop(name))
	}
	h.now.Store(&view{})
	h.mu.Unlock()
	h.reader.Wait()
	return errors.Join(errs...)
}

// maxFrame is more than the longest frame of a device.
const maxFrame = 1 << 14

// read gives what Linux sends at a device to the chip, until the device is closed.
func (h *Host) read(name string, tap Tap) {
	buf := make([]byte, maxFrame)
	for {
		n, err := tap.Read(buf)
		if err != nil {
			return
		}
		h.fromHost(name, buf[:n])
	}
}

// fromHost gives a frame of a device to the chip.
func (h *Host) fromHost(name string, frame []byte) {
	w := h.now.Load().ways[name]
	port := w.port
	switch cpu := h.cpu.Load(); {
	case w.lag && len(w.members) == 0:
		h.counts.NoWay.Add(1)
		return
	case w.lag:
		port = w.members[0]
		fallthrough
	case port != "" || w.vlan != 0:
		if cpu == nil {
			h.counts.NoCPU.Add(1)
		} else if (*cpu).Send(port, w.vlan, slices.Clone(frame)) != nil {
			h.counts.Refused.Add(1)
		} else {
			h.counts.FromHost.Add(1)
		}
	default: // a loopback
	}
}

// Serve gives what the chip punts to the devices until ctx ends or the CPU port is gone.
func (h *Host) Serve(ctx context.Context, cpu CPU) error {
	h.cpu.Store(&cpu)
	defer h.cpu.Store(nil)
	for {
		port, vlan, trap, frame, err := cpu.Receive(ctx)
		if err != nil {
			return err
		}
		h.toHost(port, vlan, trap, frame)
	}
}

// toHost gives a frame of the chip to its device. That of a VLAN expects it without the VLAN's tag.
func (h *Host) toHost(port string, vlan uint16, trap string, frame []byte) {
	v := h.now.Load()
	name := v.deviceOf(port, vlan, trap)
	tap := v.taps[name]
	switch {
	case len(frame) == 0:
		h.counts.Cut.Add(1)
		return
	case tap == nil:
		h.counts.NoDevice.Add(1)
		return
	}
	if v.ways[name].vlan != 0 {
		frame = untagged(frame, vlan)
	}
	if _, err := tap.Write(frame); err != nil {
		h.counts.DeviceDown.Add(1)
		return
	}
	h.counts.ToHost.Add(1)
}

// untagged takes the tag of a VLAN out of a frame.
func untagged(frame []byte, vlan uint16) []byte {
	const addresses, tag = 12, 4
	if len(frame) < addresses+tag || binary.BigEndian.Uint16(frame[addresses:]) != 0x8100 ||
		binary.BigEndian.Uint16(frame[addresses+2:])&0xfff != vlan {
		return frame
	}
	return slices.Delete(frame, addresses, addresses+tag)
}

// Lost says what was lost, and how often, since it began; "": nothing.
func (h *Host) Lost() string {
	var list []string
	c := &h.counts
	for _, l := range []struct {
		what string
		n    uint64
	}{
		{"cut", c.Cut.Load()}, {"of no interface", c.NoDevice.Load()}, {"for an interface that is down", c.DeviceDown.Load()},
		{"to a chip that is away", c.NoCPU.Load()}, {"to a PortChannel that is down", c.NoWay.Load()},
		{"that the chip did not take", c.Refused.Load()},
	} {
		if l.n > 0 {
			list = append(list, fmt.Sprintf("%d %s", l.n, l.what))
		}
	}
	return strings.Join(list, ", ")
}

// A Neighbor is an entry of Linux' table of neighbours.
type Neighbor struct {
	Interface string
	Addr      netip.Addr
	MAC       schema.MAC
	Gone      bool // it is not there any more, or nobody has answered
	// State is Linux' state of it, such as REACHABLE or FAILED; "" if Linux has no entry any more.
	State string
	// Permanent says that it stays without being asked. Besides those of the configuration, zebra has such ones:
	// 169.254.0.1 for the next hops of unnumbered sessions, which would never answer.
	Permanent bool
}
