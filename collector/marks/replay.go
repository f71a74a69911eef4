package marks

import (
	"time"

	"tamtam/tam/altmark"
)

// Replay gives the reports of a time to a join together: it costs less than to say something of each, and the
// last result for each period is the same. Its results have neither Jitter nor Window, which cost as much as all else.
type Replay struct {
	joins []*Joiner
	users [][]meshUse // by point
}

// NewReplay is for a path. The join is of no other use then, but for settings and at the end.
func NewReplay(m *Joiner) *Replay {
	x := &Replay{joins: []*Joiner{m}}
	for i := range m.stages {
		x.users = append(x.users, []meshUse{{0, i, 0}})
	}
	return x.brief()
}

// NewMeshReplay is for a graph.
func NewMeshReplay(m *Mesh) *Replay {
	return (&Replay{joins: m.joins, users: m.users}).brief()
}

func (x *Replay) brief() *Replay {
	for _, j := range x.joins {
		j.brief = true
	}
	return x
}

// Take is [Joiner.Add] that says nothing of the report yet, see Tell. What it returns is of periods that are forgotten
// now, or of such that passed without a report.
func (x *Replay) Take(point int, p altmark.Period, arrived time.Time) (out []Result) {
	for _, u := range x.users[point] {
		x.joins[u.join].take(u.stage, u.point, p, arrived, &out)
	}
	return sortResults(out)
}

// Tell returns the results that the reports of period k which were taken complete or change.
func (x *Replay) Tell(k uint64) (out []Result) {
	for _, j := range x.joins {
		j.revise(k, &out)
		j.settle(&out)
	}
	return sortResults(out)
}
