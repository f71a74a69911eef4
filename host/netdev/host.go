package netdev

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"tamtam/host/cpuport"
	"tamtam/swss/schema"
)

// A Kernel is where devices are.
type Kernel interface {
	// Open makes the device, or takes it over from an earlier process.
	Open(name string) (Tap, error)
	// Remove removes the device if it is a host interface of tamtam's. It returns nil if there is no such device.
	Remove(name string) error
	// Ours lists the devices that are host interfaces of tamtam's.
	Ours() ([]string, error)
}

// A Tap is a device's other end: what Linux sends is read, what is written Linux receives.
type Tap interface {
	io.ReadWriteCloser
	SetCarrier(on bool) error
	// Hold returns a file with which another process holds the device: it keeps its carrier while that is open. No frame
	// comes to it.
	Hold() *os.File
}

// A Line leads to the chip's CPU port.
type Line interface {
	Receive(context.Context) (cpuport.Packet, error)
	Send(cpuport.Frame) error
	// Forward gives a packet to the client beside the host interfaces, if there is one.
	Forward(cpuport.Packet)
}

// A Port is a HOSTIF object of a port.
type Port struct {
	Name string
	Up   bool
}

// A Host is the devices that there are, and the frames that go through them.
type Host struct {
	kernel Kernel
	log    *slog.Logger
	hold   func(name string, f *os.File)

	mu     sync.Mutex // of what follows
	ports  map[string]Port
	others map[string]cpuport.Interface
	taps   map[string]Tap
	up     map[string]bool  // carriers, as set
	errs   map[string]error // what could not be done, by device
	closed bool
	reader sync.WaitGroup

	now    atomic.Pointer[view]
	line   atomic.Pointer[Line]
	counts Counts
}

// A view is what frames are looked up in.
type view struct {
	ports  map[string]Port
	others map[string]cpuport.Interface
	vlans  map[uint16]string // interface by VLAN
	lagOf  map[string]string // LAG by member
	taps   map[string]Tap
}

// Counts are frames.
type Counts struct {
	ToHost, FromHost atomic.Uint64 // that got to the other side
	// Frames from the chip that were lost: truncated ones, those for no device, and those for a device that is down.
	Cut, NoDevice, DeviceDown atomic.Uint64
	// Frames from Linux that were lost: without a chip, with all members down, and those that the CPU port refused.
	NoCPU, NoWay, Refused atomic.Uint64
}

// NewHost returns a host without devices. It hands on the files by which others hold them, and says (nil) which have
// gone.
func NewHost(k Kernel, log *slog.Logger, hold func(name string, f *os.File)) *Host {
	h := &Host{
		kernel: k, log: log, hold: hold, ports: map[string]Port{}, others: map[string]cpuport.Interface{},
		taps: map[string]Tap{}, up: map[string]bool{}, errs: map[string]error{},
	}
	h.now.Store(&view{})
	return h
}

// SetPorts brings the devices of ports to the HOSTIF objects of a chip. The device of an object that is gone goes.
// With fresh, the chip is another one than before, and its objects are yet to come: devices stay as they are, with
// their carriers, until there are objects for them or hostifd no longer wants them.
func (h *Host) SetPorts(ports []Port, fresh bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := map[string]Port{}
	for _, p := range ports {
		now[p.Name] = p
	}
	for name := range h.ports {
		if _, is := now[name]; is || fresh || h.taps[name] == nil {
			continue
		}
		if err := h.remove(name); err != nil {
			h.fail(name, err)
			now[name] = Port{Name: name} // until it has gone
		}
	}
	h.ports = now
	h.bring()
}

// Set makes, changes or removes an interface that is no port's. It also removes the device of a port that has no HOSTIF
// object any more, as one that an earlier process has left.
func (h *Host) Set(i cpuport.Interface) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch _, port := h.ports[i.Name]; {
	case port && i.Gone: // its object decides
		return nil
	case schema.IsPortName(i.Name) && !i.Gone:
		return fmt.Errorf("interface %s: it is a port's, and follows the port's HOSTIF object", i.Name)
	case i.Gone:
		delete(h.others, i.Name)
		if err := h.remove(i.Name); err != nil {
			return err
		}
	default:
		h.others[i.Name] = i
	}
	h.bring()
	return h.errs[i.Name]
}

