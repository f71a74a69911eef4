package mgmt

import (
	"fmt"
	"strings"
	"testing"

	"tamtam/swss"
	"tamtam/swss/schema"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// A row too large for the daemons is refused as a whole, and named.
func TestSetTooLarge(t *testing.T) {
	group := func(name string) *gpb.Update {
		return update("/tam/flowgroups/flowgroup[name="+name+"]",
			`{"name":"`+name+`","config":{"name":"`+name+
				`","id":3,"priority":100},"ipv4":{"config":{"source-address":"10.0.0.0/8"}}}`)
	}
	b := newBed(t, nil)
	longest := strings.Repeat("n", 255-len("TAM|"))
	b.mustSet(&gpb.SetRequest{Update: []*gpb.Update{group(longest)}})
	before := b.config()
	_, err := b.client.Set(b.ctx, &gpb.SetRequest{Update: []*gpb.Update{group("good"), group(longest + "x")}})
	wantErr(t, err, "InvalidArgument", longest+"x", "the key has 256 bytes: want at most 255")
	if got := b.config(); got != before {
		t.Error("a part of it was written")
	}
	// If another program has written too large a row, a Set that makes it smaller is not refused.
	b.rows(map[string]string{"CONFIG_DB TAM_FLOWGROUP_TABLE|good": "id=4 note=" + strings.Repeat("x", swss.MaxRow)})
	_, err = b.client.Set(b.ctx, &gpb.SetRequest{Update: []*gpb.Update{group("good")}})
	wantErr(t, err, "InvalidArgument", "TAM_FLOWGROUP_TABLE|good: the row has ", "bytes: want at most 65536")
	b.mustSet(&gpb.SetRequest{Delete: []*gpb.Path{path("/tam/flowgroups/flowgroup[name=good]")}})
}

// A table accepts as many rows as can be in force, and no more.
func TestSetTooManyRows(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing for the race detector")
	}
	b := newBed(t, nil)
	rows := map[string]swss.FieldValues{}
	for i := range schema.MaxRows - 1 {
		rows[fmt.Sprint("s", i)] = swss.FieldValues{"sampling-rate": "1"}
	}
	if err := swss.NewTable(b.redis.DB(swss.ConfigDB), schema.CfgTAMSampler).SetMany(b.ctx, rows); err != nil {
		t.Fatal(err)
	}
	one := func(name string) *gpb.SetRequest {
		return &gpb.SetRequest{Update: []*gpb.Update{
			update("/tam/samplers/sampler[name="+name+"]", `{"name":"`+name+`","config":{"name":"`+name+
				`","sampling-rate":2}}`)}}
	}
	b.mustSet(one("last"))
	_, err := b.client.Set(b.ctx, one("more"))
	wantErr(t, err, "InvalidArgument", "sampler[name=more]", "TAM_SAMPLINGRATE_TABLE would have more than 65536 rows")
	more := one("more")
	more.Delete = []*gpb.Path{path("/tam/samplers/sampler[name=last]")}
	b.mustSet(more)
	b.mustSet(one("more"))
}
