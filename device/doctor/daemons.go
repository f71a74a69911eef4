package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"tamtam/device/daemons"
	sairedis "tamtam/sai/redis"
	"tamtam/sai/redis/protocol"
	"tamtam/swss"
	"tamtam/swss/drift"
	"tamtam/swss/schema"
)

// compared lists the daemons that compare rows in the background.
var compared = []string{"tammgrd", "orchagent", "syncd"}

func daemonChecks() []check {
	var list []check
	for _, name := range compared {
		list = append(list, check{"consistency of " + name, true, func(ctx context.Context, p *installation) answer {
			return consistency(ctx, p, name)
		}})
	}
	return append(list, check{"faults on purpose", true, faults}, check{"outputs", true, outputs})
}

// outputs checks whether what the switch sends by itself is delivered.
func outputs(ctx context.Context, p *installation) answer {
	failed, err := daemons.OutputAlarms(ctx, p.r)
	if err != nil {
		return unknown("%s", swss.Why(err))
	}
	rows, err := swss.NewTable(p.r.DB(swss.StateDB), schema.StateOutput).Dump(ctx)
	if err != nil {
		return unknown("%s", swss.Why(err))
	}
	var tried []string
	for name, row := range rows {
		if row[schema.OutputStatus] == schema.OutputFailed {
			tried = append(tried, name+": "+row[schema.OutputReason])
		}
	}
	slices.Sort(tried)
	switch {
	case len(failed) > 0:
		return fail("see whether the receiver listens and accepts; show outputs has the counts", "%s",
			strings.Join(failed, "; "))
	case len(tried) > 0:
		return warn("look again in a minute", "tried again: %s", strings.Join(tried, "; "))
	case len(rows) == 0:
		return well("none is configured")
	}
	return well("%d, and none fails", len(rows))
}

// daemon checks the state that a daemon reports, and whether another process has replaced its mark.
func daemon(ctx context.Context, p *installation, name string) answer {
	state, heard, err := daemons.ReadState(ctx, p.r, name)
	start := fmt.Sprintf("tamtam run %s, or read its log with --verbose", name)
	switch {
	case err != nil:
		return unknown("%s", swss.Why(err))
	case !heard && name == "syncd" && unknownSyncd(ctx, p):
		return unknown("the syncd of this ASIC_DB is not tamtam's: it reports no health")
	case !heard:
		return fail(start, "nothing was heard of it for 5 s")
	}
	since := orUnknown("")
	if !state.Since.IsZero() {
		since = state.Since.UTC().Format(time.RFC3339)
	}
	if other := claimedBy(ctx, p, name, state.Owner); other != "" {
		return fail("stop one of the two; if there is only one, another client wrote its row",
			"two processes: %.16s speaks, and the mark in %s", state.Owner, other)
	}
	if why, err := daemons.Stranger(ctx, p.r, name, state); err != nil {
		return unknown("%s", swss.Why(err))
	} else if why != "" {
		return fail("redis-cli -n 6 del 'TAMTAM_HEALTH|"+name+"'; if the daemon works, it writes its row again", "%s", why)
	}
	switch state.State {
	case daemons.StateReady:
		return well("ready since %s", since)
	case daemons.StateWaiting:
		return fail("it comes back by itself when that is well again", "not ready since %s: %s", since, state.Reason)
	}
	return unknown("its state is %q, want %s or %s", state.State, daemons.StateReady, daemons.StateWaiting)
}

// unknownSyncd reports whether ASIC_DB contains objects, but no journal of our syncd.
func unknownSyncd(ctx context.Context, p *installation) bool {
	c := p.r.DB(swss.ASICDB).Client()
	ids, err := c.HLen(ctx, protocol.KeyVIDToRID).Result()
	if err != nil || ids == 0 {
		return false
	}
	n, err := c.Exists(ctx, sairedis.KeySyncd).Result()
	return err == nil && n == 0
}

// claimedBy returns a text about the database that has the mark of another process of the same name, "" if there is
// none.
func claimedBy(ctx context.Context, p *installation, name, owner string) string {
	for _, db := range used {
		got, err := p.r.DB(db).Client().HGetAll(ctx, swss.KeyMark).Result()
		if other := got[name]; err == nil && other != "" && other != owner {
			return fmt.Sprintf("%s is of %.16s", db, other)
		}
	}
	return ""
}

func consistency(ctx context.Context, p *installation, name string) answer {
	row, ok, err := swss.NewTable(p.r.DB(swss.StateDB), drift.Table).Get(ctx, name)
	switch {
	case err != nil:
		return unknown("%s", swss.Why(err))
	case !ok:
		return unknown("nothing was heard for 5 s")
	}
	switch row[drift.FieldState] {
	case drift.Consistent:
		return well("%s objects compared, drift seen %s times, healed %s", row[drift.FieldObjects],
			row[drift.FieldDrift], row[drift.FieldHealed])
	case drift.Checking:
		return warn("look again in a few seconds", "the first pass has not ended")
	case drift.Differs:
		return fail("it is healed by whose word it is; if it stays, see tamtam techsupport",
			"since %s: %s", row[drift.FieldSince], row[drift.FieldReason])
	}
	return unknown("its state is %q", row[drift.FieldState])
}
