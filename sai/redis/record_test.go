package sairedis

import (
	"context"
	"strings"
	"testing"
	"time"

	"tamtam/sai"
	"tamtam/swss/swsstest"
)

// The recording has a line per call and, as in SONiC, per answer.
func TestRecording(t *testing.T) {
	ctx := context.Background()
	g := newRig(t, swsstest.Start(t), newFake(), ServerOptions{})
	var out strings.Builder
	now := time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC)
	c, err := NewClient(ctx, g.redis, ClientOptions{Recorder: &out, Now: func() time.Time { return now }})
	g.must("NewClient", err)
	g.client = c
	g.must("INIT_VIEW", c.InitView(ctx))
	g.create(sai.ObjectTypeSwitch, attrs(sai.SwitchAttrInitSwitch, sai.Bool(true)))
	table := g.create(sai.ObjectTypeACLTable, attrs(sai.ACLTableAttrACLStage, sai.ACLStageIngress))
	counter := attrs(sai.ACLCounterAttrTableID, table)
	oids, _ := c.BulkCreate(ctx, sai.ObjectTypeACLCounter, [][]sai.Attr{counter, counter})
	k := sai.Obj(sai.ObjectTypeACLCounter, oids[0])
	g.must("set", c.Set(ctx, k, sai.Attr{ID: sai.ACLCounterAttrLabel, Value: sai.Text("x")}))
	_, err = c.Get(ctx, k, []sai.Attr{sai.Want(sai.ACLCounterAttrPackets, 1)})
	g.must("get", err)
	g.must("remove", c.Remove(ctx, k))
	text := strings.NewReplacer("2026-01-02.03:04:05.678901|", "", table.String(), "TABLE", oids[0].String(), "FIRST",
		oids[1].String(), "SECOND").Replace(out.String())
	want := `a|INIT_VIEW
A|SAI_STATUS_SUCCESS
c|SAI_OBJECT_TYPE_SWITCH:oid:0x21000000000000|SAI_SWITCH_ATTR_INIT_SWITCH=true
c|SAI_OBJECT_TYPE_ACL_TABLE:TABLE|SAI_ACL_TABLE_ATTR_ACL_STAGE=SAI_ACL_STAGE_INGRESS
C|SAI_OBJECT_TYPE_ACL_COUNTER||FIRST|SAI_ACL_COUNTER_ATTR_TABLE_ID=TABLE||SECOND|SAI_ACL_COUNTER_ATTR_TABLE_ID=TABLE
s|SAI_OBJECT_TYPE_ACL_COUNTER:FIRST|SAI_ACL_COUNTER_ATTR_LABEL=x
g|SAI_OBJECT_TYPE_ACL_COUNTER:FIRST|SAI_ACL_COUNTER_ATTR_PACKETS=0
G|SAI_STATUS_SUCCESS|SAI_ACL_COUNTER_ATTR_PACKETS=0
r|SAI_OBJECT_TYPE_ACL_COUNTER:FIRST
`
	if text != want {
		t.Errorf("recorded\n%s\nwant\n%s", text, want)
	}
}
