package device_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"tamtam/device"
	"tamtam/device/devicetest"
	"tamtam/internal/racetest"
	"tamtam/internal/randtest"
	"tamtam/sai"
	"tamtam/sai/saitest"
	"tamtam/saisim/profile"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// A competitor is an ACL rule of the model.
type competitor struct {
	table, name string
	priority    int
	ranges      []string // values of L4_SRC_PORT_RANGE and L4_DST_PORT_RANGE
}

func (r competitor) key() string { return r.table + "|" + r.name }

func (r competitor) fields() swss.FieldValues {
	f := swss.FieldValues{"PRIORITY": fmt.Sprint(r.priority), "IP_PROTOCOL": "17", "PACKET_ACTION": "DROP"}
	for i, v := range r.ranges {
		f[[]string{"L4_SRC_PORT_RANGE", "L4_DST_PORT_RANGE"}[i]] = v
	}
	return f
}

// A contestModel computes which rules and sessions are in force on a chip with little capacity. Sessions in force stay,
// rules compete by priority and name, and the waiting sessions get the remaining capacity, by name.
type contestModel struct {
	acl      profile.ACL
	rules    map[string]competitor
	sessions map[string]bool // true if in force
	inForce  map[string]bool // rules in force
}

// usage counts the resources that the rules and sessions in force use.
type usage struct {
	stage, table map[string]int
	counters     int
	ranges       map[string]bool
}

func (m *contestModel) fits(u *usage, table, stage string, ranges []string) bool {
	fresh := map[string]bool{}
	for _, r := range ranges {
		if !u.ranges[r] {
			fresh[r] = true
		}
	}
	if u.stage[stage] >= int(m.acl.Entries) || u.table[table] >= int(m.acl.TableEntries) ||
		u.counters >= int(m.acl.Counters) || len(u.ranges)+len(fresh) > int(m.acl.Ranges) {
		return false
	}
	u.stage[stage]++
	u.table[table]++
	u.counters++
	maps.Copy(u.ranges, fresh)
	return true
}

func stageOfTable(table string) string {
	if table == "E1" {
		return "egress"
	}
	return "ingress"
}

// settle computes which rules and sessions are in force now.
func (m *contestModel) settle() {
	u := &usage{map[string]int{}, map[string]int{}, 0, map[string]bool{}}
	names := slices.SortedFunc(maps.Keys(m.sessions), schema.CompareNames)
	for _, s := range names {
		if m.sessions[s] {
			m.fits(u, "TAM", "ingress", nil)
		}
	}
	m.inForce = map[string]bool{}
	for _, r := range m.ranked() {
		if m.fits(u, r.table, stageOfTable(r.table), r.kinds()) {
			m.inForce[r.key()] = true
		}
	}
	for _, s := range names {
		m.sessions[s] = m.sessions[s] || m.fits(u, "TAM", "ingress", nil)
	}
}

// kinds returns the ranges of a rule. Rules share the object for a type and value.
func (r competitor) kinds() []string {
	list := []string{}
	for i, v := range r.ranges {
		list = append(list, fmt.Sprint(i, v))
	}
	return list
}

func compareCompetitors(a, b competitor) int {
	return cmp.Or(b.priority-a.priority, schema.CompareNames(a.table, b.table), schema.CompareNames(a.name, b.name))
}

func (m *contestModel) ranked() []competitor {
	return slices.SortedFunc(maps.Values(m.rules), compareCompetitors)
}

// randomCompetitor returns a random rule. Rules rarely have ranges, and share a small set of them.
func randomCompetitor(rnd *rand.Rand) competitor {
	r := competitor{[]string{"T1", "T2", "E1"}[rnd.IntN(3)], fmt.Sprintf("R%d", 1+rnd.IntN(11)), 1 + rnd.IntN(6), nil}
	for range max(0, rnd.IntN(6)-3) {
		r.ranges = append(r.ranges, fmt.Sprintf("%d-%d", 1+rnd.IntN(3), 100))
	}
	return r
}

// A contest compares a switch with little ACL capacity with a model of it.
type contest struct {
	*testing.T
	*contestModel
	sim    *device.Sim
	inChip *saitest.Recorder
}

var itsPlace = regexp.MustCompile(`; ACL rule (\S+) \(priority (\d+)\) has its place; tried again when something`)

// whatIsRefused matches the resource for which a switch rejected a rule. The resource depends on the free capacity at
// that time.
var whatIsRefused = regexp.MustCompile(`^(create|change) .*: (the switch has no room for it \()[A-Z_]*`)

// status returns the status rows of a table, without the time and the rejected resource.
func (c *contest) status(table string) map[string]swss.FieldValues {
	c.Helper()
	rows, err := swss.NewTable(c.sim.Redis.DB(swss.StateDB), table).Dump(c.Context())
	if err != nil {
		c.Fatal(err)
	}
	for _, row := range rows {
		delete(row, "since")
		row["reason"] = whatIsRefused.ReplaceAllString(row["reason"], "$2")
	}
	return rows
}

