package mgmt

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"tamtam/mgmt/tree"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// A counter that its row lacks, or that is not a number there, has no leaf: it is not reported as 0. A sum with an
// unknown part has no leaf either, so it is not reported as the sum of the known parts. A counter of 0 is reported as
// 0.
func TestUnknownCounters(t *testing.T) {
	b := newBed(t, nil)
	b.rows(someSwitch())
	b.rows(map[string]string{
		"CONFIG_DB TAM_TABLERECORD_TABLE|r":   "flowgroup=f1 collector=c",
		"COUNTERS_DB COUNTERS_QUEUE_NAME_MAP": "Ethernet0:1=oid:0x15000000000001",
	})
	for _, c := range []struct{ path, row, leaf, fields string }{
		{sessionS + "/state/counters", "TAM_TAILSTAMPING_COUNTERS:s1", "matched-packets", "MATCHED_PACKETS"},
		{sessionS + "/state/counters", "TAM_TAILSTAMPING_COUNTERS:s1", "stamped-packets", "STAMPED_PACKETS"},
		{sessionS + "/state/counters/not-stamped", "TAM_TAILSTAMPING_COUNTERS:s1", "mtu", "NOT_STAMPED_MTU"},
		{"/tam/tablerecord-sessions/tablerecord-session[name=r]/state/counters", "TAM_TABLERECORD_COUNTERS:r", "lost",
			"LOST"},
		{"/tam/flowgroups/flowgroup[name=f1]/state", "COUNTERS:oid:0x9000000000001", "packets", rulePackets},
		{"/acl/tables/table[name=TAM]/rules/rule[rule-name=f1]/state", "COUNTERS:oid:0x9000000000001", "matched-octets",
			ruleOctets},
		{"/interfaces/interface[name=Ethernet0]/state/counters", "COUNTERS:oid:0x1000000000001", "in-errors",
			"SAI_PORT_STAT_IF_IN_ERRORS"},
		{
			"/interfaces/interface[name=Ethernet0]/state/counters", "COUNTERS:oid:0x1000000000001", "in-pkts",
			"SAI_PORT_STAT_IF_IN_UCAST_PKTS SAI_PORT_STAT_IF_IN_MULTICAST_PKTS SAI_PORT_STAT_IF_IN_BROADCAST_PKTS",
		},
		{"/queues/queue[name=Ethernet0:1]/state", "COUNTERS:oid:0x15000000000001", "dropped-packets",
			"SAI_QUEUE_STAT_DROPPED_PACKETS"},
	} {
		fields := strings.Fields(c.fields)
		// has writes values to the first fields, and returns the leaf.
		has := func(values ...string) string {
			t.Helper()
			row := "COUNTERS_DB " + c.row
			b.rows(map[string]string{row: ""})
			b.rows(map[string]string{row: "OTHER=1"})
			for i, v := range values {
				b.rows(map[string]string{row: fields[i] + "=" + v})
			}
			text, err := b.get(c.path)
			if err != nil {
				if strings.Contains(err.Error(), "NotFound") { // there is no data at all
					return ""
				}
				t.Fatal(err)
			}
			_, after, _ := strings.Cut(text, ":"+c.leaf+`":`)
			value, _, _ := strings.Cut(strings.TrimRight(after, "}"), ",")
			return value
		}
		zeros := make([]string, len(fields))
		for i := range zeros {
			zeros[i] = "0"
		}
		if got := has(zeros...); got != `"0"` {
			t.Errorf("%s/%s: %s, want 0", c.path, c.leaf, got)
		}
		if got := has(zeros[1:]...); got != "" {
			t.Errorf("%s/%s without a value: %s", c.path, c.leaf, got)
		}
		for _, bad := range []string{"x", "", "-1", "1.5", "0x10", "18446744073709551616"} {
			zeros[len(zeros)-1] = bad
			if got := has(zeros...); got != "" {
				t.Errorf("%s/%s of %q: %s", c.path, c.leaf, bad, got)
			}
		}
	}
}

