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

// A Kernel manages the devices of an operating system.
type Kernel interface {
	// Open creates the device with an address, or takes it over from an earlier process as it is. The zero address
	// stands for a random one.
	Open(name string, mac [6]byte) (Tap, error)
	// Remove removes the device if it is a host interface of tamtam's. It returns nil if there is no such device.
	Remove(name string) error
	// Ours lists the devices that are host interfaces of tamtam's.
	Ours() ([]string, error)
}

// A Tap is a device's other end: reads return the frames that Linux sends, writes pass frames to Linux.
type Tap interface {
	io.ReadWriteCloser
	SetCarrier(on bool) error
	// Hold returns a file by which another process can hold the device. The device keeps its carrier while the file is
	// open. The file gets no frames.
	Hold() *os.File
}

// A Line leads to the chip's CPU port.
type Line interface {
	Receive(context.Context) (cpuport.Packet, error)
	Send(cpuport.Frame) error
	// Forward passes a packet to the client beside the host interfaces, if there is one.
	Forward(cpuport.Packet)
}

// A Port is a HOSTIF object of a port.
type Port struct {
	Name string
	Up   bool
	MAC  [6]byte // address of a new device
}

// A Host is the existing devices, and the path of their frames.
type Host struct {
	kernel Kernel
	log    *slog.Logger
	hold   func(name string, f *os.File)

	mu     sync.Mutex // guards the following fields
	ports  map[string]Port
	others map[string]cpuport.Interface
	taps   map[string]Tap
	up     map[string]bool  // carriers as set: true if on
	errs   map[string]error // failed operations, by device
	closed bool
	reader sync.WaitGroup

	now    atomic.Pointer[view]
	line   atomic.Pointer[Line]
	counts Counts
}

// A view is the lookup state for frames.
type view struct {
	ports  map[string]Port
	others map[string]cpuport.Interface
	vlans  map[uint16]string // interface by VLAN
	lagOf  map[string]string // LAG by member
	taps   map[string]Tap
}

// Counts are frames.
type Counts struct {
	ToHost, FromHost atomic.Uint64 // number of frames that reached the other side
	// Frames from the chip that were lost: truncated ones, those for no device, and those for a device that is down.
	Cut, NoDevice, DeviceDown atomic.Uint64
	// Frames from Linux that were lost: without a chip, with all members down, and those that the CPU port refused.
	NoCPU, NoMember, Refused atomic.Uint64
}

// NewHost returns a host without devices. It calls hold with the file by which other processes hold a device, and with
// nil when the device is gone.
func NewHost(k Kernel, log *slog.Logger, hold func(name string, f *os.File)) *Host {
	h := &Host{
		kernel: k, log: log, hold: hold, ports: map[string]Port{}, others: map[string]cpuport.Interface{},
		taps: map[string]Tap{}, up: map[string]bool{}, errs: map[string]error{},
	}
	h.now.Store(&view{})
	return h
}

// SetPorts applies the HOSTIF objects of a chip to the devices of ports. The device of a removed object is removed.
// fresh means that the chip is a new one, whose objects are yet to come. Then devices stay unchanged, with their
// carriers, until there are objects for them or hostifd no longer requests them.
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
			now[name] = Port{Name: name} // kept until the device is gone
		}
	}
	h.ports = now
	h.bring()
}