// newContest returns a contest on a chip with this capacity, without any rule or session.
func newContest(t *testing.T, room profile.ACL) *contest {
	p := profile.Small()
	p.ACL.Entries, p.ACL.TableEntries, p.ACL.Counters, p.ACL.Ranges =
		room.Entries, room.TableEntries, room.Counters, room.Ranges
	c := &contest{T: t, contestModel: &contestModel{
		acl: p.ACL, rules: map[string]competitor{}, sessions: map[string]bool{},
	}}
	config := device.ConfigDB{"DEVICE_METADATA": devicetest.Metadata, "ACL_TABLE": {}, "ACL_RULE": {},
		"TAM_FLOWGROUP_TABLE": {},
		"TAM_FEATURES_TABLE":  {"TAILSTAMPING": {"status": "ACTIVE"}}}
	for _, table := range []string{"T1", "T2", "E1"} {
		stage := stageOfTable(table)
		config["ACL_TABLE"][table] = swss.FieldValues{"type": "L3", "stage": stage, "ports@": "Ethernet0"}
	}
	for n := range 4 {
		config["ACL_RULE"][fmt.Sprintf("TAM|F%d", n+1)] = swss.FieldValues{
			"PRIORITY": "7", "SRC_IP": fmt.Sprintf("10.%d.0.0/16", n),
		}
		config["TAM_FLOWGROUP_TABLE"][fmt.Sprintf("F%d", n+1)] = swss.FieldValues{"id": fmt.Sprint(n + 1)}
	}
	c.sim = devicetest.NewSim(t, device.SimConfig{Profile: p, Config: config, Common: devicetest.RecordTo(&c.inChip)})
	devicetest.RunUntilIdle(t, c.sim)
	return c
}

// put replaces the row of a rule in one transaction, so that no waiting session gets its resources. remove removes
// the row.
func (c *contest) put(r competitor) {
	db := c.sim.Redis.DB(swss.ConfigDB).Client()
	_, err := db.TxPipelined(c.Context(), func(p redis.Pipeliner) error {
		p.Del(c.Context(), "ACL_RULE|"+r.key())
		p.HSet(c.Context(), "ACL_RULE|"+r.key(), r.fields())
		return nil
	})
	if err != nil {
		c.Fatal(err)
	}
	c.rules[r.key()] = r
}

func (c *contest) remove(r competitor) {
	c.sim.Redis.DB(swss.ConfigDB).Client().Del(c.Context(), "ACL_RULE|"+r.key())
	delete(c.rules, r.key())
}

// settle lets the switch work, and updates the model.
func (c *contest) settle() {
	devicetest.RunUntilIdle(c.T, c.sim)
	c.contestModel.settle()
}

// check compares the switch with the model. gone lists the rules that by has just displaced.
func (c *contest) check(by competitor, gone []string) {
	c.Helper()
	rows := c.status(schema.StateACLRule)
	for _, r := range c.ranked() {
		status, reason := rows[r.key()]["status"], rows[r.key()]["reason"]
		if c.inForce[r.key()] != (status == schema.ACLActive) {
			c.Errorf("rule %s of priority %d is %s: %s; in force should be %v",
				r.key(), r.priority, status, reason, c.inForce)
		}
		if c.inForce[r.key()] {
			continue
		}
		ahead := slices.ContainsFunc(c.ranked(), func(o competitor) bool {
			return c.inForce[o.key()] && compareCompetitors(o, r) < 0 && stageOfTable(o.table) == stageOfTable(r.table)
		})
		named := itsPlace.FindStringSubmatch(reason)
		switch {
		case !strings.Contains(reason, "the switch has no room for it ("):
			c.Errorf("rule %s is %s: %s", r.key(), status, reason)
		case named == nil && ahead:
			c.Errorf("rule %s names no other rule: %s", r.key(), reason)
		case named == nil:
		case slices.Contains(gone, r.key()) && named[1] != by.key():
			c.Errorf("rule %s was displaced by %s: %s", r.key(), by.key(), reason)
		default:
			h := c.rules[named[1]]
			if !c.inForce[named[1]] || compareCompetitors(h, r) >= 0 || fmt.Sprint(h.priority) != named[2] {
				c.Errorf("rule %s of priority %d names a rule that has not its place: %s", r.key(), r.priority, reason)
			}
		}
	}
	entries := len(c.inForce)
	rows = c.status(schema.StateTAMTailStamp)
	for s, in := range c.sessions {
		if in != (rows[s]["status"] == schema.StatusActive) {
			c.Errorf("session %s is %v, in force should be: %v", s, rows[s], in)
		}
		if in {
			entries++
		}
	}
	if got := len(c.inChip.LiveOf(sai.ObjectTypeACLEntry)); got != entries {
		c.Errorf("%d entries in the chip, want %d", got, entries)
	}
}

