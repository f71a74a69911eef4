package collectd

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tamtam/collector/result"
	"tamtam/fleet/join"
	"tamtam/fleet/parquet"
)

// Reports of several kinds of sources on the same packets are not added up. The time of packets in switches is exported
// with the number of packets for which it is known.
func TestCounted(t *testing.T) {
	s := newCountedStore(nil, "", nil)
	b := &result.Batch{Hops: []result.Hop{{Packets: 10, Unknown: 6, Resident: result.Distribution{Count: 4, Sum: 8e9}}}}
	for _, source := range []string{"ipfix", "record", "ipfix"} {
		b.Drops = append(b.Drops, result.Drop{Reason: "acl", Source: source, Packets: 3})
	}
	for i := range mostReasons {
		b.Drops = append(b.Drops, result.Drop{Reason: fmt.Sprint(i), Source: "sflow", Packets: 1})
	}
	s.count(b)
	got := map[string]float64{}
	d := &daemon{counted: s, pool: &join.Pool{}}
	d.collectPool(func(name string, value float64, labels ...string) {
		named := name == "dropped_packets_total" && !strings.Contains("0123456789", labels[0][:1])
		if named || strings.HasPrefix(name, "hop_") {
			got[strings.Join(append([]string{name}, labels...), " ")] = value
		}
	})
	want := map[string]float64{
		"hop_packets_total": 10, "hop_residence_packets_total": 4, "hop_residence_seconds_total": 8,
		"dropped_packets_total acl ipfix": 6, "dropped_packets_total acl record": 3, "dropped_packets_total other sflow": 2}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// That results wait for the store is logged once, however many partitions wait and how often each retries; so is the
// end of the wait. Meanwhile the page shows it, with the reason.
func TestStoreAway(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	files, err := parquet.Open(parquet.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	var reported bytes.Buffer
	s := newCountedStore(files, dir, slog.New(slog.NewTextHandler(&reported, nil)))
	put := func(partition string, first uint64) error {
		_, err := s.Put(t.Context(), &result.Batch{Partition: partition, First: first,
			Position: result.Position{Last: first, Low: first + 1}, Journeys: make([]result.Journey, 1)})
		return err
	}
	if err := errors.Join(put("p-0", 1), put("p-1", 1)); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(dir, dir+".away"); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		for _, partition := range []string{"p-0", "p-1"} {
			if err := put(partition, 2); !errors.Is(err, result.ErrAway) {
				t.Errorf("%s: %v, want %q", partition, err, result.ErrAway)
			}
		}
	}
	if n := strings.Count(reported.String(), "\n"); n != 1 || !strings.Contains(reported.String(), dir) {
		t.Errorf("told %q: want one line, with %s", reported.String(), dir)
	}
	if why := s.troubles(); len(why) != 1 || !strings.Contains(why[0], "rows of 2 partitions are not in the store yet") ||
		!strings.Contains(why[0], dir) {
		t.Errorf("the page says %q", why)
	}
	if err := os.Rename(dir+".away", dir); err != nil {
		t.Fatal(err)
	}
	if err := put("p-0", 2); err != nil || len(s.troubles()) != 1 {
		t.Errorf("%v, %q: want that one partition waits still", err, s.troubles())
	}
	if err := put("p-1", 2); err != nil || s.troubles() != nil || s.failures != 6 || s.rows["journeys"] != 4 {
		t.Errorf("%v, %q, %v failures, rows %v: want no trouble, 6 failures and 4 rows", err, s.troubles(), s.failures,
			s.rows)
	}
	if !strings.Contains(reported.String(), "results wait no longer") || strings.Count(reported.String(), "\n") != 2 {
		t.Errorf("told %q: want one line more, that it is over", reported.String())
	}
}
