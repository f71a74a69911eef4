package daemons

import (
	"cmp"
	"context"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"tamtam/device/wire"
	"tamtam/host/cpuport"
	"tamtam/saisim"
	"tamtam/saisim/drop"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// wireTTL is how long a row of STATE_DB about a wire stays if it is not renewed.
const wireTTL = 10 * time.Second

// runWires wires a chip's ports to live interfaces and reports their state in STATE_DB, until ctx ends.
func runWires(
	ctx context.Context, r *swss.Redis, chip *saisim.Chip, start time.Time, cfg ChipConfig, cpu cpuSide,
	streams *streaming, c Common,
) error {
	reported := make(chan []wire.Port, 1)
	var taken atomic.Pointer[string]
	if c.health != nil {
		c.health.setLacks(func(context.Context) string {
			if why := taken.Load(); why != nil {
				return *why
			}
			return cmp.Or(cfg.netdevs.lacks(), streams.lacks())
		})
		defer c.health.setLacks(nil)
	}
	look := func(ports []wire.Port) {
		taken.Store(takenPorts(ports))
		select {
		case reported <- ports:
		default: // Redis is slow; the next report has more
		}
	}
	g, ctx := errgroup.WithContext(ctx)
	inject := make(chan func())
	streams.advance = func(ctx context.Context) { // the chip has advanced to the present when it runs injected functions
		done := make(chan struct{})
		select {
		case <-ctx.Done():
		case inject <- func() { close(done) }:
			select {
			case <-ctx.Done():
			case <-done:
			}
		}
	}
	g.Go(func() error { return streams.run(ctx, r) })
	g.Go(func() error {
		return wire.Run(ctx, wire.Config{
			Chip: chip, Start: start, Wires: cfg.Wires, Log: logOf(c), Look: look, Punt: cpu.punt, Inject: inject,
			Links: cfg.links,
		})
	})
	g.Go(func() error {
		for {
			select {
			case <-ctx.Done():
				return nil
			case f := <-cpu.frames():
				select {
				case <-ctx.Done():
					return nil
				case inject <- func() { cpu.send(f) }:
				}
			}
		}
	})
	g.Go(func() error {
		rows := swss.NewTable(r.DB(swss.StateDB), schema.StateWire)
		for {
			select {
			case <-ctx.Done():
				return nil
			case ports := <-reported:
				for _, p := range ports {
					row := wireRow(p)
					addDropped(row, chip, p.Name)
					if rows.SetFor(ctx, p.Name, row, wireTTL) != nil {
						break // Redis is away: syncd's health reports that, and the rows expire
					}
				}
			}
		}
	})
	return g.Wait()
}

// RunUnwired runs a chip without wires, whose CPU port is that of a hub, until ctx ends.
func RunUnwired(
	ctx context.Context, r *swss.Redis, chip *saisim.Chip, start time.Time, hub *cpuport.Hub, c Common,
) error {
	return runWires(ctx, r, chip, start, ChipConfig{}, newCPUSide(chip, hub, nil), newStreaming(chip, nil, logOf(c)), c)
}

// takenPorts returns a text about the ports whose interfaces another switch uses, nil if there are none.
func takenPorts(ports []wire.Port) *string {
	var why []string
	for _, p := range ports {
		if p.Taken {
			why = append(why, "port "+p.Name+": "+p.Reason)
		}
	}
	if len(why) == 0 {
		return nil
	}
	all := strings.Join(why, "; ")
	return &all
}

// wired returns the set of ports that have a wire.
func wired(names map[string]string) map[string]bool {
	ports := map[string]bool{}
	for port := range names {
		ports[port] = true
	}
	return ports
}

// addDropped adds the chip's drop counters of a port, for every reason.
func addDropped(row swss.FieldValues, chip *saisim.Chip, port string) {
	var c saisim.PortCounters
	id, there := chip.PortByName(port)
	if there {
		c, there = chip.PortCounters(id)
	}
	for why, n := range c.Dropped {
		number := schema.WireUnknown
		if there {
			number = strconv.FormatUint(n, 10)
		}
		row[schema.WireDropped+drop.Reason(why).String()] = number
	}
}

func wireRow(p wire.Port) swss.FieldValues {
	number := func(n uint64) string { return strconv.FormatUint(n, 10) }
	row := swss.FieldValues{
		schema.WireInterface: p.Interface, schema.WireStatus: schema.WireMissing, schema.WireReason: p.Reason,
		schema.WireReceived: number(p.Received), schema.WireSent: number(p.Sent), schema.WireCut: number(p.Cut),
		schema.WireSummed: number(p.Summed), schema.WireJoined: number(p.Joined),
		schema.WireLate: number(uint64(p.Late)),
	}
	switch {
	case p.Taken:
		row[schema.WireStatus] = schema.WireTaken
	case p.Up:
		row[schema.WireStatus] = schema.WireUp
	case p.There:
		row[schema.WireStatus] = schema.WireDown
	}
	if p.MTU > 0 {
		row[schema.WireMTU] = strconv.Itoa(p.MTU)
	}
	for why, n := range p.Lost {
		row[schema.WireLost+wire.Loss(why).String()] = number(n)
	}
	return row
}
