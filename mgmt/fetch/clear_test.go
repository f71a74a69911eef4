package fetch

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/mgmt/tree"
	"tamtam/swss/schema"
)

const (
	debugStat  = "SAI_PORT_STAT_IN_CONFIGURED_DROP_REASONS_0_DROPPED_PKTS"
	portSince  = schema.FieldCountedSince + schema.GroupPort
	debugSince = schema.FieldCountedSince + schema.FlexDebugCounter
)

// If a statistic restarts, the other statistics of its object continue.
func TestOneStatisticCountsAnew(t *testing.T) {
	base, err := json.Marshal(map[string]string{
		ClearedAt: "T", "SAI_PORT_STAT_IF_IN_OCTETS": "100", "SAI_PORT_STAT_IF_IN_ERRORS": "9", debugStat: "50",
		portSince: "P", debugSince: "P",
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name     string
		is, want map[string]string
	}{
		{"a debug counter is made again",
			map[string]string{"SAI_PORT_STAT_IF_IN_OCTETS": "130", debugStat: "3", portSince: "P", debugSince: "P"},
			map[string]string{"SAI_PORT_STAT_IF_IN_OCTETS": "30", debugStat: "3", portSince: "T"}},
		{"the last debug counter is gone",
			map[string]string{"SAI_PORT_STAT_IF_IN_OCTETS": "130", portSince: "P"},
			map[string]string{"SAI_PORT_STAT_IF_IN_OCTETS": "30", portSince: "T"}},
		{"a statistic of the port falls",
			map[string]string{
				"SAI_PORT_STAT_IF_IN_OCTETS": "130", "SAI_PORT_STAT_IF_IN_ERRORS": "1", debugStat: "51", portSince: "P",
				debugSince: "P"},
			map[string]string{
				"SAI_PORT_STAT_IF_IN_OCTETS": "30", "SAI_PORT_STAT_IF_IN_ERRORS": "1", debugStat: "1", debugSince: "T"}},
		{"the port is made again",
			map[string]string{"SAI_PORT_STAT_IF_IN_OCTETS": "130", debugStat: "60", portSince: "Q", debugSince: "Q"},
			map[string]string{"SAI_PORT_STAT_IF_IN_OCTETS": "130", debugStat: "60", portSince: "Q", debugSince: "Q"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.want[tree.ClearedField] = "T"
			if got, _ := since(string(base), tt.is); !maps.Equal(got, tt.want) {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}

// Whichever statistics restart, each shows its count since the clearing, or since its restart.
func TestRandomStatisticsCountAnew(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 300, Short: 50}, func(t *testing.T, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 0xc1ea))
		base, is, want := map[string]string{ClearedAt: "T"}, map[string]string{}, map[string]string{tree.ClearedField: "T"}
		for i := range 1 + rnd.IntN(8) {
			stat := fmt.Sprintf("SAI_PORT_STAT_%d", i)
			if rnd.IntN(3) == 0 {
				stat = fmt.Sprintf("SAI_PORT_STAT_IN_CONFIGURED_DROP_REASONS_%d_DROPPED_PKTS", i)
			}
			was, counted := rnd.Uint64N(1<<63), rnd.Uint64N(1<<62)
			now := was + counted
			if rnd.IntN(3) == 0 && was > 0 {
				counted = rnd.Uint64N(was)
				now = counted
			}
			base[stat], is[stat] = strconv.FormatUint(was, 10), strconv.FormatUint(now, 10)
			want[stat] = strconv.FormatUint(counted, 10)
		}
		text, err := json.Marshal(base)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := since(string(text), is); !maps.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	})
}
