package mgmt

import (
	"fmt"
	"slices"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"tamtam/mgmt/fetch"
	"tamtam/mgmt/tree"
	"tamtam/swss"
)

// Clearing the frames of flow control of a port leaves its other counters, whether they were cleared before or not.
func TestClearFlowControl(t *testing.T) {
	k := newKeeper(t)
	db := k.redis.DB(swss.CountersDB).Client()
	count := func(octets, frames int) {
		k.rows(map[string]string{
			"COUNTERS_DB TAMTAM_MARK": "syncd=first", "COUNTERS_DB COUNTERS_PORT_NAME_MAP": "Ethernet0=oid:0x1",
			"COUNTERS_DB COUNTERS:oid:0x1": fmt.Sprintf(
				"SAI_PORT_STAT_IF_IN_OCTETS=%d SAI_PORT_STAT_PFC_3_RX_PKTS=%d", octets, frames)})
	}
	saved := func() string {
		was := tree.JSONFields(db.HGet(k.ctx, fetch.ClearedKey, "COUNTERS:oid:0x1").Val())
		return was["SAI_PORT_STAT_IF_IN_OCTETS"] + " " + was["SAI_PORT_STAT_PFC_3_RX_PKTS"]
	}
	count(100, 7)
	k.must("clear-counters", `{"kind": "flow-control"}`)
	if got := saved(); got != " 7" {
		t.Errorf("octets and frames when they were cleared: %q, want 7 frames only", got)
	}
	k.must("clear-counters", `{"kind": "interfaces"}`)
	count(150, 9)
	k.must("clear-counters", `{"kind": "flow-control", "name": "Ethernet0"}`)
	if got := saved(); got != "100 9" {
		t.Errorf("octets and frames when they were cleared: %q, want 100 and 9", got)
	}
}

// Watermarks are cleared by orchagent, as SONiC's watermarkstat requests it.
func TestClearWatermarkRequests(t *testing.T) {
	k := newKeeper(t)
	l := swss.NewListener(k.redis)
	defer func() { _ = l.Close() }()
	channel := swss.NewNotificationConsumer(l, k.redis.DB(swss.ApplDB), "WATERMARK_CLEAR_REQUEST")
	if err := l.Sync(k.ctx); err != nil {
		t.Fatal(err)
	}
	requests := func() (list []string) {
		t.Helper()
		if err := l.Sync(k.ctx); err != nil {
			t.Fatal(err)
		}
		got, err := channel.Pops(k.ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range got {
			list = append(list, m.Op+" "+m.Key)
		}
		return list
	}
	k.must("clear-counters", `{"kind": "watermarks", "name": "PG_SHARED"}`)
	if got := requests(); !slices.Equal(got, []string{"USER PG_SHARED"}) {
		t.Errorf("requests %q", got)
	}
	k.must("clear-counters", `{"kind": "persistent-watermarks"}`)
	if got := requests(); len(got) != 7 || got[0] != "PERSISTENT BUFFER_POOL" || got[6] != "PERSISTENT Q_SHARED_UNI" {
		t.Errorf("requests %q, want all seven", got)
	}
	err := k.operate("clear-counters", `{"kind": "watermarks", "name": "MOON"}`)
	if status.Code(err) != codes.InvalidArgument {
		t.Errorf("a watermark that does not exist: %v", err)
	}
}
