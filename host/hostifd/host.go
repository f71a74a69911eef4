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

// A Kernel is where devices are.
type Kernel interface {
	// Ours lists the devices that are host interfaces of tamtam's.
	Ours() ([]string, error)
	// Set configures a device that another process has made. With whole, it removes every address that d does not
	// list; without, only those that old lists and d does not.
	Set(name string, d, old Device, whole bool) error
	Remove(name string) error
	// SetRoutes makes the routes of the configuration these, in place of those that an earlier call or process has set.
	SetRoutes(routes []schema.Route) error
	// Links calls f with the name and the index of every host interface that there is and that changes, until ctx
	// ends or something is lost. The index of one that has gone is 0.
	Links(ctx context.Context, f func(name string, index int)) error
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

// A Keeper makes and holds devices: syncd, behind the chip's CPU port. It makes those of ports by itself.
type Keeper interface{ Set(cpuport.Interface) error }

// A Host is the devices as Linux should have them. It outlives what the databases say.
type Host struct {
	kernel Kernel
	log    *slog.Logger

	mu     sync.Mutex // of what follows
	keeper Keeper     // nil: syncd is away
	told   map[string]cpuport.Interface
	plan   plan
	are    map[string]Device
	index  map[string]int   // of the devices that there are in Linux
	errs   map[string]error // what could not be done, by device
	held   map[string]*os.File
}

// NewHost returns a host without devices.
func NewHost(k Kernel, log *slog.Logger) *Host {
	return &Host{
		kernel: k, log: log, told: map[string]cpuport.Interface{}, are: map[string]Device{}, index: map[string]int{},
		errs: map[string]error{}, held: map[string]*os.File{},
	}
}

// SetKeeper sets the keeper and sends it all interfaces. A nil keeper means that the CPU port is not connected.
func (h *Host) SetKeeper(k Keeper) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.keeper = k
	clear(h.told)
	h.tell()
}

// Hold keeps the keeper's file of a device open, in place of an earlier one. While it is open, the device keeps its
// carrier even if the keeper is killed. A nil file means that the device has gone.
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

// apply brings the devices to the plan, as far as that works.
func (h *Host) apply(p plan) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.plan = p
	clear(h.errs)
	h.tell()
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

// renew has a device set again as a whole, and reports whether it is one of the plan.
func (h *Host) renew(name string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.are, name)
	_, wanted := h.plan.devices[name]
	return wanted
}

// tell tells the keeper which interfaces there are besides ports, and once all ports are known, which are left over.
func (h *Host) tell() {
	if h.keeper == nil {
		return
	}
	want := h.plan.beside
	for _, name := range slices.SortedFunc(maps.Keys(want), schema.CompareNames) {
		if !reflect.DeepEqual(h.told[name], want[name]) {
			h.set(want[name])
		}
	}
	if !h.plan.whole {
		return
	}
	for _, name := range slices.AppendSeq(slices.Collect(maps.Keys(h.told)), maps.Keys(h.index)) {
		if _, wanted := h.plan.devices[name]; !wanted {
			h.set(cpuport.Interface{Name: name, Gone: true})
		}
	}
}

// set tells the keeper of one interface.
func (h *Host) set(i cpuport.Interface) {
	if err := h.keeper.Set(i); err != nil {
		h.errs[i.Name] = err
		delete(h.told, i.Name)
		return
	}
	if h.told[i.Name] = i; i.Gone {
		delete(h.told, i.Name)
	}
}

// bring brings one device to what it should be.
func (h *Host) bring(name string, d Device) error {
	old, is := h.are[name]
	if is && d.equal(old) {
		return nil
	}
	delete(h.are, name) // until all is done
	if err := h.kernel.Set(name, d, old, !is); err != nil {
		return err
	}
	h.are[name] = d
	return nil
}

// changed takes the index of a device, 0 if there is none any more. It reports whether there is something to do: the
// device is another one than before and is to be set again, or is not wanted.
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

// trouble describes what could not be done. It returns "" if nothing failed.
func (h *Host) trouble() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return netdev.Few(h.errs)
}

// Close ends the host. Devices stay with their keeper, so that a restart costs no route; without one, they are removed.
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

// A Neighbor is an entry of Linux' table of neighbours.
type Neighbor struct {
	Interface string
	Addr      netip.Addr
	MAC       schema.MAC
	Gone      bool // it is not there any more, or nobody has answered
	// State is Linux' state of it, such as REACHABLE or FAILED; "" if Linux has no entry any more.
	State string
	// Permanent neighbours are never asked again. The configuration makes some, and zebra makes 169.254.0.1 for the next
	// hops of unnumbered sessions, which would never answer.
	Permanent bool
}
