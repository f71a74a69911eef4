package mgmt

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"tamtam/mgmt/hftrecords/hfttest"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

const (
	hftGroup  = "/high-frequency-telemetry/groups/group[profile=web][type=PORT]"
	hftValues = hftGroup + "/values"
)

// hftValue returns the path of a value of the group web|PORT.
func hftValue(object, statistic string) string {
	return hftValues + "/value[object=" + object + "][statistic=" + statistic + "]/state/value"
}

// newRecordBed returns a server of a switch that streams the group web|PORT every 10 us.
func newRecordBed(t *testing.T) (*bed, *hfttest.Chip) {
	c := hfttest.New(t)
	b := newBed(t, func(cfg *Config) { cfg.Records = c.Store })
	b.rows(map[string]string{
		"CONFIG_DB HIGH_FREQUENCY_TELEMETRY_PROFILE|web": "stream_state=enabled poll_interval=10",
		"CONFIG_DB HIGH_FREQUENCY_TELEMETRY_GROUP|web|PORT": "object_names=Ethernet0 " +
			"object_counters=IF_IN_OCTETS,IF_OUT_OCTETS",
	})
	return b, c
}

// sampled subscribes to records with a sample interval in microseconds.
func (b *bed) sampled(path string, micros uint64, edit ...func(*gpb.Subscription)) *sub {
	s := subOf(sample, path)
	s.SampleInterval = micros * 1000
	for _, e := range edit {
		e(s)
	}
	return b.subscribe(streamOf(s))
}

// wantAt checks the next message: its timestamp in nanoseconds, and the values of some leaves, without the others that
// only the first record has.
func (s *sub) wantAt(at int64, values ...string) {
	s.t.Helper()
	m, err := s.rpc.Recv()
	if err != nil {
		s.t.Fatal(err)
	}
	var got []string
	for _, line := range lines(m) {
		if strings.Contains(line, "/state/value ") || !strings.HasPrefix(line, "U") {
			got = append(got, line)
		}
	}
	if strings.Join(got, "\n") != strings.Join(values, "\n") || m.GetUpdate().GetTimestamp() != at {
		s.t.Fatalf("at %d\n%s\nwant at %d\n%s", m.GetUpdate().GetTimestamp(), strings.Join(got, "\n"), at,
			strings.Join(values, "\n"))
	}
}

// A subscription with the mode SAMPLE gets the last record, and then each one, with the time at which the chip sampled
// it. All values of a record are in one Notification.
func TestRecords(t *testing.T) {
	b, c := newRecordBed(t)
	web := c.Start("web|PORT", "Ethernet0")
	web.Sample(10_000, 1, 2)
	in, out := hftValue("Ethernet0", "IF_IN_OCTETS"), hftValue("Ethernet0", "IF_OUT_OCTETS")
	all := b.sampled(hftValues, 0)
	all.wantAt(10_000, "U "+in+` "1"`, "U "+out+` "2"`)
	all.want("S")
	one := b.sampled(out, 20)
	one.wantAt(10_000, "U "+out+` "2"`)
	one.want("S")
	later := b.subscribe(&gpb.SubscriptionList{Encoding: gpb.Encoding_JSON_IETF, UpdatesOnly: true,
		Subscription: []*gpb.Subscription{subOf(sample, in)}})
	later.want("S")
	for i := range int64(4) {
		web.Sample(20_000+10_000*i, uint64(3+i), 4)
	}
	for i := range int64(4) {
		value := fmt.Sprintf(`U %s "%d"`, in, 3+i)
		all.wantAt(20_000+10_000*i, value, "U "+out+` "4"`)
		later.wantAt(20_000+10_000*i, value)
	}
	one.wantAt(30_000, "U "+out+` "4"`)
	one.wantAt(50_000, "U "+out+` "4"`)
}

// The first record of a subscription has the keys, too, as a Get has. A Get has the time of the record.
func TestRecordsHaveKeys(t *testing.T) {
	b, c := newRecordBed(t)
	c.Start("web|PORT", "Ethernet0").Sample(10_000, 1, 2)
	entry := hftValues + "/value[object=Ethernet0][statistic=IF_IN_OCTETS]"
	b.sampled(entry, 0).wantInAnyOrder("U "+entry+`/object "Ethernet0"`, "U "+entry+`/statistic "IF_IN_OCTETS"`,
		"U "+entry+`/state/object "Ethernet0"`, "U "+entry+`/state/statistic "IF_IN_OCTETS"`, "U "+entry+`/state/value "1"`,
		"S")
	resp, err := b.client.Get(b.ctx, &gpb.GetRequest{Path: []*gpb.Path{path(entry + "/state/value")},
		Encoding: gpb.Encoding_JSON_IETF})
	if err != nil {
		t.Fatal(err)
	}
	if n := resp.GetNotification()[0]; n.GetTimestamp() != 10_000 ||
		string(n.GetUpdate()[0].GetVal().GetJsonIetfVal()) != `"1"` {
		t.Errorf("Get: %v, want 1 at 10000", resp)
	}
}