// bring makes the devices that are missing, sets carriers, and has frames looked up in what there is now.
func (h *Host) bring() {
	if h.closed {
		return
	}
	v := &view{
		ports: maps.Clone(h.ports), others: maps.Clone(h.others), vlans: map[uint16]string{}, lagOf: map[string]string{},
	}
	want := map[string]bool{}
	for name, p := range h.ports {
		want[name] = p.Up
	}
	for name, i := range h.others {
		want[name] = i.Up && (!i.LAG || v.carries(i))
		if i.VLAN != 0 {
			v.vlans[i.VLAN] = name
		}
		for _, port := range i.Members {
			v.lagOf[port] = name
		}
	}
	maps.DeleteFunc(h.errs, func(name string, _ error) bool { _, is := want[name]; return !is })
	for _, name := range slices.SortedFunc(maps.Keys(want), schema.CompareNames) {
		if h.taps[name] != nil || h.open(name) {
			h.carry(name, want[name])
		}
	}
	v.taps = maps.Clone(h.taps)
	h.now.Store(v)
}

// open makes a device.
func (h *Host) open(name string) bool {
	tap, err := h.kernel.Open(name)
	if err != nil {
		h.fail(name, err)
		return false
	}
	h.log.Info("a host interface is there", "interface", name)
	delete(h.errs, name)
	h.taps[name] = tap
	h.hold(name, tap.Hold())
	h.reader.Go(func() { h.read(name, tap) })
	return true
}

// carry sets the carrier of a device that there is.
func (h *Host) carry(name string, up bool) {
	tap := h.taps[name]
	if is, set := h.up[name]; tap == nil || set && is == up {
		return
	}
	if err := tap.SetCarrier(up); err != nil {
		h.fail(name, err)
		return
	}
	delete(h.errs, name)
	h.up[name] = up
}

// fail notes what could not be done; it is tried again with the next change or look.
func (h *Host) fail(name string, err error) {
	if was := h.errs[name]; was == nil || was.Error() != err.Error() {
		h.log.Error("a host interface is not as it should be", "interface", name, "because", err)
	}
	h.errs[name] = err
}

// remove removes a device, also one that an earlier process has left.
func (h *Host) remove(name string) error {
	h.hold(name, nil)
	if tap := h.taps[name]; tap != nil {
		tap.Close()
		h.log.Info("a host interface goes", "interface", name)
	}
	delete(h.taps, name)
	delete(h.up, name)
	delete(h.errs, name)
	return h.kernel.Remove(name)
}

// Trouble returns what could not be done; "" if all was.
func (h *Host) Trouble() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return Few(h.errs)
}

// Few returns the first errors of devices as a sentence, and how many more there are.
func Few(errs map[string]error) string {
	var list []string
	for _, name := range slices.SortedFunc(maps.Keys(errs), schema.CompareNames) {
		list = append(list, fmt.Sprintf("%s: %v", name, errs[name]))
	}
	const few = 3
	if n := len(list) - few; n > 0 {
		list = append(list[:few], fmt.Sprintf("and %d more", n))
	}
	return strings.Join(list, "; ")
}

// Close ends the use of the devices. All host interfaces are removed, also those that an earlier process has left,
// unless they are to be kept for the next process.
func (h *Host) Close(keep bool) error {
	h.mu.Lock()
	h.closed = true
	var errs []error
	for name, tap := range h.taps {
		h.hold(name, nil)
		errs = append(errs, tap.Close())
	}
	clear(h.taps)
	h.now.Store(&view{})
	if !keep {
		ours, err := h.kernel.Ours()
		errs = append(errs, err)
		for _, name := range ours {
			errs = append(errs, h.kernel.Remove(name))
		}
	}
	h.mu.Unlock()
	h.reader.Wait()
	return errors.Join(errs...)
}

// carries reports whether a LAG that is up has a carrier: while a member by which it may send is up, or has no HOSTIF
// object yet, since the chip has begun anew.
func (v *view) carries(i cpuport.Interface) bool {
	return v.sender(i) != "" || slices.ContainsFunc(i.Senders, func(port string) bool {
		_, known := v.ports[port]
		return !known
	})
}

// sender returns the member by which a LAG sends: the first that may and whose port is up; "": none.
func (v *view) sender(i cpuport.Interface) string {
	for _, port := range i.Senders {
		if v.ports[port].Up {
			return port
		}
	}
	return ""
}

