package swss

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tamtam/internal/randtest"
)

// A table has too many rows, which change. A subscriber has then delivered the same as a subscriber that starts now:
// the first rows by name that fit, and for each further row that there are too many.
func TestBoundedTable(t *testing.T) {
	randtest.Run(t, randtest.Cases{Count: 20}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		r, err := OpenEmbedded()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		db := r.DB(ConfigDB)
		l := NewListener(r)
		defer l.Close()
		begin := func() *Subscriber {
			s := NewSubscriber(l, db, "T").Bound()
			s.most = 10 * minWeight
			return s
		}
		take := func(s *Subscriber, into map[string]string) {
			t.Helper()
			if err := l.Sync(t.Context()); err != nil {
				t.Fatal(err)
			}
			items, err := s.Pops(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range items {
				switch {
				case i.Op == OpDel:
					delete(into, i.Key)
				case i.Size == TooMany:
					into[i.Key] = "too many"
				default:
					into[i.Key] = fmt.Sprint(i.FieldValues(), i.Size)
				}
			}
		}
		s, got, over := begin(), map[string]string{}, 0
		for step := range 100 {
			for range 1 + rnd.IntN(4) {
				key := fmt.Sprintf("k%02d", rnd.IntN(20))
				if rnd.IntN(3) == 0 {
					err = db.Client().Del(t.Context(), "T|"+key).Err()
				} else {
					row := FieldValues{"f": strings.Repeat("x", rnd.IntN(4*minWeight)), "n": fmt.Sprint(step)}
					err = NewTable(db, "T").Set(t.Context(), key, row)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			take(s, got)
			want := map[string]string{}
			take(begin(), want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("step %d: (-want +got):\n%s", step, diff)
			}
			for v := range maps.Values(got) {
				if v == "too many" {
					over++
				}
			}
		}
		if over == 0 {
			t.Error("there were never too many")
		}
	})
}

// A row that was created and deleted between two calls is reported only to subscribers that asked for that, also
// during a full read.
func TestBriefRows(t *testing.T) {
	r, err := OpenEmbedded()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	l := NewListener(r)
	defer l.Close()
	plain, brief := NewSubscriber(l, r.DB(ConfigDB), "T"), NewSubscriber(l, r.DB(ConfigDB), "T").Brief()
	pops := func(s *Subscriber) (keys []string) {
		t.Helper()
		if err := l.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		items, err := s.Pops(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range items {
			keys = append(keys, i.Op+" "+i.Key)
		}
		return keys
	}
	pops(plain)
	pops(brief)
	for _, anew := range []bool{false, true} {
		if err := r.DB(ConfigDB).Client().HSet(t.Context(), "T|a", "f", "1").Err(); err != nil {
			t.Fatal(err)
		}
		if err := r.DB(ConfigDB).Client().Del(t.Context(), "T|a").Err(); err != nil {
			t.Fatal(err)
		}
		if err := l.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		if anew {
			plain.stale()
			brief.stale()
		}
		if got, want := fmt.Sprint(pops(plain), pops(brief)), "[] ["+OpDel+" a]"; got != want {
			t.Errorf("all anew %v: %s, want %s", anew, got, want)
		}
	}
}
