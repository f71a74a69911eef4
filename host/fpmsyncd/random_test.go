package fpmsyncd

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tamtam/internal/randtest"
	"tamtam/orch"
)

// A world is the routes of zebra and of the configuration.
type world struct {
	*bench
	rnd    *rand.Rand
	zebra  map[string]string // next hop by prefix
	config map[string]bool   // configured routes by prefix
	subnet bool              // true if the next hop of configured routes has an interface
	peer   bool              // true if zebra is connected
}

// change changes a route of zebra, and sends the change if zebra is connected.
func (w *world) change(prefix string) {
	hop, frames := fmt.Sprintf("10.0.0.%d", 2+w.rnd.IntN(3)), [][]byte(nil)
	if w.rnd.IntN(3) == 0 {
		delete(w.zebra, prefix)
		frames = append(frames, reported(prefix, "", 0))
	} else {
		w.zebra[prefix] = hop
		if w.rnd.IntN(2) == 0 {
			frames = append(frames, reported(prefix, "", 0)) // an update is a deletion and an addition, in one frame
		}
		frames = append(frames, reported(prefix, hop, 3))
	}
	if w.peer {
		w.later(func() { w.sync.Receive(slices.Concat(frames...)) })
	}
}

// later calls f on fpmsyncd's goroutine, and then runs some of the daemons, or none.
func (w *world) later(f func()) {
	w.t.Helper()
	if err := w.d.Do(w.t.Context(), f); err != nil {
		w.t.Fatal(err)
	}
	w.some()
}

func (w *world) some() {
	w.t.Helper()
	for range w.rnd.IntN(3) {
		switch w.rnd.IntN(3) {
		case 0:
			w.stepOne(w.d)
		case 1:
			w.stepOne(w.mgr)
		default:
			w.consume()
		}
	}
}

func (w *world) connect() {
	w.peer = true
	w.later(func() { w.sync.Connected("zebra", w.answer) })
	for _, prefix := range slices.Sorted(maps.Keys(w.zebra)) {
		w.later(func() { w.sync.Receive(reported(prefix, w.zebra[prefix], 3)) })
	}
}

func (w *world) act() {
	prefix := fmt.Sprintf("10.%d.0.0/16", 1+w.rnd.IntN(5))
	db := w.r.DB("CONFIG_DB").Client()
	switch w.rnd.IntN(12) {
	case 0:
		w.begin()
		w.peer = false
	case 1:
		w.beginManager()
	case 2:
		if w.peer {
			w.later(func() { w.sync.Disconnected(errors.New("it went")) })
		}
		w.connect()
	case 3:
		key := "INTERFACE|Ethernet0|10.8.0.1/24"
		if w.subnet = !w.subnet; w.subnet {
			db.HSet(w.t.Context(), key, "NULL", "NULL")
		} else {
			db.Del(w.t.Context(), key)
		}
	case 4, 5, 6:
		if w.config[prefix] = !w.config[prefix]; w.config[prefix] {
			db.HSet(w.t.Context(), "STATIC_ROUTE|"+prefix, "nexthop", "10.8.0.9")
		} else {
			db.Del(w.t.Context(), "STATIC_ROUTE|"+prefix)
		}
	default:
		w.change(prefix)
	}
	w.some()
}

func (w *world) wanted() (lines []string) {
	for i := range 6 {
		prefix := fmt.Sprintf("10.%d.0.0/16", i)
		switch hop := w.zebra[prefix]; {
		case w.config[prefix] && w.subnet:
			lines = append(lines, prefix+" config_key="+prefix+" ifname=Ethernet0 nexthop=10.8.0.9 protocol=static")
		case hop != "":
			lines = append(lines, prefix+" ifname=Ethernet0 nexthop="+hop+" protocol=bgp weight=1")
		}
	}
	return lines
}

// Whatever zebra, the configuration and restarts of both daemons do, and however their writes are interleaved: in the
// end a prefix has tammgrd's row if it has one for it, otherwise zebra's, otherwise none. No state of deleted routes is
// kept.
func TestTwoAuthors(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 17_000, Count: 60, Short: 20}, func(t *testing.T, seed uint64) {
		w := &world{
			bench: newBench(t), rnd: rand.New(rand.NewPCG(seed, 0)), subnet: true, config: map[string]bool{},
			// a zebra without routes sends nothing, and nothing is deleted
			zebra: map[string]string{"10.0.0.0/16": "10.0.0.2"},
		}
		w.bench.config("PORT|Ethernet0", "lanes=0", "speed=1000")
		w.bench.config("INTERFACE|Ethernet0", "NULL=NULL")
		w.bench.config("INTERFACE|Ethernet0|10.8.0.1/24", "NULL=NULL")
		w.connect()
		for range 60 {
			w.act()
		}
		if !w.peer {
			w.connect()
		}
		w.pass(0)
		w.pass(RestartTime)
		for range 4 { // a configured route that came and went unseen is found by the comparison
			w.pass(time.Second)
			for _, d := range []*orch.Daemon{w.d, w.mgr} {
				if err := d.Compare(t.Context(), w.now); err != nil {
					t.Fatal(err)
				}
			}
		}
		w.pass(time.Second)
		if d := cmp.Diff(w.wanted(), w.table()); d != "" {
			t.Fatalf("%s", d)
		}
		w.bounded()
	})
}

// bounded checks the accounting of the kept state.
func (w *world) bounded() {
	w.t.Helper()
	room, uses := 0, map[*shared]int{}
	for _, r := range w.sync.routes {
		uses[r.want]++
		uses[r.have]++
	}
	delete(uses, nil)
	for _, one := range w.sync.rows {
		room += one.size()
		if one.uses != uses[one] {
			w.t.Errorf("row %+v has %d uses, and is counted %d times", one.row, uses[one], one.uses)
		}
	}
	if room != w.sync.room || len(w.sync.rows) != len(uses) || len(w.sync.routes) != len(w.zebra) ||
		len(w.sync.dirty) != 0 {
		w.t.Errorf("%d rows of %d bytes (counted: %d) of %d routes, %d to be written; want %d rows, %d routes, none",
			len(w.sync.rows), room, w.sync.room, len(w.sync.routes), len(w.sync.dirty), len(uses), len(w.zebra))
	}
}

// Whatever bytes come, the kept state is accounted for, and nothing panics. The seeds are recordings of zebra, with
// groups.
func FuzzReceive(f *testing.F) {
	for _, name := range []string{"zebra-8.4.4.bin", "zebra-8.4.4-groups.bin"} {
		var all []byte
		for _, frame := range recorded(f, name) {
			all = append(all, frame...)
			f.Add(frame)
		}
		f.Add(all)
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		b := newBench(t)
		b.sync.Connected("fuzz", b.answer)
		b.sync.Receive(frame)
		b.sync.decideGroups()
		if len(frame) > 20 { // a next hop changes after its routes
			binary.NativeEndian.PutUint16(frame[4:], 105)
			b.sync.Receive(frame)
			b.sync.decideGroups()
		}
		room := 0
		for r, one := range b.sync.rows {
			if room += one.size(); one.uses < 1 || strings.Count(r.ifname, ",") != strings.Count(r.nexthop, ",") {
				t.Errorf("%+v, %d uses", r, one.uses)
			}
		}
		if room != b.sync.room {
			t.Errorf("%d bytes, counted %d", room, b.sync.room)
		}
	})
}
