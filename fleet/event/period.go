package event

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"tamtam/fleet/dial"
	"tamtam/tam/altmark"
)

// A Period is a switch's report of one period of an alternate-marking session: an event of a batch of Periods, whose
// time is the beginning of the period.
type Period struct {
	Group   string          `json:"group"` // group of a dial.File in which it is joined
	Target  string          `json:"target"`
	Session string          `json:"session"`
	By      altmark.Session `json:"by"` // settings that it was measured by
	Period  altmark.Period  `json:"period"`
	Arrived int64           `json:"arrived,omitempty"` // time of arrival by the clock of its reader; 0 if unknown
}

// PeriodOf returns a report as an event of a group.
func PeriodOf(group string, r dial.Report) Period {
	p := Period{Group: group, Target: r.Target, Session: r.Session, By: r.Settings, Period: r.Period}
	if !r.Arrived.IsZero() {
		p.Arrived = r.Arrived.UnixNano()
	}
	return p
}

// Report returns the event in the form that the join of its group uses.
func (p *Period) Report() dial.Report {
	r := dial.Report{Target: p.Target, Session: p.Session, Settings: p.By, Period: p.Period}
	if p.Arrived != 0 {
		r.Arrived = time.Unix(0, p.Arrived)
	}
	return r
}

// AddPeriod adds a report. It returns false if the batch is full.
func (w *Writer) AddPeriod(p *Period) (bool, error) {
	if err := p.check(); err != nil {
		return false, err
	}
	at, _ := p.Report().Start()
	data, err := json.Marshal(p)
	if err != nil {
		return false, err
	}
	return w.Add(at, data)
}

// ReadPeriod reads an event of a batch of Periods.
func ReadPeriod(b Blob) (Period, error) {
	var p Period
	if err := json.Unmarshal(b.Data, &p); err != nil {
		return Period{}, fmt.Errorf("a period of alternate marking: %w", err)
	}
	if err := p.check(); err != nil {
		return Period{}, err
	}
	if at, _ := p.Report().Start(); at != b.Time {
		return Period{}, fmt.Errorf("a report of period %d of 2^%d s at %d: want %d, when that began", p.Period.Number,
			p.By.Interval, b.Time, at)
	}
	return p, nil
}

// maxReadAfter is the maximum time between the beginning of a period and its reading: with a larger one the settings
// cannot be those of the period.
const maxReadAfter = time.Hour

func (p *Period) check() error {
	if p.Group == "" || p.Target == "" || p.Session == "" {
		return fmt.Errorf("a report of group %.40q, target %.40q, session %.40q: want names", p.Group, p.Target, p.Session)
	}
	if p.Arrived < 0 || p.Arrived > MaxTime {
		return fmt.Errorf("a report that arrived at %d: want 0 to %d", p.Arrived, int64(MaxTime))
	}
	at, ok := p.Report().Start()
	if !ok || at > MaxTime {
		return fmt.Errorf("a report of period %d of 2^%d s: want one from 1970 to 2116", p.Period.Number, p.By.Interval)
	}
	if read := p.Period.ReadAt; read.Std().Sub(time.Unix(0, at)).Abs() > maxReadAfter {
		return fmt.Errorf("period %d of %s begins at %s, and was read at %s: want less than %v between them",
			p.Period.Number, p.By.Interval, p.By.Interval.Start(p.Period.Number), read, maxReadAfter)
	}
	if p.Period.Packets > altmark.MaxPackets {
		return fmt.Errorf("period %d of session %.40q has %d packets: want %d at most", p.Period.Number, p.Session,
			p.Period.Packets, uint64(altmark.MaxPackets))
	}
	_, role := altmark.ParseRole(p.By.Role.String())
	_, method := altmark.ParseMethod(p.By.Method.String())
	_, mark := altmark.ParseMark(p.By.Mark.String())
	if err := errors.Join(role, method, mark); err != nil {
		return fmt.Errorf("a report of session %.40q: %w", p.Session, err)
	}
	return nil
}
