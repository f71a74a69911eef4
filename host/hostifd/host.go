package hostifd

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/netip"
	"os"
	"reflect"
	"slices"
	"sync"

	"tamtam/host/cpuport"
	"tamtam/host/netdev"
	"tamtam/swss/schema"
)

// A Kernel configures the network of an operating system.
type Kernel interface {
	// Ours lists the devices that are host interfaces of tamtam's.
	Ours() ([]string, error)
	// Set configures a device that another process has made. If whole is true, it removes every address that d does not
	// list. Otherwise it removes only addresses that old lists and d does not.
	Set(name string, d, old Device, whole bool) error
	Remove(name string) error
	// SetRoutes sets the routes of the configuration, and removes those that an earlier call or process has set.
	SetRoutes(routes []schema.Route) error
	// Links calls f with the name and the index of every existing host interface and for each change, until ctx ends or
	// an update is lost. The index of a removed one is 0.
	Links(ctx context.Context, f func(name string, index int)) error
	// Neighbors calls f for every existing neighbour and for each change, until ctx ends or an update is lost.
	Neighbors(ctx context.Context, f func(Neighbor)) error
	// SetNeighbor adds a permanent neighbour. If permanent is false, it adds a neighbour that Linux probes, unless one
	// exists.
	SetNeighbor(n Neighbor, permanent bool) error
	// Configured returns the permanent neighbours that SetNeighbor has added, also in an earlier process.
	Configured() ([]Neighbor, error)
	// RemoveNeighbor removes a neighbour. It succeeds if there is none.
	RemoveNeighbor(n Neighbor) error
	// Ask makes Linux resolve a neighbour's MAC address.
	Ask(n Neighbor) error
	// Advice lists settings that are wrong for host interfaces, with the right values.
	Advice() []string
}

// A Keeper creates and holds devices: it is syncd, reached through the chip's CPU port. It creates the devices of ports
// by itself.
type Keeper interface{ Set(cpuport.Interface) error }

// A Host holds the target state of the devices in Linux. It survives restarts of the daemon.
type Host struct {
	kernel Kernel
	log    *slog.Logger

	mu       sync.Mutex // guards the following fields
	keeper   Keeper     // nil while syncd is not connected
	reported map[string]cpuport.Interface
	plan     plan
	are      map[string]Device
	index    map[string]int   // index of each device that exists in Linux, by name
	errs     map[string]error // failed operations, by device
	held     map[string]*os.File
}

// NewHost returns a host without devices.
func NewHost(k Kernel, log *slog.Logger) *Host {
	return &Host{
		kernel: k, log: log, reported: map[string]cpuport.Interface{}, are: map[string]Device{}, index: map[string]int{},
		errs: map[string]error{}, held: map[string]*os.File{},
	}
}

// SetKeeper sets the keeper and sends it all interfaces. A nil keeper means that the CPU port is not connected.
func (h *Host) SetKeeper(k Keeper) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.keeper = k
	clear(h.reported)
	h.report()
}

// Hold keeps the keeper's file of a device open, and closes an earlier one. While it is open, the device keeps its
// carrier even if the keeper is killed. A nil file means that the device is gone.
func (h *Host) Hold(name string, f *os.File) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if old := h.held[name]; old != nil {
		old.Close()
	}
	if h.held[name] = f; f == nil {
		delete(h.held, name)
	}
}

// apply applies the plan to the devices, and records errors.
func (h *Host) apply(p plan) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.plan = p
	clear(h.errs)
	h.report()
	if p.whole {
		maps.DeleteFunc(h.are, func(name string, _ Device) bool { _, wanted := p.devices[name]; return !wanted })
	}
	for _, name := range slices.SortedFunc(maps.Keys(p.devices), schema.CompareNames) {
		if err := h.bring(name, p.devices[name]); err != nil {
			h.errs[name] = err
			h.log.Debug("a host interface is not as it should be", "interface", name, "because", err)
		}
	}
	if p.whole {
		if err := h.kernel.SetRoutes(p.routes); err != nil {
			h.errs["routes"] = err
		}
	}
}

// renew makes the next apply set a device completely, and reports whether it is in the plan.
func (h *Host) renew(name string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.are, name)
	_, wanted := h.plan.devices[name]
	return wanted
}

// report sends the keeper the interfaces that are not ports, and once all ports are known, the ones to remove.
func (h *Host) report() {
	if h.keeper == nil {
		return
	}
	want := h.plan.beside
	for _, name := range slices.SortedFunc(maps.Keys(want), schema.CompareNames) {
		if !reflect.DeepEqual(h.reported[name], want[name]) {
			h.set(want[name])
		}
	}
	if !h.plan.whole {
		return
	}
	for _, name := range slices.AppendSeq(slices.Collect(maps.Keys(h.reported)), maps.Keys(h.index)) {
		if _, wanted := h.plan.devices[name]; !wanted {
			h.set(cpuport.Interface{Name: name, Gone: true})
		}
	}
}

func (h *Host) set(i cpuport.Interface) {
	if err := h.keeper.Set(i); err != nil {
		h.errs[i.Name] = err
		delete(h.reported, i.Name)
		return
	}
	if h.reported[i.Name] = i; i.Gone {
		delete(h.reported, i.Name)
	}
}

func (h *Host) bring(name string, d Device) error {
	old, is := h.are[name]
	if is && d.equal(old) {
		return nil
	}
	delete(h.are, name) // absent until the device is completely set
	if err := h.kernel.Set(name, d, old, !is); err != nil {
		return err
	}
	h.are[name] = d
	return nil
}

// changed records the index of a device, 0 if it no longer exists. It reports whether there is work: the device is a
// new one and must be set again, or is not wanted.
func (h *Host) changed(name string, index int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	was := h.index[name]
	if h.index[name] = index; index == 0 {
		delete(h.index, name)
	}
	_, wanted := h.plan.devices[name]
	if was == index || !wanted && index == 0 {
		return false
	}
	delete(h.are, name)
	return true
}

// trouble describes the failed operations. It returns "" if nothing failed.
func (h *Host) trouble() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return netdev.Summary(h.errs)
}

// Close ends the host. Devices stay with their keeper, so that a restart costs no route; without a keeper they are
// removed.
func (h *Host) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, f := range h.held {
		f.Close()
	}
	clear(h.held)
	if h.keeper != nil {
		return nil
	}
	ours, err := h.kernel.Ours()
	errs := []error{err, h.kernel.SetRoutes(nil)}
	for _, name := range ours {
		errs = append(errs, h.kernel.Remove(name))
	}
	return errors.Join(errs...)
}

// A Neighbor is an entry of Linux' neighbour table.
type Neighbor struct {
	Interface string
	Addr      netip.Addr
	MAC       schema.MAC
	Gone      bool // true if the neighbour no longer exists, or has not answered
	// State is Linux' state of the neighbour, such as REACHABLE or FAILED; "" if Linux has no entry any more.
	State string
	// Permanent neighbours are never probed. Some are configured, and zebra creates 169.254.0.1 for the next hops of
	// unnumbered sessions, which would never answer.
	Permanent bool
}