// maxFrame is more than the longest frame of a device.
const maxFrame = 1 << 14

// read gives what Linux sends at a device to the chip, until the device is closed, or somebody has removed it: then
// it is made again with the next look.
func (h *Host) read(name string, tap Tap) {
	buf := make([]byte, maxFrame)
	for {
		n, err := tap.Read(buf)
		if err != nil {
			break
		}
		h.fromHost(name, buf[:n])
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.taps[name] == tap {
		h.hold(name, nil)
		tap.Close()
		delete(h.taps, name)
		delete(h.up, name)
	}
}

// fromHost gives a frame of a device to the chip.
func (h *Host) fromHost(name string, frame []byte) {
	v := h.now.Load()
	i, other := v.others[name]
	f := cpuport.Frame{Port: v.ports[name].Name, VLAN: i.VLAN}
	if i.LAG {
		f.Port = v.sender(i)
	}
	none := f.Port == "" && f.VLAN == 0
	switch line := h.line.Load(); {
	case none && i.LAG:
		h.counts.NoWay.Add(1)
	case none && other: // a loopback
	case none || line == nil:
		h.counts.NoCPU.Add(1)
	default:
		f.Data = slices.Clone(frame)
		if (*line).Send(f) != nil {
			h.counts.Refused.Add(1)
		} else {
			h.counts.FromHost.Add(1)
		}
	}
}

// Serve gives what the chip punts to the devices until ctx ends or the CPU port is gone.
func (h *Host) Serve(ctx context.Context, line Line) error {
	h.line.Store(&line)
	defer h.line.Store(nil)
	for {
		p, err := line.Receive(ctx)
		if refused := (*cpuport.Refusal)(nil); errors.As(err, &refused) {
			h.log.Debug("the chip has refused a frame of a host interface", "because", refused.Reason)
			continue
		}
		if err != nil {
			return err
		}
		client, host := h.now.Load().whose(&p)
		if client {
			line.Forward(p)
		}
		if host {
			h.toHost(&p)
		}
	}
}

// shared are the traps of protocols that hostifd has a look at beside Linux.
var shared = map[string]bool{"lldp": true, "arp_req": true, "arp_resp": true, "neigh_discovery": true}

// trapReport is the trap of what the chip has the host send.
const trapReport = "tam"

// slowProtocols is the EtherType of LACP.
const slowProtocols = 0x8809

// whose reports whether the client beside the host interfaces has a packet, and whether Linux has it.
func (v *view) whose(p *cpuport.Packet) (client, host bool) {
	switch {
	case p.Trap == trapReport:
		return true, false
	case len(p.Data) >= 14 && binary.BigEndian.Uint16(p.Data[12:]) == slowProtocols:
		lacp := v.others[v.lagOf[p.Port]].LACP
		return lacp, !lacp
	}
	return shared[p.Trap], true
}

// toHost gives a frame of the chip to its device. That of a VLAN expects it without the VLAN's tag.
func (h *Host) toHost(p *cpuport.Packet) {
	v := h.now.Load()
	name := v.deviceOf(p)
	tap, frame := v.taps[name], p.Data
	switch {
	case len(frame) != p.Len || p.Len == 0:
		h.counts.Cut.Add(1)
		return
	case tap == nil:
		h.counts.NoDevice.Add(1)
		return
	}
	if v.others[name].VLAN != 0 {
		frame = untagged(frame, p.VLAN)
	}
	if _, err := tap.Write(frame); err != nil {
		h.counts.DeviceDown.Add(1)
		return
	}
	h.counts.ToHost.Add(1)
}

// onPhysical are the traps of protocols between the ends of a wire: their frames are the port's, whatever it is part
// of.
var onPhysical = map[string]bool{
	"lacp": true, "lldp": true, "stp": true, "pvrst": true, "udld": true, "cdp": true, "eapol": true,
}

// deviceOf returns the device that a frame of the chip is for.
func (v *view) deviceOf(p *cpuport.Packet) string {
	if onPhysical[p.Trap] {
		return p.Port
	}
	if p.VLAN != 0 && v.vlans[p.VLAN] != "" {
		return v.vlans[p.VLAN]
	}
	return cmp.Or(v.lagOf[p.Port], p.Port)
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

// Lost returns what was lost, and how often, since it began; "": nothing.
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
