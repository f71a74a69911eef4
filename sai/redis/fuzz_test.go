package sairedis

import (
	"context"
	"testing"
	"time"

	"tamtam/sai"
	"tamtam/sai/redis/sairedistest"
	"tamtam/sai/saitest"
	"tamtam/swss"
	"tamtam/swss/swsstest"
)

// Every entry of the queue is answered with a status. The server neither panics nor stops, and its output can be
// replayed.
func FuzzServer(f *testing.F) {
	for _, q := range raws {
		f.Add(q.key, q.body, q.code)
	}
	for _, x := range readTrace(f) {
		f.Add(x.request[0], x.request[1], x.request[2])
	}
	for _, q := range [][3]string{
		{"SAI_OBJECT_TYPE_FDB_FLUSH:oid:0x21000000000000", "[]", "Sflush"},
		{"SAI_OBJECT_TYPE_PORT:oid:0x1000000000002", `["SAI_PORT_STAT_IF_IN_OCTETS",""]`, "Sget_stats"},
		{"oid:0x21000000000000", `["OBJECT_TYPE","SAI_OBJECT_TYPE_PORT","LIST_SIZE","500"]`, "Sstats_capability_query"},
		{"oid:0x21000000000000", `["OBJECT_TYPE","SAI_OBJECT_TYPE_PORT","ATTR_ID","SAI_PORT_ATTR_SPEED"]`,
			"Sattribute_capability_query"},
		{"oid:0x21000000000000",
			`["SAI_GENERIC_PROGRAMMABLE_ATTR_OBJECT_NAME","1:97","OBJECT_TYPE","SAI_OBJECT_TYPE_GENERIC_PROGRAMMABLE"]`,
			"Sobject_type_get_availability_query"},
		{"G:oid:0x1000000000002", `["PORT_COUNTER_ID_LIST","SAI_PORT_STAT_IF_IN_OCTETS"]`, "Sstart_poll"},
		{"G", `["POLL_INTERVAL","1","FLEX_COUNTER_STATUS","enable"]`, "Sset_counter_group"},
		{"APPLY_VIEW", "[]", "Snotify"},
	} {
		f.Add(q[0], q[1], q[2])
	}
	r := swsstest.Start(f)
	s := NewServer(r, saitest.New(saitest.Options{Ports: 2, ACLEntries: 10}), ServerOptions{TempView: true})
	db := r.DB(swss.ASICDB).Client()
	f.Fuzz(func(t *testing.T, key, body, code string) {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		for _, q := range [][]string{{rawSwitch, `["SAI_SWITCH_ATTR_INIT_SWITCH","true"]`, "Screate"}, {key, body, code}} {
			noError(t, s.answer(ctx, swss.Peeked{Entry: entry(q)}))
			got, err := db.RPopCount(ctx, responseList, 3).Result()
			if err != nil || len(got) != 3 {
				t.Fatalf("answer %q, %v", got, err)
			}
			if _, ok := sai.LookupStatus(got[0]); !ok {
				t.Fatalf("answer has the status %q", got[0])
			}
		}
		if _, err := sairedistest.CanonicalView(ctx, r); err != nil {
			t.Fatal(err)
		}
	})
}

// A text that is not a notification is refused.
func FuzzParseNotification(f *testing.F) {
	f.Add("port_state_change", `[{"port_error_status":"0x0","port_id":"oid:0x1","port_state":"SAI_PORT_OPER_STATUS_UP"}]`)
	f.Add("fdb_event",
		`[{"fdb_entry":"{\"bvid\":\"oid:0x26000000000001\",\"mac\":\"02:00:00:00:00:09\",`+
			`\"switch_id\":\"oid:0x21000000000000\"}","fdb_event":"SAI_FDB_EVENT_LEARNED",`+
			`"list":[{"id":"SAI_FDB_ENTRY_ATTR_BRIDGE_PORT_ID","value":"oid:0x3a000000000001"}]}]`)
	f.Add("switch_shutdown_request", `{"switch_id":"oid:0x21000000000000"}`)
	f.Fuzz(func(t *testing.T, op, data string) {
		list, err := ParseNotification(swss.KeyOpFieldsValues{Op: op, Key: data})
		if err != nil {
			return
		}
		for _, n := range list {
			if _, _, err := formatNotification(n); err != nil {
				t.Fatalf("%+v: %v", n, err)
			}
		}
	})
}
