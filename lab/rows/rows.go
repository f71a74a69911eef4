package rows

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/netip"
	"path/filepath"
	"strings"
	"time"

	"tamtam/collector/journey"
	"tamtam/collector/result"
	"tamtam/device"
	"tamtam/fleet/join"
	"tamtam/fleet/local"
	"tamtam/lab"
	"tamtam/tam/record"
)

// window is the length of the windows of stamps and drops.
const window = 10 * time.Millisecond

// captures returns the captures of the frames that hosts received.
func (x *reading) captures() (list []string) {
	for _, h := range x.lab.Topology().Hosts {
		if h.Capture {
			list = append(list, filepath.Join(x.dir, h.Name+".received.pcap"))
		}
	}
	return list
}

// collected adds the rows that the collector derives from the tail-stamps, records and drop reports that came to hosts.
// They have flags for lost and unreadable data.
func (x *reading) collected(ctx context.Context) error {
	paths := x.captures()
	if len(paths) == 0 {
		return nil
	}
	names, err := x.addresses()
	if err != nil {
		return err
	}
	plans, err := x.plans()
	if err != nil {
		return err
	}
	t := x.lab.Topology()
	network, err := t.Network()
	if err != nil {
		return err
	}
	c := local.Start(local.Config{
		Names: names, StoreRows: math.MaxInt32, Began: lab.Epoch(),
		Logger: slog.New(slog.DiscardHandler),
		Join: join.Options{Window: window, Rows: math.MaxInt32, Topology: network, Plans: plans,
			Journey: journey.Options{Within: journey.DefaultWithin}},
	})
	err = c.ReadCaptures(ctx, "captures of hosts", paths...)
	if err = errors.Join(err, c.Close()); err != nil {
		return err
	}
	latest := map[string][]result.Source{}
	err = c.Store().Each(ctx, 0, math.MaxInt64, func(b *result.Batch) bool {
		x.batch.Hops = append(x.batch.Hops, b.Hops...)
		x.batch.Drops = append(x.batch.Drops, b.Drops...)
		x.batch.Journeys = append(x.batch.Journeys, b.Journeys...)
		x.batch.Amends = append(x.batch.Amends, b.Amends...)
		latest[b.Partition] = b.Sources
		return true
	})
	for _, partition := range device.SortedKeys(latest) {
		x.batch.Sources = append(x.batch.Sources, latest[partition]...)
	}
	return err
}

// addresses returns the addresses of the switches' interfaces. A switch's reports come from one of them.
func (x *reading) addresses() (map[netip.Addr]string, error) {
	names := map[netip.Addr]string{}
	t := x.lab.Topology()
	for i := range t.Switches {
		config, err := t.ConfigOf(&t.Switches[i])
		if err != nil {
			return nil, fmt.Errorf("switch %s: %w", t.Switches[i].Name, err)
		}
		for _, rows := range config {
			for key, fields := range rows {
				_, address, _ := strings.Cut(key, "|")
				if p, err := netip.ParsePrefix(address); err == nil {
					names[p.Addr()] = t.Switches[i].Name
				}
				if a, err := netip.ParseAddr(fields["src_ip"]); err == nil {
					names[a] = t.Switches[i].Name
				}
			}
		}
	}
	return names, nil
}

// plans returns the plans that sessions of table recording used.
func (x *reading) plans() (plans []*record.Plan, err error) {
	for _, name := range device.SortedKeys(x.result.Plans) {
		var p record.Plan
		if err := json.NewDecoder(bytes.NewReader(x.result.Plans[name])).Decode(&p); err != nil {
			return nil, fmt.Errorf("plan %s: %w", name, err)
		}
		plans = append(plans, &p)
	}
	return plans, nil
}
