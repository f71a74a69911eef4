package hft

import (
	"flag"
	"math/rand/v2"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/orch"
	"tamtam/orch/forward/forwardtest"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/swss/swsstest"
)

// appl contains the tables of APPL_DB. STATE_DB has tables of the same names.
var appl = []string{schema.AppHFTProfile, schema.AppHFTGroup}

func managers(d *orch.Daemon, r *swss.Redis) { New(d, r) }

// Any sequence of rows and restarts has the same result as applying the last version of each row once.
func TestConvergence(t *testing.T) {
	const profile, group, pool = "HIGH_FREQUENCY_TELEMETRY_PROFILE|", "HIGH_FREQUENCY_TELEMETRY_GROUP|", "BUFFER_POOL|b "
	lines := []string{
		"PORT|Ethernet0 lanes=0 speed=10000", "-PORT|Ethernet0",
		pool + "size=1000 type=egress", pool + "size=x", "-BUFFER_POOL|b",
		profile + "p stream_state=enabled poll_interval=10", profile + "p stream_state=maybe", "-" + profile + "p",
		profile + "q", "-" + profile + "q", group + "p|PORT object_names=Ethernet0 object_counters=IF_IN_OCTETS",
		group + "p|PORT object_names=Ethernet0", "-" + group + "p|PORT",
		group + "q|BUFFER_POOL object_names=b object_counters=WATERMARK_BYTES", "-" + group + "q|BUFFER_POOL",
		"restart", "step", "step",
	}
	randtest.Run(t, randtest.Cases{Count: 20}, func(t *testing.T, seed uint64) {
		t.Parallel()
		fresh := func(t *testing.T) *forwardtest.Bench { return forwardtest.New(t, swsstest.Start(t), managers) }
		forwardtest.Converge(t, rand.New(rand.NewPCG(seed, 0)), fresh, lines, 40, appl, appl)
	})
}

var update = flag.Bool("update", false, "write the results into the transcripts")

// The outcomes of rows are in testdata/*.rows.
func TestRules(t *testing.T) {
	forwardtest.Transcript{Managers: managers, Appl: appl, State: appl, Update: *update}.Run(t)
}
