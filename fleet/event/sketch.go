package event

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// A Sketch is an answer of a sketch task: an event of a batch of Sketches.
type Sketch struct {
	Start    int64   `json:"start,omitempty"` // start of the epoch; zero if unknown. The time of the event is its end.
	Switch   string  `json:"switch"`
	Task     string  `json:"task"`
	Key      string  `json:"key,omitempty"` // empty for all packets
	Estimate float64 `json:"estimate"`
	// Low and High are the bounds of Estimate; nil means that there is none on that side.
	Low   *float64 `json:"low,omitempty"`
	High  *float64 `json:"high,omitempty"`
	Flags string   `json:"flags,omitempty"` // flags in words, for example that the answer is saturated
}

// AddSketch adds an answer at a time. It returns false if the batch is full.
func (w *Writer) AddSketch(time int64, s *Sketch) (bool, error) {
	if err := s.check(time); err != nil {
		return false, err
	}
	data, err := json.Marshal(s)
	if err != nil {
		return false, err
	}
	return w.Add(time, data)
}

// ReadSketch reads an event of a batch of Sketches.
func ReadSketch(b Blob) (Sketch, error) {
	var s Sketch
	if err := json.Unmarshal(b.Data, &s); err != nil {
		return Sketch{}, fmt.Errorf("an answer of a sketch: %w", err)
	}
	return s, s.check(b.Time)
}

func (s *Sketch) check(end int64) error {
	switch {
	case s.Start < 0 || s.Start > end:
		return fmt.Errorf("an answer of task %.40q for an epoch from %d to %d: want times from 0 on in order", s.Task,
			s.Start, end)
	case s.Switch == "":
		return errors.New("an answer of a sketch without a switch")
	case s.Task == "":
		return errors.New("an answer of a sketch without a task")
	}
	for _, v := range []*float64{&s.Estimate, s.Low, s.High} {
		if v != nil && (math.IsNaN(*v) || math.IsInf(*v, 0)) {
			return fmt.Errorf("an answer of task %.40q with %v: want a number, and no bound where there is none", s.Task, *v)
		}
	}
	if s.Low != nil && s.High != nil && *s.Low > *s.High {
		return fmt.Errorf("an answer of task %.40q between %v and %v: want the lower bound first", s.Task, *s.Low, *s.High)
	}
	return nil
}
