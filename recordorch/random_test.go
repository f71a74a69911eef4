package recordorch

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"tamtam/internal/randtest"
	"tamtam/orch"
	"tamtam/orch/feature/featuretest"
	"tamtam/sai"
	"tamtam/swss/schema"
)

// Whatever the order of events, with occasional failures of SAI calls, the ASIC has exactly the sessions that are
// reported as active. The chip refuses nothing permanently. When all sessions are deleted, nothing is left.
func TestRandomSequences(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 0, Count: 8}, func(t *testing.T, seed uint64) {
		b := newBench(t)
		rnd := rand.New(rand.NewPCG(seed, 6))
		for range 60 {
			b.random(rnd)
			b.Step()
			b.wantWhole()
		}
		b.Rec.FailAt(0, 0)
		b.Set(schema.AppTAMFeature, featureName, "status", "ACTIVE")
		b.world.path = &Path{Port: "Ethernet4", Address: b.world.address()}
		for i := range 3 {
			b.rule(fmt.Sprint("F", i+1), "SRC_IP", "10.9.9.9")
		}
		b.Step()
		b.Pass(2 * time.Second)
		b.rr.LookAgain(b.Ctx)
		b.Step()
		b.wantWhole()
		for name, s := range b.rr.Sessions {
			b.wantItsFlowGroup(s)
			b.Del(schema.AppTAMTableRecord, name)
		}
		b.Step()
		b.Pass(2 * time.Second)
		b.wantObjects()
		featuretest.Empty(b.Bench, b.rr.Feature)
		if len(b.rr.schemes) > 0 || len(b.rr.bound()) != 0 {
			t.Errorf("%d plans and %d sessions stay in the books", len(b.rr.schemes), len(b.rr.bound()))
		}
	})
}

// wantItsFlowGroup checks the outcome of a session. The first session that names a flow group may lack only capacity.
// Other sessions of that flow group wait for the first.
func (b *bench) wantItsFlowGroup(s *session) {
	b.T.Helper()
	first := b.rr.Snapshot().Rules[s.Row.Rule][0]
	var wait *orch.WaitError
	switch {
	case s.ParseErr != nil:
	case s.Name == first:
		if s.Err != nil && !orch.Retryable(s.Err) {
			b.T.Errorf("session %s: %v", s.Name, s.Err)
		}
	case !errors.As(s.Err, &wait) || wait.On != (orch.Dep{Kind: "session", Name: first}) || s.InASIC != nil:
		b.T.Errorf("session %s, in the ASIC: %v, of the flow group of %s: %v", s.Name, s.InASIC != nil, first, s.Err)
	}
}

// random makes a random change.
func (b *bench) random(rnd *rand.Rand) {
	pick := func(of ...string) string { return of[rnd.IntN(len(of))] }
	name := fmt.Sprint("s", rnd.IntN(5))
	switch rnd.IntN(14) {
	case 0:
		b.Del(schema.AppTAMTableRecord, name)
	case 1:
		b.Set(schema.AppTAMFeature, featureName, "status", pick("ACTIVE", "ACTIVE", "INACTIVE"))
	case 2, 3:
		b.Rec.FailAt(1+rnd.IntN(6), []sai.Status{sai.StatusFailure, sai.StatusInsufficientResources}[rnd.IntN(2)])
	case 4:
		b.world.path = []*Path{nil, {Port: "Ethernet0", Address: b.world.address()},
			{Port: "Ethernet4", MAC: mac(9), Address: b.world.address()}}[rnd.IntN(3)]
		b.world.Routed.Publish(b.Ctx, struct{}{})
	case 5:
		b.chip.graph = graphOf(uint64(1+rnd.IntN(3)), "e")
	case 6:
		b.chip.counted += uint64(rnd.IntN(10000))
		b.Pass(time.Duration(rnd.IntN(1500)) * time.Millisecond)
	case 7:
		if rule := fmt.Sprint("F", 1+rnd.IntN(3)); rnd.IntN(2) == 0 {
			b.Del(schema.AppACLRule, "TAM:"+rule)
		} else {
			b.rule(rule, "SRC_IP", "10.9.9.9")
		}
	default:
		b.session(name, fmt.Sprint("F", 1+rnd.IntN(3)), "phv", pick("8", "16", "32"), "mode", pick("exec", "exec+hit"),
			"encapsulation", pick("udp", "erspan"),
			"sampling-rate", pick("1", "10"), "probabilities", pick("uniform", "counted"))
	}
}