// Set creates, changes or removes an interface that is not for a port. It also removes the device of a port that has no
// HOSTIF object any more, for example one of an earlier process.
func (h *Host) Set(i cpuport.Interface) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch _, port := h.ports[i.Name]; {
	case port && i.Gone: // the port's HOSTIF object decides
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

// bring creates missing devices, sets carriers, and updates the lookup state.
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

func (h *Host) open(name string) bool {
	tap, err := h.kernel.Open(name, h.ports[name].MAC)
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

// carry sets the carrier of an existing device.
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

// fail records a failed operation; it is retried with the next change or check.
func (h *Host) fail(name string, err error) {
	if was := h.errs[name]; was == nil || was.Error() != err.Error() {
		h.log.Error("a host interface is not as it should be", "interface", name, "because", err)
	}
	h.errs[name] = err
}

// remove removes a device, which may be one of an earlier process.
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

// Trouble describes the failed operations. It returns "" if nothing failed.
func (h *Host) Trouble() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return Summary(h.errs)
}

// Summary returns the first errors of devices as a sentence, and the number of further ones.
func Summary(errs map[string]error) string {
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

// Close ends the use of the devices. Unless keep is true, all host interfaces are removed, also those of an earlier
// process.
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

// carries reports whether a LAG that is up has a carrier: one of its senders is up, or has no HOSTIF object yet, since
// the chip has restarted.
func (v *view) carries(i cpuport.Interface) bool {
	return v.sender(i) != "" || slices.ContainsFunc(i.Senders, func(port string) bool {
		_, known := v.ports[port]
		return !known
	})
}

// sender returns the member by which a LAG sends: the first sender whose port is up, "" if there is none.
func (v *view) sender(i cpuport.Interface) string {
	for _, port := range i.Senders {
		if v.ports[port].Up {
			return port
		}
	}
	return ""
}

// maxFrame exceeds the maximum length of a device's frame.
const maxFrame = 1 << 14

// read passes the frames that Linux sends at a device to the chip, until the device is closed or removed by another
// program. In the latter case it is created again with the next check.
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

// fromHost passes a frame of a device to the chip.
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
		h.counts.NoMember.Add(1)
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

// Serve passes the frames that the chip punts to the devices until ctx ends or the CPU port is gone.
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

// shared holds the traps of protocols whose frames both Linux and hostifd receive.
var shared = map[string]bool{"lldp": true, "arp_req": true, "arp_resp": true, "neigh_discovery": true}

// trapReport is the trap of frames that the host must send for the chip.
const trapReport = "tam"

const slowProtocols = 0x8809

// whose reports whether the client beside the host interfaces receives a packet, and whether Linux does.
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

// toHost passes a frame of the chip to its device. The device of a VLAN expects it without the VLAN's tag.
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

// onPhysical holds the traps of protocols between the ends of a link: their frames are the port's, even if it is a
// member of a LAG or VLAN.
var onPhysical = map[string]bool{
	"lacp": true, "lldp": true, "stp": true, "pvrst": true, "udld": true, "cdp": true, "eapol": true,
}

func (v *view) deviceOf(p *cpuport.Packet) string {
	if onPhysical[p.Trap] {
		return p.Port
	}
	if p.VLAN != 0 && v.vlans[p.VLAN] != "" {
		return v.vlans[p.VLAN]
	}
	return cmp.Or(v.lagOf[p.Port], p.Port)
}

func untagged(frame []byte, vlan uint16) []byte {
	const addresses, tag = 12, 4
	if len(frame) < addresses+tag || binary.BigEndian.Uint16(frame[addresses:]) != 0x8100 ||
		binary.BigEndian.Uint16(frame[addresses+2:])&0xfff != vlan {
		return frame
	}
	return slices.Delete(frame, addresses, addresses+tag)
}

// Lost lists the counts of lost frames since the start, "" if there are none.
func (h *Host) Lost() string {
	var list []string
	c := &h.counts
	for _, l := range []struct {
		what string
		n    uint64
	}{
		{"cut", c.Cut.Load()}, {"of no interface", c.NoDevice.Load()}, {"for an interface that is down", c.DeviceDown.Load()},
		{"to a chip that is away", c.NoCPU.Load()}, {"to a PortChannel that is down", c.NoMember.Load()},
		{"that the chip did not take", c.Refused.Load()},
	} {
		if l.n > 0 {
			list = append(list, fmt.Sprintf("%d %s", l.n, l.what))
		}
	}
	return strings.Join(list, ", ")
}
