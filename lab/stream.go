package lab

import (
	"cmp"
	"context"
	"fmt"

	"tamtam/collector/hftread"
	"tamtam/device"
	"tamtam/saisim"
	"tamtam/swss"
	"tamtam/swss/schema"
	"tamtam/tam/hft"
)

// A streamed measurement is a series of a statistic that a switch streams by high-frequency telemetry.
type streamed struct {
	m      *Measurement
	series *Series
	last   uint64 // value of the record before
	next   Time   // when the next record is due; zero before the second one
	begun  bool
}

// A streamer turns the records that a switch streams into series.
type streamer struct {
	decoder *hft.Decoder
	all     []*streamed
}

// measure adds a series of what the switch streams.
func (x *streamer) measure(m *Measurement) (err error) {
	x.all = append(x.all, &streamed{m: m, series: &Series{Name: m.name(), Unit: m.What}})
	if x.decoder == nil {
		x.decoder, err = hft.NewDecoder(0, 0, nil)
	}
	return err
}

// read decodes a message. The switch writes the sessions with the templates of its streams before their first record.
func (x *streamer) read(s *device.Sim, m saisim.StreamMessage) error {
	if x.decoder.Lacks(m.Bytes) {
		rows, err := swss.NewTable(s.Redis.DB(swss.StateDB), schema.StateHFTSession).Dump(context.Background())
		if err != nil {
			return err
		}
		for key, fields := range rows {
			session, err := schema.ParseHFTSession(key, fields)
			if err != nil {
				return err
			}
			objects := map[uint16]string{}
			for i, label := range session.Labels {
				objects[label] = session.Objects[i]
			}
			if err := x.decoder.Session(session.Templates, objects); err != nil {
				return fmt.Errorf("session %s: %w", key, err)
			}
		}
	}
	var wrong error
	err := x.decoder.Messages(m.Bytes, func(r *hft.Record) {
		at := Time(r.At-epoch.UnixNano()) * Nanosecond
		for _, s := range x.all {
			for i, c := range r.Columns {
				name := hftread.Named(c.Type, c.ID)
				if c.Object == s.m.Object && name.Name == s.m.What && wrong == nil {
					wrong = s.add(at, r.Values[i], name.Kind)
				}
			}
		}
	})
	return cmp.Or(err, wrong)
}

// add adds a value. That of a counter is what it counted since the record before, so that the first record has none.
func (s *streamed) add(at Time, value uint64, kind hft.Kind) error {
	if s.begun && s.series.Every == 0 {
		s.series.Every, s.next = at-s.series.Start, at
	}
	if s.next != 0 && at != s.next {
		return fmt.Errorf("measure %s: %s of %s has a record at %v, want one at %v: a series is of one stream without a "+
			"pause, by a clock that runs evenly", s.series.Name, s.m.What, s.m.Object, at, s.next)
	}
	v, first := int64(value), !s.begun
	if kind == hft.Counter {
		if value < s.last {
			return fmt.Errorf("measure %s: %s of %s falls from %d to %d at %v: a counter must not begin again",
				s.series.Name, s.m.What, s.m.Object, s.last, value, at)
		}
		v = int64(value - s.last)
	}
	if s.last, s.begun, s.next = value, true, s.next+s.series.Every; first {
		s.series.Start = at // until there are values
	}
	if kind == hft.Counter && first || at < s.m.From || s.m.Until != 0 && at > s.m.Until {
		return nil
	}
	switch len(s.series.Values) {
	case 0:
		s.series.Start = at
	case maxSamples:
		return fmt.Errorf("measure %s: more than %d values, want bounds: from and until", s.series.Name, maxSamples)
	}
	s.series.Values = append(s.series.Values, v)
	return nil
}
