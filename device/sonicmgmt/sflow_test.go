package sonicmgmt_test

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"testing"
	"time"

	"tamtam/device"
	"tamtam/device/devicetest"
	"tamtam/swss"
	"tamtam/swss/schema"
	wire "tamtam/tam/sflow"
)

// Collectors of the tests, as SONiC's rows have them.
var (
	first  = netip.MustParseAddrPort("192.0.2.1:6343")
	second = netip.MustParseAddrPort("192.0.2.2:6344")
)

// A collected is a switch with sFlow, and what two collectors have received.
type collected struct{ *devicetest.SFlowTest }

// newCollected starts a switch that samples one in 256 packets at all ports, for both collectors.
func newCollected(t *testing.T) collected {
	t.Helper()
	config := devicetest.SFlowConfig()
	config[schema.CfgSFlow] = map[string]swss.FieldValues{"global": {"admin_state": "up", "polling_interval": "20"}}
	config[schema.CfgSFlowCollector] = map[string]swss.FieldValues{
		"c0": {"collector_ip": "192.0.2.1"}, "c1": {"collector_ip": "192.0.2.2", "collector_port": "6344"}}
	config[schema.CfgSFlowSession] = map[string]swss.FieldValues{"all": {"sample_direction": "rx"},
		"Ethernet0": {"sample_rate": "256"}, "Ethernet1": {"sample_rate": "256"}, "Ethernet2": {"sample_rate": "256"}}
	return collected{devicetest.NewSFlowTestOn(t, device.ConfigDB(config))}
}

// set writes a row of CONFIG_DB, or deletes it without fields.
func (c collected) set(row string, fields swss.FieldValues) {
	c.Helper()
	db := c.Redis.DB(swss.ConfigDB).Client()
	devicetest.NoError(c.T, db.Del(c.Context(), row).Err())
	if fields != nil {
		devicetest.NoError(c.T, db.HSet(c.Context(), row, fields).Err())
	}
	devicetest.NoError(c.T, c.RunUntilIdle(c.Context()))
}

// traffic forwards 3000 packets, lets a polling interval pass, and returns for each collector the number of flow
// samples and of counter samples that it has received meanwhile.
func (c collected) traffic() map[netip.AddrPort][2]int {
	c.Helper()
	c.Pass(time.Second)
	clear(c.Got)
	c.Send(3000, 0)
	c.Pass(20 * time.Second)
	got := map[netip.AddrPort][2]int{}
	for at, samples := range c.Got {
		n := got[at]
		for _, s := range samples {
			switch s := s.(type) {
			case *wire.FlowSample:
				if n[0]++; s.Rate != 256 || s.Source.Index != 1 {
					c.Errorf("a sample of port %d with rate %d", s.Source.Index, s.Rate)
				}
			case *wire.CounterSample:
				n[1]++
			}
		}
		got[at] = n
	}
	return got
}

// want checks which collectors receive flow samples, about one of 256 packets, and how many counter samples.
func (c collected) want(what string, counters int, collectors ...netip.AddrPort) {
	c.Helper()
	got := c.traffic()
	if len(got) != len(collectors) {
		c.Errorf("%s: %d collectors receive datagrams, want %d", what, len(got), len(collectors))
	}
	for _, at := range collectors {
		if n := got[at]; n[0] < 4 || n[0] > 24 || n[1] != counters {
			c.Errorf("%s: %s receives %d flow samples and %d counter samples, want about 12 and %d", what, at, n[0], n[1],
				counters)
		}
	}
	if len(collectors) == 2 && !slices.Equal(texts(c.Got[first]), texts(c.Got[second])) {
		c.Errorf("%s: the collectors receive different samples", what)
	}
}

func texts(samples []wire.Sample) (list []string) {
	for _, s := range samples {
		if f, ok := s.(*wire.FlowSample); ok {
			list = append(list, fmt.Sprintf("%d %x", f.Sequence, f.Header.Bytes))
		}
	}
	return list
}

// Both collectors receive the same samples. One that is removed receives nothing more, and the other goes on.
func TestSFlowCollectors(t *testing.T) {
	c := newCollected(t)
	c.want("both", 3, first, second)
	c.set("SFLOW_COLLECTOR|c1", nil)
	c.want("without the second", 3, first)
	c = newCollected(t)
	c.set("SFLOW_COLLECTOR|c0", nil)
	c.want("without the first", 3, second)
}

// Each port's counters arrive once per polling interval, and not at all if that is 0.
func TestSFlowPolling(t *testing.T) {
	c := newCollected(t)
	c.want("every 20 seconds", 3, first, second)
	c.set("SFLOW|global", swss.FieldValues{"admin_state": "up", "polling_interval": "5"})
	c.want("every 5 seconds", 12, first, second)
	c.set("SFLOW|global", swss.FieldValues{"admin_state": "up", "polling_interval": "0"})
	c.want("disabled", 0, first, second)
}

// A port whose session is down has no samples, and has them again when it is up.
func TestSFlowInterface(t *testing.T) {
	c := newCollected(t)
	c.set("SFLOW_SESSION|Ethernet0", swss.FieldValues{"admin_state": "down", "sample_rate": "256"})
	for at, n := range c.traffic() {
		if n[0] != 0 {
			t.Errorf("%s receives %d samples of a port that is not sampled", at, n[0])
		}
	}
	c.set("SFLOW_SESSION|Ethernet0", swss.FieldValues{"admin_state": "up", "sample_rate": "256"})
	if got := slices.Collect(maps.Values(c.traffic())); len(got) != 2 || got[0][0] < 4 || got[0] != got[1] {
		t.Errorf("the collectors receive %v", got)
	}
}

// Without sFlow nothing is sent.
func TestSFlowDisabled(t *testing.T) {
	c := newCollected(t)
	c.set("SFLOW|global", swss.FieldValues{"admin_state": "down", "polling_interval": "20"})
	if got := c.traffic(); len(got) != 0 {
		t.Errorf("datagrams to %v", got)
	}
	c.set("SFLOW|global", swss.FieldValues{"admin_state": "up", "polling_interval": "20"})
	c.want("again", 3, first, second)
}