// A counter has the time at which it was collected, or cleared since then; everything else has the time at which it was
// read. So has a counter whose time is not known.
func TestTimesOfCounters(t *testing.T) {
	clock := newHandClock()
	b := newBed(t, func(c *Config) { c.Clock, c.After = clock.now, clock.after })
	begun := clock.t
	at := func(s int) time.Time { return begun.Add(time.Duration(s) * time.Second) }
	const queue = "/queues/queue[name=Ethernet0:1]/state"
	collected := func(port, queue, watermark int) {
		text := func(s int) string { return at(s).UTC().Format(time.RFC3339Nano) }
		b.rows(map[string]string{"COUNTERS_DB TAMTAM_COLLECTED": fmt.Sprintf("PORT_STAT_COUNTER=%s QUEUE_STAT_COUNTER=%s "+
			"QUEUE_WATERMARK_STAT_COUNTER=%s", text(port), text(queue), text(watermark))})
	}
	// times returns when each of some leaves is from, in seconds.
	times := func(all []*gpb.Notification) string {
		var out []string
		for _, n := range all {
			for _, u := range n.GetUpdate() {
				p := tree.PathText(u.GetPath())
				for _, leaf := range []string{"/transmitted-packets", "/watermark", "/in-octets", "/admin-status"} {
					if strings.HasSuffix(p, leaf) {
						out = append(out, fmt.Sprintf("%s %v", leaf[1:], time.Unix(0, n.GetTimestamp()).Sub(at(0)).Seconds()))
					}
				}
			}
		}
		return strings.Join(out, ", ")
	}
	get := func(where string) string {
		t.Helper()
		return times(b.mustGet(&gpb.GetRequest{Encoding: asPROT, Path: []*gpb.Path{path(where)}}).GetNotification())
	}
	b.rows(ethernet0("1000", "5"))
	b.rows(map[string]string{
		"CONFIG_DB PORT|Ethernet0":                  "admin_status=up",
		"COUNTERS_DB COUNTERS_QUEUE_NAME_MAP":       "Ethernet0:1=oid:0x15000000000001",
		"APPL_DB PORT_TABLE:Ethernet0":              "admin_status=up",
		"COUNTERS_DB COUNTERS:oid:0x15000000000001": "SAI_QUEUE_STAT_PACKETS=7 SAI_QUEUE_STAT_WATERMARK_BYTES=8",
	})
	clock.mu.Lock()
	clock.t = at(100)
	clock.mu.Unlock()
	b.wantText(get(inOctets), "in-octets 100")
	collected(99, 95, 60)
	b.wantText(get(inOctets), "in-octets 99")
	b.wantText(get(queue+"/transmitted-packets"), "transmitted-packets 95")
	b.wantText(get(queue+"/watermark"), "watermark 60")
	b.wantText(get(portE0+"/state"), "admin-status 100, in-octets 100") // one Notification
	b.wantText(times(b.subscribe(listOf(onceMode, subOf(0, portE0+"/state"), subOf(0, queue))).initial()),
		"admin-status 100, in-octets 99, transmitted-packets 95, watermark 60")
	s := b.subscribe(every(sample, time.Second, inOctets))
	b.wantText(times(s.initial()), "in-octets 99")
	collected(100, 95, 60)
	clock.advance(time.Second)
	m, err := s.rpc.Recv()
	if err != nil {
		t.Fatal(err)
	}
	b.wantText(times([]*gpb.Notification{m.GetUpdate()}), "in-octets 100")
	const lastClear = portE0 + "/state/counters/last-clear"
	b.shows(t, map[string]string{lastClear: ""})
	b.mustSet(updating(update("/operations/clear-counters", `{"kind":"interfaces","name":"Ethernet0"}`)))
	b.wantText(get(inOctets), "in-octets 101")
	b.shows(t, map[string]string{lastClear: fmt.Sprintf("%q", strconv.FormatInt(at(101).UnixNano(), 10))})
}