// Objects that leave a group, and a group that ends, are deleted. New ones have records.
func TestRecordsOfChanges(t *testing.T) {
	b, c := newRecordBed(t)
	web := c.Start("web|PORT", "Ethernet0", "Ethernet4")
	web.Sample(10_000, 1, 2, 3, 4)
	s := b.sampled("/high-frequency-telemetry/groups/group[profile=*][type=*]/values/value[object=*]"+
		"[statistic=IF_IN_OCTETS]/state/value", 0)
	zero, four := hftValue("Ethernet0", "IF_IN_OCTETS"), hftValue("Ethernet4", "IF_IN_OCTETS")
	s.wantAt(10_000, "U "+zero+` "1"`, "U "+four+` "3"`)
	s.want("S")
	web.Change("Ethernet4")
	web.Sample(20_000, 5, 6)
	web.Sample(30_000, 7, 8)
	s.wantAt(20_000, "U "+four+` "5"`)
	s.want("D " + strings.TrimSuffix(zero, "/state/value"))
	s.wantAt(30_000, "U "+four+` "7"`)
	delete(c.Sessions, "web|PORT")
	c.Start("db|PORT", "Ethernet8").Sample(40_000, 9, 10)
	s.want("D " + strings.TrimSuffix(four, "/state/value"))
	s.wantAt(40_000, "U "+strings.ReplaceAll(hftValue("Ethernet8", "IF_IN_OCTETS"), "=web]", "=db]")+` "9"`)
}

// With suppress_redundant, only changed values are sent, and all of them after each heartbeat by the chip's time.
func TestRecordsWithoutRedundant(t *testing.T) {
	b, c := newRecordBed(t)
	web := c.Start("web|PORT", "Ethernet0")
	web.Sample(0, 1, 2)
	in, out := hftValue("Ethernet0", "IF_IN_OCTETS"), hftValue("Ethernet0", "IF_OUT_OCTETS")
	s := b.sampled(hftValues, 10, func(x *gpb.Subscription) {
		x.SuppressRedundant, x.HeartbeatInterval = true, 1_000_000_000
	})
	s.wantAt(0, "U "+in+` "1"`, "U "+out+` "2"`)
	s.want("S")
	for i := range int64(100_001) {
		web.Sample(10_000*(i+1), uint64(1+i/50_000), 2)
	}
	s.wantAt(500_010_000, "U "+in+` "2"`)
	s.wantAt(1_000_000_000, "U "+in+` "2"`, "U "+out+` "2"`)
	s.wantAt(1_000_010_000, "U "+in+` "3"`)
}

// An interval that the group does not have is refused, with the group's interval.
func TestRecordsTooFast(t *testing.T) {
	b, _ := newRecordBed(t)
	b.sampled(hftValues, 9).wantEnd("InvalidArgument", hftValues, "sample_interval 9µs is below the least, 10µs",
		"HIGH_FREQUENCY_TELEMETRY_PROFILE|web has poll_interval 10")
	b.sampled(hftValues, 25).wantEnd("InvalidArgument", "sample_interval 25µs is no multiple of 10µs",
		"want 20µs or 30µs")
	b.rows(map[string]string{"CONFIG_DB HIGH_FREQUENCY_TELEMETRY_PROFILE|web": "poll_interval=0"})
	b.sampled(hftValues, 500).wantEnd("InvalidArgument", "below the least, 1ms",
		"has poll_interval 0, and 1000 is the default")
	newBed(t, nil).sampled(hftValues, 0).wantEnd("FailedPrecondition", "start mgmtd with --hft")
}

// A client that is slower than the stream loses the oldest records, and learns how many the group's subscriptions have
// missed. The others do not wait for it.
func TestRecordsOfSlowClient(t *testing.T) {
	b, c := newRecordBed(t)
	ports := make([]string, 100)
	for i := range ports {
		ports[i] = fmt.Sprint("Ethernet", i)
	}
	web := c.Start("web|PORT", ports...)
	web.Sample(0, make([]uint64, 200)...)
	stalled := &stallingRPC{ctx: b.ctx, gate: make(chan struct{}), got: make(chan *gpb.SubscribeResponse, 100_000)}
	ctx, cancel := context.WithCancel(b.ctx)
	stalled.ctx = ctx
	sub := subOf(sample, hftValue("Ethernet7", "IF_IN_OCTETS"))
	stalled.list = streamOf(sub)
	done := make(chan error, 1)
	go func() { done <- b.server.Subscribe(stalled) }()
	stalled.gate <- struct{}{} // accept the first record
	stalled.gate <- struct{}{} // accept the sync_response
	values := make([]uint64, 200)
	const records = 30_000 // more than are kept
	for i := range int64(records) {
		values[14] = uint64(i)
		web.Sample(10_000*(i+1), values...)
	}
	got, missed := 0, ""
	for last := ""; last != fmt.Sprintf(`"%d"`, records-1); {
		select {
		case stalled.gate <- struct{}{}:
		case m := <-stalled.got:
			for _, line := range lines(m) {
				if f := strings.Fields(line); strings.HasSuffix(f[1], "/records-missed") {
					missed = strings.Trim(f[2], `"`)
				} else if strings.HasSuffix(f[1], "/state/value") {
					got, last = got+1, f[2]
				}
			}
		}
	}
	cancel()
	<-done
	if fmt.Sprint(records+1-got) != missed || c.Store.Counts("web|PORT").Missed == 0 {
		t.Errorf("%d records and %s missed, want %d together", got, missed, records+1)
	}
}
