package acl

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/sai"
	"tamtam/sai/saitest"
	"tamtam/swss/schema"
)

// A smallASIC is an ASIC with capacity for a small number of tables. Its TAM features bind the flow group again on each
// notification, in the order of a switch.
type smallASIC struct {
	*bench
	wanted map[string][]Variant // by feature
	errs   map[string]error
}

func newCrowd(t *testing.T, tables, entries int) *smallASIC {
	b := newBench(t, saitest.Options{ACLTables: tables, ACLEntries: entries})
	c := &smallASIC{b, map[string][]Variant{}, map[string]error{}}
	b.flowRow("5", "10.0.0.0/8")
	b.orch.Watch().Subscribe(func(context.Context, []schema.ACLRuleKey) { c.bind() })
	return c
}

// bind binds the wanted variants that are not bound yet.
func (c *smallASIC) bind() {
	for _, f := range schema.Features() {
		v := c.wanted[f]
		if v == nil {
			continue
		}
		if _, _, there := c.orch.VariantCounter(flow, f, v[0].Name); !there {
			c.errs[f] = c.orch.BindVariants(c.Ctx, f, []schema.ACLRuleKey{flow}, []string{"s"}, [][]Variant{v})[0]
		}
	}
}

func (c *smallASIC) want(feature string, v []Variant) {
	c.wanted[feature] = v
	c.bind()
}

func (c *smallASIC) unwant(feature string) {
	delete(c.wanted, feature)
	delete(c.errs, feature)
	if err := c.orch.UnbindMany(c.Ctx, feature, []schema.ACLRuleKey{flow}, []string{"s"})[0]; err != nil {
		c.T.Error(err)
	}
}

// seats returns the tables of the ASIC, in their order.
func (c *smallASIC) seats() string {
	list := c.orch.seated(schema.StageIngress)
	if n := len(c.Rec.LiveOf(sai.ObjectTypeACLTable)); n != len(list) {
		c.T.Errorf("%d tables in the ASIC, %d known", n, len(list))
	}
	names := make([]string, len(list))
	for i, in := range list {
		names[i] = in.seat().String()
	}
	return strings.Join(names, ", ")
}

// A table in the ASIC stays there, even if other tables are configured later. When a stage has capacity again, tables
// of rows are created first, by name. Tables of features follow, in the order of schema.Features. The status of a
// waiting table names the tables that occupy the stage.
func TestTablesStay(t *testing.T) {
	c := newCrowd(t, 2, 0)
	c.want(schema.FeatureTableRecord, colours(1))
	c.want(am, colours(1))
	c.want(schema.FeatureTailStamping, colours(1))
	c.table("T2", "L3", "Ethernet0")
	c.table("T10", "L3", "Ethernet0")
	c.rule("T10:R1", "PRIORITY", "2", "SRC_IP", "1.1.1.1", "PACKET_ACTION", "DROP")
	c.Step()
	if got := c.seats(); got != "TAM for ALTMARK, TAM for TABLERECORD" {
		t.Fatal(got)
	}
	const why = "; the room at ingress is taken by TAM for ALTMARK, TAM for TABLERECORD"
	if got := fmt.Sprint(c.errs[schema.FeatureTailStamping]); !strings.HasSuffix(got, why) {
		t.Error(got)
	}
	for table, key := range map[string]string{schema.StateACLTable: "T10", schema.StateACLRule: "T10|R1"} {
		c.WantStatus(table, key, "Pending creation: create ACL table T10: the switch has no room for it "+
			"(SAI_STATUS_INSUFFICIENT_RESOURCES)"+why+"; tried again when")
	}
	for _, step := range []struct{ unwant, seats string }{
		{am, "T2, TAM for TABLERECORD"}, {schema.FeatureTableRecord, "T2, T10"},
	} {
		c.unwant(step.unwant)
		if got := c.seats(); got != step.seats {
			t.Errorf("without %s: %s, want %s", step.unwant, got, step.seats)
		}
	}
	c.Step()
	c.WantStatus(schema.StateACLRule, "T10|R1", "Active")
	c.Del(schema.AppACLTable, "T2")
	c.Step()
	if got := c.seats(); got != "T10, TAM for TAILSTAMPING" || c.errs[schema.FeatureTailStamping] != nil {
		t.Error(got, c.errs)
	}
}

// Which tables are in the ASIC follows from the requests and from the tables that were there before: see [slot].
func TestTablesStayWhateverComes(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 60, Short: 10}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 6))
		room := 1 + rnd.IntN(5)
		c := newCrowd(t, room, 0)
		all := []slot{{"T1", ""}, {"T2", ""}, {"T10", ""}}
		for _, f := range schema.Features() {
			all = append(all, slot{"TAM", f})
		}
		there, seated := map[slot]bool{}, map[slot]bool{}
		for range 30 {
			s := all[rnd.IntN(len(all))]
			switch there[s] = !there[s]; {
			case s.feature == "" && there[s]:
				c.table(s.table, "L3", "Ethernet0")
			case s.feature == "":
				c.Del(schema.AppACLTable, s.table)
			case there[s]:
				c.want(s.feature, colours(1))
			default:
				c.unwant(s.feature)
			}
			c.Step()
			if !there[s] {
				delete(seated, s)
			}
			var want []string
			for _, s := range all {
				if there[s] && len(seated) < room {
					seated[s] = true
				}
			}
			for _, s := range all {
				if seated[s] {
					want = append(want, s.String())
				}
			}
			if got := c.seats(); got != strings.Join(want, ", ") {
				t.Fatalf("with room for %d: %s, want %s", room, got, strings.Join(want, ", "))
			}
		}
	})
}
