package collector

import (
	"time"

	"tamtam/tam/altmark"
)

// AltMarkReplay gives the reports of a time to a join together: it costs less than to say something of each, and the
// last result for each period is the same. Its results have neither Jitter nor Window, which cost as much as all else.
type AltMarkReplay struct {
	joins []*AltMark
	users [][]meshUse // by point
}

// NewAltMarkReplay is for a path. The join is of no other use then, but for settings and at the end.
func NewAltMarkReplay(m *AltMark) *AltMarkReplay {
	x := &AltMarkReplay{joins: []*AltMark{m}}
	for i := range m.stages {
		x.users = append(x.users, []meshUse{{0, i, 0}})
	}
	return x.brief()
}

// NewAltMarkMeshReplay is for a graph.
func NewAltMarkMeshReplay(m *AltMarkMesh) *AltMarkReplay {
	return (&AltMarkReplay{joins: m.joins, users: m.users}).brief()
}

func (x *AltMarkReplay) brief() *AltMarkReplay {
	for _, j := range x.joins {
		j.brief = true
	}
	return x
}

// Take is [AltMark.Add] that says nothing of the report yet, see Tell. What it returns is of periods that are forgotten
// now, or of such that passed without a report.
func (x *AltMarkReplay) Take(point int, p altmark.Period, arrived time.Time) (out []AltMarkResult) {
	for _, u := range x.users[point] {
		x.joins[u.join].take(u.stage, u.point, p, arrived, &out)
	}
	return sortAltMark(out)
}

// Tell returns the results that the reports of period k which were taken complete or change.
func (x *AltMarkReplay) Tell(k uint64) (out []AltMarkResult) {
	for _, j := range x.joins {
		j.revise(k, &out)
		j.settle(&out)
	}
	return sortAltMark(out)
}
