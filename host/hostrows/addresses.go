package hostrows

import (
	"context"
	"log/slog"
	"net/netip"
	"time"

	"tamtam/host"
	"tamtam/orch"
	"tamtam/orch/forward"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// An Address is an address of the switch.
type Address struct {
	Interface string
	Prefix    netip.Prefix
	MAC       schema.MAC // MAC address of the interface; zero for a loopback
	State     string     // schema.AddressUsable, AddressTentative or AddressDuplicate
}

// A conflict is a host that has an address of the switch. It is probed periodically.
type conflict struct {
	mac        schema.MAC // zero if unknown
	logged     time.Time
	next       time.Time // time of the next probe
	unanswered int
}

// A host is probed once in askPeriod. When it has not answered mostUnanswered times, it no longer counts as having the
// address. A host with another MAC address is logged once in logPeriod.
const (
	askPeriod      = 20 * time.Second
	mostUnanswered = 3
	logPeriod      = time.Minute
)

// checkPeriod is the interval at which rows and conflicts are checked.
const checkPeriod = time.Second

type place struct {
	on   string
	addr netip.Addr
}

// Addresses are the addresses of the switch, with the hosts that have them too, as rows of HOST_ADDRESS_TABLE. Their
// methods run on the daemon's goroutine.
type Addresses struct {
	d         *orch.Daemon
	log       *slog.Logger
	send      func(on string, frame []byte) error
	over      func(on string, addr netip.Addr)
	own       map[place]Address // nil if they are still unknown
	conflicts map[place]*conflict
	rows      *forward.OwnRows
}

// NewAddresses registers the rows on a daemon. send sends a frame at an interface, and over is called when a host no
// longer has an address of the switch.
func NewAddresses(
	d *orch.Daemon, r *swss.Redis, send func(on string, frame []byte) error, over func(on string, addr netip.Addr),
) *Addresses {
	a := &Addresses{
		d: d, log: d.Logger(), send: send, over: over, conflicts: map[place]*conflict{},
		rows: forward.NewOwnRows(d, r.DB(swss.StateDB), schema.StateHostAddress),
	}
	d.Every(func() time.Duration { return checkPeriod }, a.report)
	return a
}

// Set sets the addresses that the switch has.
func (a *Addresses) Set(list []Address) {
	a.own = make(map[place]Address, len(list))
	for _, own := range list {
		k := place{own.Interface, own.Prefix.Addr()}
		if a.own[k] = own; own.State == schema.AddressDuplicate && a.conflicts[k] == nil {
			a.conflicts[k] = &conflict{next: a.d.Now().Add(askPeriod)}
		}
	}
	for k := range a.conflicts {
		if _, is := a.own[k]; !is {
			delete(a.conflicts, k)
		}
	}
}

// Received records that the host with a MAC address has an address. It is a conflict if the switch has the address at
// the interface.
func (a *Addresses) Received(on string, addr netip.Addr, mac schema.MAC) {
	k := place{on, addr}
	if own, is := a.own[k]; !is || own.MAC == mac || own.MAC.IsZero() {
		return
	}
	c, now := a.conflicts[k], a.d.Now()
	if c == nil {
		c = &conflict{}
		a.conflicts[k] = c
	}
	if c.mac != mac && now.Sub(c.logged) >= logPeriod {
		c.logged = now
		a.log.Warn("another host uses an address of the switch", "interface", on, "address", addr, "mac", mac)
	}
	c.mac, c.next, c.unanswered = mac, now.Add(askPeriod), 0
}

// report probes the hosts in conflict, and writes the rows that differ.
func (a *Addresses) report(ctx context.Context, now time.Time) error {
	if a.own == nil {
		return nil
	}
	for k, c := range a.conflicts {
		switch {
		case now.Before(c.next):
		case c.unanswered >= mostUnanswered:
			delete(a.conflicts, k)
			a.log.Info("an address of the switch is the switch's alone again", "interface", k.on, "address", k.addr)
			a.over(k.on, k.addr)
		case a.send(k.on, host.DuplicateProbe(host.MAC(a.own[k].MAC), k.addr)) == nil:
			c.unanswered++
			c.next = now.Add(askPeriod)
		}
	}
	want := make(map[string]swss.FieldValues, len(a.own))
	for k, own := range a.own {
		row := swss.FieldValues{"state": own.State, schema.FieldNeigh: ""}
		if c := a.conflicts[k]; c != nil {
			if own.State == schema.AddressUsable {
				row["state"] = schema.AddressConflict
			}
			if !c.mac.IsZero() {
				row[schema.FieldNeigh] = c.mac.String()
			}
		}
		want[k.on+"|"+own.Prefix.String()] = row
	}
	return a.rows.Write(ctx, want)
}
