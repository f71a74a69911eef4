package marks

import (
	"time"

	"tamtam/tam/altmark"
)

// Replay adds many reports to a join before it evaluates them. This costs less than an evaluation per report, and the
// last result of each period is the same. Its results have neither Jitter nor Window, which would cost as much as
// everything else.
type Replay struct {
	joins []*Joiner
	users [][]meshUse // uses of reports, by point
}

// NewReplay returns a Replay for a path. Meanwhile the join must only be used for settings and at the end.
func NewReplay(m *Joiner) *Replay {
	x := &Replay{joins: []*Joiner{m}}
	for i := range m.stages {
		x.users = append(x.users, []meshUse{{0, i, 0}})
	}
	return x.brief()
}

// NewMeshReplay returns a Replay for a graph.
func NewMeshReplay(m *Mesh) *Replay {
	return (&Replay{joins: m.joins, users: m.users}).brief()
}

func (x *Replay) brief() *Replay {
	for _, j := range x.joins {
		j.brief = true
	}
	return x
}

// Add adds a report like [Joiner.Add], but without its evaluation, which Report does. It returns results only of
// periods that are dropped, or that passed without a report.
func (x *Replay) Add(point int, p altmark.Period, arrived time.Time) (out []Result) {
	for _, u := range x.users[point] {
		x.joins[u.join].store(u.stage, u.point, p, arrived, &out)
	}
	return sortResults(out)
}

// Report returns the results that reports of period k complete or change, since they were added by Add.
func (x *Replay) Report(k uint64) (out []Result) {
	for _, j := range x.joins {
		j.revise(k, &out)
		j.flush(&out)
	}
	return sortResults(out)
}
