package mgmt

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/mgmt/tree"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// Rows that other programs write into CONFIG_DB are visible to the very next Set.
func TestSetSeesRowsOfOthers(t *testing.T) {
	b := newBed(t, nil)
	b.rows(someSwitch())
	taken := update(flowgroups+"/flowgroup[name=new]/config/id", "4711")
	set := func(code string, words ...string) {
		t.Helper()
		_, err := b.client.Set(b.ctx, &gpb.SetRequest{Update: []*gpb.Update{taken}})
		wantErr(t, err, code, words...)
	}
	drop := func(code string, words ...string) {
		t.Helper()
		_, err := b.client.Set(b.ctx, &gpb.SetRequest{Delete: []*gpb.Path{path(flowgroups + "/flowgroup[name=new]")}})
		wantErr(t, err, code, words...)
	}
	set("OK")
	drop("OK")
	b.rows(map[string]string{"CONFIG_DB TAM_FLOWGROUP_TABLE|other": "id=4711"})
	set("InvalidArgument", "4711 is that of flowgroup")
	b.rows(map[string]string{"CONFIG_DB TAM_FLOWGROUP_TABLE|other": ""})
	set("OK")
	b.rows(map[string]string{"CONFIG_DB TAM_TAILSTAMPING_TABLE|late": "flowgroup=new"})
	drop("FailedPrecondition", "in use by tailstamping-session late")
	b.rows(map[string]string{"CONFIG_DB TAM_TAILSTAMPING_TABLE|late": "flowgroup=f1"})
	drop("OK")
}

// An index returns every entry that has the value, as reading all rows does.
func TestIndexAgainstReadingAll(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1}, indexAgainstReadingAll)
}

func indexAgainstReadingAll(t *testing.T, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, seed))
	b := newBed(t, nil)
	for round := range 40 {
		rows := map[string]string{}
		for range rnd.IntN(6) {
			rows[fmt.Sprintf("CONFIG_DB TAM_FLOWGROUP_TABLE|f%d", rnd.IntN(8))] =
				[]string{"", "id=1", "id=2", "id=2 table-name=TAM", "id=no", "table-name=TAM", "NULL=NULL"}[rnd.IntN(7)]
			rows[fmt.Sprintf("CONFIG_DB ACL_RULE|%s|f%d", []string{"TAM", "T"}[rnd.IntN(2)], rnd.IntN(8))] =
				[]string{"", "IN_PORTS=Ethernet0", "IN_PORTS=Ethernet0,Ethernet4", "PRIORITY=7"}[rnd.IntN(4)]
		}
		for key := range rows { // HSET adds fields to a row, so each row is deleted first
			b.rows(map[string]string{key: ""})
		}
		b.rows(rows)
		g := b.server.model.Root.Kid["tam"].Kid["flowgroups"].Kid["flowgroup"].List
		for _, leaf := range g.Leaves {
			for _, value := range map[string][]string{"id": {"1", "2"}, "interfaces": {"Ethernet0", "Ethernet4"}}[leaf.Name] {
				if !leaf.Config {
					continue
				}
				keys, ok, err := b.server.hub.Find(b.ctx, leaf, []string{value})
				if err != nil || !ok {
					t.Fatalf("round %d: find %s: %v, %v", round, leaf.Path, ok, err)
				}
				named := map[string]bool{}
				for _, k := range keys {
					named[k[0]] = true
				}
				err = b.server.reader.Read(b.ctx, g, tree.Extend(nil, g), nil, func(es []*tree.Entry) error {
					for _, e := range es {
						for _, v := range e.Value(leaf) {
							if v == value && !named[e.Keys[0]] {
								t.Errorf("round %d: %s of %v is %s, the index does not name it", round, leaf.Path, e.Keys, value)
							}
						}
					}
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}
