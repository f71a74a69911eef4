package rows

import (
	"iter"
	"time"

	"tamtam/collector/alarm"
	"tamtam/collector/result"
)

// Judge returns the alarms that follow from the rows. They are computed once, at the time of the first call.
func (s *Snapshot) Judge(rules *alarm.Rules, now time.Time) []alarm.Graph {
	s.judged.Do(func() { s.alarms = rules.Judge(s.losses(), now) })
	return s.alarms
}

// MostAhead bounds how much later than now a period may begin to count for alarms: TAI is 37 s ahead of UTC.
const MostAhead = time.Minute

// losses returns all rows of alternate marking except rows that are later than now. Such rows would be the newest, and
// so determine the state of a graph.
func (s *Snapshot) losses() iter.Seq[*result.Loss] {
	return func(yield func(*result.Loss) bool) {
		for _, x := range s.Series {
			for i := range x.Periods {
				if l := &x.Periods[i]; l.Window.Start <= s.Now+int64(MostAhead) && !yield(l) {
					return
				}
			}
		}
	}
}