// step makes one random change, to the switch and to the model, and checks the consequences.
func (c *contest) step(rnd *rand.Rand) {
	db, before := c.sim.Redis.DB(swss.ConfigDB).Client(), c.inForce
	var by competitor
	if rnd.IntN(5) == 0 {
		n := fmt.Sprint(1 + rnd.IntN(4))
		if _, there := c.sessions["S"+n]; there {
			db.Del(c.Context(), "TAM_TAILSTAMPING_TABLE|S"+n)
			delete(c.sessions, "S"+n)
		} else {
			db.HSet(c.Context(), "TAM_TAILSTAMPING_TABLE|S"+n, "flowgroup", "F"+n)
			c.sessions["S"+n] = false
		}
	} else {
		by = randomCompetitor(rnd)
		if rnd.IntN(4) > 0 {
			c.put(by)
		} else {
			c.remove(by)
		}
	}
	more := max(0, rnd.IntN(8)-4)
	for s := range maps.Values(c.sessions) {
		if !s {
			more = 0 // otherwise a session would get the free resources between two rules
		}
	}
	for range more {
		c.put(randomCompetitor(rnd))
	}
	c.settle()
	var gone []string
	for key := range before {
		if _, there := c.rules[key]; there && !c.inForce[key] && key != by.key() {
			gone = append(gone, key)
		}
	}
	if more > 0 || before[by.key()] || !c.inForce[by.key()] || len(gone) != 1 || len(c.inForce) != len(before) {
		gone = nil // the rule also freed resources for other rules
	}
	for _, r := range c.ranked() { // other rules may have displaced it without success, and returned before it
		if gone != nil && !c.inForce[r.key()] && compareCompetitors(r, c.rules[gone[0]]) < 0 {
			gone = nil
		}
	}
	c.check(by, gone)
}

// restart restarts a daemon, which must change nothing.
func (c *contest) restart(which func(context.Context) error) {
	rules, sessions, in := c.status(schema.StateACLRule), c.status(schema.StateTAMTailStamp), c.inForce
	devicetest.NoError(c.T, which(c.Context()))
	devicetest.RunUntilIdle(c.T, c.sim)
	if diff := gocmp.Diff(rules, c.status(schema.StateACLRule)); diff != "" {
		c.Errorf("a restart changes rules; in force were %v:\n%s", in, diff)
	}
	if diff := gocmp.Diff(sessions, c.status(schema.StateTAMTailStamp)); diff != "" {
		c.Errorf("a restart changes sessions:\n%s", diff)
	}
	c.check(competitor{}, nil)
}

// The reason why one claim was rejected does not apply to other claims. Resources that a claim frees may serve a claim
// that had failed.
func TestRulesThatLackTwoThings(t *testing.T) {
	t.Parallel()
	rule := func(table, name string, priority int, ranges ...string) competitor {
		return competitor{table, name, priority, ranges}
	}
	for _, tt := range []struct {
		room  profile.ACL
		steps [][]competitor
	}{
		// R10 displaces T1|R8 for an entry, but then gets no range, so T2 is not full.
		{profile.ACL{Entries: 2, TableEntries: 2, Counters: 9, Ranges: 3}, [][]competitor{
			{rule("T1", "R8", 4), rule("T2", "R7", 1)},
			{rule("T2", "R9", 6, "3-100", "2-100"), rule("T2", "R10", 5, "2-100", "1-100")},
			{rule("T2", "R3", 5)},
		}},
		// T2|R1 lacks a counter, which T2|R11 has, and a range, which E1|R11 has until E1|R5 needs its entry.
		{profile.ACL{Entries: 1, TableEntries: 1, Counters: 2, Ranges: 2}, [][]competitor{
			{rule("E1", "R11", 4, "3-100", "3-100"), rule("T2", "R11", 2)},
			{rule("T2", "R1", 4, "2-100")},
			{rule("E1", "R5", 6)},
		}},
	} {
		c := newContest(t, tt.room)
		for _, rules := range tt.steps {
			for _, r := range rules {
				c.put(r)
			}
			c.settle()
			c.check(competitor{}, nil)
		}
	}
}

// On a chip with too little capacity, rules compete by priority and name, and sessions in force stay. Restarts change
// nothing, whatever is added and removed.
func TestRulesCompeteAtRandom(t *testing.T) {
	racetest.Stepped(t)
	t.Parallel()
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 2}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 15))
		room := profile.ACL{Entries: 4 + rnd.Uint32N(3), TableEntries: 2 + rnd.Uint32N(3)}
		room.Counters, room.Ranges = 6+rnd.Uint32N(6), 1+rnd.Uint32N(3)
		c := newContest(t, room)
		for range 60 {
			switch rnd.IntN(12) {
			case 0:
				c.restart(c.sim.RestartOrchagent)
			case 1:
				c.restart(c.sim.RestartSyncd)
			default:
				c.step(rnd)
			}
			if t.Failed() {
				t.Logf("with room for %+v: %+v", c.acl, c.ranked())
				return
			}
		}
	})
}
