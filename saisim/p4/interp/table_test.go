package interp

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"tamtam/saisim/p4"
)

func num(v int64) *big.Int { return big.NewInt(v) }

// op returns a packet with a value of the key h.op.
func op(v int) string { return fmt.Sprintf("%02x 11223344 00000005 ff", v) }

// argumentOut returns a switch whose action run stores its parameter in h.a, so that a packet shows which entry hit.
func argumentOut(t *testing.T, kind string) (*rig, *p4.Table, func(int64) Result) {
	r := parts{ingress: []string{"assign h.a =p"}, kind: kind}.rig(t)
	run := r.action("run")
	return r, r.table("ingress.t"), func(v int64) Result { return Action(run, num(v)) }
}

// hit returns the parameter of the entry that a packet hits; 7 is the default's.
func (r *rig) hit(t *testing.T, key int) int64 {
	t.Helper()
	out := r.send(1, r.Now(), op(key))
	if len(out) != 1 {
		t.Fatalf("sent %q", out)
	}
	var v int64
	if _, err := fmt.Sscanf(out[0][5:13], "%x", &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestLookups(t *testing.T) {
	exact := func(v int64) p4.Match { return p4.Match{Kind: p4.Exact, Value: num(v)} }
	lpm := func(v int64, n int) p4.Match { return p4.Match{Kind: p4.LPM, Value: num(v), Prefix: n} }
	ternary := func(v, m int64) p4.Match { return p4.Match{Kind: p4.Ternary, Value: num(v), Mask: num(m)} }
	span := func(low, high int64) p4.Match { return p4.Match{Kind: p4.Range, Value: num(low), High: num(high)} }
	type entry struct {
		match    p4.Match
		priority int
	}
	tests := []struct {
		kind    string
		entries []entry
		want    map[int]int64 // parameter by key: 100 + the number of the entry, or the default's
	}{
		{"exact", []entry{{exact(1), 0}, {exact(255), 0}}, map[int]int64{1: 100, 255: 101, 2: 7}},
		{"lpm", []entry{{lpm(0x80, 1), 0}, {lpm(0xf0, 4), 0}, {lpm(0xff, 8), 0}, {lpm(0, 0), 0}},
			map[int]int64{0x81: 100, 0xf1: 101, 0xff: 102, 0x01: 103}},
		{"ternary", []entry{{ternary(0x0f, 0x0f), 2}, {ternary(0xff, 0xff), 1}, {ternary(0, 0), 3}, {ternary(0x1f, 0x1f), 2}},
			map[int]int64{0x0f: 100, 0xff: 101, 0x10: 102, 0x1f: 100}},
		{"range", []entry{{span(10, 20), 2}, {span(15, 15), 1}, {span(0, 255), 3}},
			map[int]int64{9: 102, 10: 100, 15: 101, 20: 100, 21: 102}},
	}
	for _, tt := range tests {
		t.Run(tt.kind, func(t *testing.T) {
			r, table, result := argumentOut(t, tt.kind)
			for i, e := range tt.entries {
				if _, err := r.AddEntry(table, []p4.Match{e.match}, result(int64(100+i)), e.priority); err != nil {
					t.Fatal(err)
				}
			}
			for key, want := range tt.want {
				if got := r.hit(t, key); got != want {
					t.Errorf("key %#x: %d, want %d", key, got, want)
				}
			}
		})
	}
}

// Handles are those of bmv2: the lowest free slot, with a version above it.
func TestEntries(t *testing.T) {
	r, table, result := argumentOut(t, "exact")
	key := func(v int64) []p4.Match { return []p4.Match{{Kind: p4.Exact, Value: num(v)}} }
	add := func(v int64, want uint32) {
		t.Helper()
		if h, err := r.AddEntry(table, key(v), result(v), 0); err != nil || h != want {
			t.Errorf("handle %#x, error %v, want %#x", h, err, want)
		}
	}
	refused := func(err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	for i := range int64(4) {
		add(i, uint32(i))
	}
	_, err := r.AddEntry(table, key(9), result(9), 0)
	refused(err, "TABLE_FULL")
	if err := r.DeleteEntry(table, 1); err != nil {
		t.Fatal(err)
	}
	refused(r.DeleteEntry(table, 1), "INVALID_HANDLE")
	add(5, 1<<24|1)
	refused(r.DeleteEntry(table, 1), "EXPIRED_HANDLE")
	_, err = r.AddEntry(table, key(5), result(9), 0)
	refused(err, "DUPLICATE_ENTRY")
	_, err = r.AddEntry(table, key(256), result(9), 0)
	refused(err, "at most 8 bits")
	_, err = r.AddEntry(table, key(8), result(1<<16), 0)
	refused(err, "at most 16 bits")
	_, err = r.AddEntry(table, key(8), Action(r.action("out")), 0)
	refused(err, "has no action out")
	_, err = r.AddEntry(table, key(8), Member(0), 0)
	refused(err, "has no action profile")
	_, err = r.AddEntry(r.table("egress.t"), nil, Action(r.action("out")), 0)
	refused(err, "has no key")
	refused(r.SetDefault(r.table("egress.t"), Action(r.action("out"))), "DEFAULT_ACTION_IS_CONST")
	if err := r.ModifyEntry(table, 2, result(77)); err != nil {
		t.Fatal(err)
	}
	if got := r.hit(t, 2); got != 77 {
		t.Errorf("modified entry gives %d, want 77", got)
	}
	if err := r.SetDefault(table, result(3)); err != nil {
		t.Fatal(err)
	}
	if got := r.hit(t, 200); got != 3 {
		t.Errorf("default gives %d, want 3", got)
	}
	r.ResetDefault(table)
	if err := r.ClearTable(table); err != nil || len(r.Entries(table)) != 0 || r.hit(t, 2) != 7 {
		t.Errorf("%v; after clearing, %d entries", err, len(r.Entries(table)))
	}
}

// A direct counter counts hits with the bytes at arrival, and a direct meter writes its colour before the action.
func TestDirectArrays(t *testing.T) {
	r := parts{ingress: []string{"add_header header:e", "assign h.a scalars.x"}}.rig(t)
	table := r.table("ingress.t")
	h, err := r.AddEntry(table, []p4.Match{{Kind: p4.Exact, Value: num(1)}}, Action(r.action("run"), num(0)), 0)
	if err != nil {
		t.Fatal(err)
	}
	rates := []Rate{{big.NewRat(0, 1), 1}, {big.NewRat(0, 1), 2}}
	if err := r.SetEntryMeter(table, h, rates); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"00000000", "00000001", "00000002"} {
		if got := r.send(1, 0, op(1)); got[0][5:13] != want {
			t.Errorf("packet %d: colour %s, want %s", i, got[0][5:13], want)
		}
	}
	r.send(1, 0, op(2))
	e, err := r.Entry(table, h)
	if err != nil || e.Count != (Count{3, 30}) {
		t.Errorf("counted %+v (%v), want 3 packets of 10 bytes", e.Count, err)
	}
}

// An entry is idle exactly at the cycle at which its timeout ends. A hit at this cycle comes too late. It is reported
// once until the next hit.
func TestIdleTimeout(t *testing.T) {
	r, table, result := argumentOut(t, "exact")
	h, err := r.AddEntry(table, []p4.Match{{Kind: p4.Exact, Value: num(1)}}, result(1), 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.SetTimeout(table, h, 2); err != nil {
		t.Fatal(err)
	}
	cycles := func() (all []uint64) {
		for _, i := range r.IdleEntries() {
			all = append(all, i.Cycle)
		}
		return all
	}
	const ms = 1_000_000
	r.send(1, 1*ms, op(1))
	r.send(1, 3*ms-1, op(1))
	r.Advance(5*ms - 2)
	if got := cycles(); got != nil {
		t.Errorf("idle at %v, want none yet", got)
	}
	r.send(1, 5*ms-1, op(1))
	if got := cycles(); !slices.Equal(got, []uint64{5*ms - 1}) {
		t.Errorf("idle at %v, want at %d", got, 5*ms-1)
	}
	r.Advance(100 * ms)
	if got := cycles(); !slices.Equal(got, []uint64{7*ms - 1}) {
		t.Errorf("idle at %v, want once at %d", got, 7*ms-1)
	}
	if err := r.SetTimeout(r.table("egress.t"), 0, 1); err == nil {
		t.Error("a table without timeouts accepted one")
	}
}

// indirect returns the base program with an action profile and a selector in front of its table.
func indirect(t *testing.T) *rig {
	t.Helper()
	text := strings.NewReplacer("INGRESS", st(t, "assign h.a =p"), "EGRESS", "", "PARSE", "", "TRANSITIONS", "", "KEY", "",
		"KIND", "exact").Replace(base)
	text = strings.Replace(text, `"type": "simple", "max_size": 4, "with_counters": true`,
		`"type": "indirect_ws", "action_profile": "ap", "max_size": 4, "with_counters": true`, 1)
	from := strings.Index(text, `"default_entry"`)
	to := strings.Index(text[from:], "}],") + from
	text = text[:from] + `"pragmas": []` + text[to:]
	text = strings.Replace(text, `"action_profiles": []`, `"action_profiles": [{"name": "ap", "id": 0, "max_size": 4,
		"selector": {"algo": "identity", "input": [{"type": "field", "value": ["h", "n"]}]}}]`, 1)
	p, err := p4.Read(strings.NewReader(text), "profile.json")
	if err != nil {
		t.Fatal(err)
	}
	sw, err := New(p, Config{})
	if err != nil {
		t.Fatal(err)
	}
	return &rig{Switch: sw, t: t}
}

// An entry selects a member, or a group whose member is the hash modulo the number of members. A group without members
// runs no action.
func TestProfiles(t *testing.T) {
	r := indirect(t)
	table, ap, run := r.table("ingress.t"), r.Program.Profiles[0], r.action("run")
	key := func(v int64) []p4.Match { return []p4.Match{{Kind: p4.Exact, Value: num(v)}} }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	refused := func(err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	for i := range 3 {
		h, err := r.AddMember(ap, run, []*big.Int{num(int64(100 + i))})
		if err != nil || h != i {
			t.Fatalf("member %d, %v, want %d", h, err, i)
		}
	}
	group, err := r.AddGroup(ap)
	must(err)
	_, err = r.AddEntry(table, key(1), Member(1), 0)
	must(err)
	_, err = r.AddEntry(table, key(2), Group(group), 0)
	must(err)
	_, err = r.AddEntry(table, key(3), Member(9), 0)
	refused(err, "INVALID_MBR_HANDLE")
	_, err = r.AddEntry(table, key(3), Action(run, num(0)), 0)
	refused(err, "want a member or a group")
	sent := func(key, n int) string {
		t.Helper()
		return r.send(1, r.Now(), fmt.Sprintf("%02x 11223344 00000005 %02x", key, n))[0][5:13]
	}
	if got := sent(1, 0); got != "00000065" {
		t.Errorf("member 1 gives %s, want 00000065", got)
	}
	if got := sent(2, 0); got != "11223344" || r.Accounts().Undefined != 1 {
		t.Errorf("an empty group gives %s, want no change and one operation without a result", got)
	}
	must(r.ChangeGroup(ap, group, 2, true))
	must(r.ChangeGroup(ap, group, 0, true))
	refused(r.ChangeGroup(ap, group, 0, true), "MBR_ALREADY_IN_GRP")
	refused(r.ChangeGroup(ap, group, 1, false), "MBR_NOT_IN_GRP")
	for n, want := range []string{"00000064", "00000066", "00000064"} {
		if got := sent(2, n); got != want {
			t.Errorf("hash %d gives %s, want %s", n, got, want)
		}
	}
	refused(r.DeleteMember(ap, 0), "is in group 0")
	refused(r.DeleteMember(ap, 1), "is used by table ingress.t")
	refused(r.DeleteGroup(ap, group), "is used by table ingress.t")
	must(r.SetDefault(table, Member(2)))
	if got := sent(77, 0); got != "00000066" {
		t.Errorf("the default gives %s, want 00000066", got)
	}
	must(r.ModifyMember(ap, 2, run, []*big.Int{num(5)}))
	if got := sent(77, 0); got != "00000005" {
		t.Errorf("the modified member gives %s, want 00000005", got)
	}
}
