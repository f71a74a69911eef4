package sketching

import (
	"fmt"

	"tamtam/saisim/cmu"
	"tamtam/tam/flymon"
	"tamtam/tam/sketch"
)

// baseline returns the meter of a software algorithm. Its hash functions depend on the seed.
func (s *run) baseline(p *planned, seed uint64) (meter, error) {
	key, element, err := s.keys()
	if err != nil {
		return nil, err
	}
	if p.curve.Algorithm == OriginalBeauCoup {
		m := &beauCoupMeter{key: key, element: element}
		switch s.Study {
		case Heavy:
			m.element, err = flymon.ParseKey("timestamp")
		case Cardinality:
			m.key, m.element = flymon.Key{}, key
		case Victims:
		default:
			return nil, fmt.Errorf("%s does not measure %s", p.curve.Algorithm, s.Study)
		}
		if err == nil {
			m.sketch, err = sketch.NewBeauCoup(int(p.bytes/sketch.BeauCoupEntry), s.Threshold, 0, seed)
		}
		return m, err
	}
	shape, err := univMonOf(uint64(p.at))
	if err != nil {
		return nil, err
	}
	u, err := sketch.NewUnivMon(shape.levels, shape.rows, shape.width, shape.most, seed)
	return &univMonMeter{key: key, sketch: u}, err
}

// baselineBytes returns how much of the requested memory a baseline uses.
func baselineBytes(c *Curve, at Bytes) (uint64, error) {
	if c.Algorithm == OriginalBeauCoup {
		return max(1, uint64(at)/sketch.BeauCoupEntry) * sketch.BeauCoupEntry, nil
	}
	shape, err := univMonOf(uint64(at))
	return shape.bytes(), err
}

// A beauCoupMeter is the original BeauCoup.
type beauCoupMeter struct {
	key, element flymon.Key
	sketch       *sketch.BeauCoup
}

func (m *beauCoupMeter) see(batch []cmu.Packet) {
	for i := range batch {
		v := &batch[i].Vector
		m.sketch.Add(v.And(m.key), v.And(m.element), v[5])
	}
}

func (m *beauCoupMeter) read(f *Settings, truth *flyTruth) (map[string]float64, error) {
	vectors, values := truth.seen()
	if f.Study == Cardinality {
		return map[string]float64{"re": relative(m.sketch.Estimate(flymon.Vector{}), float64(len(vectors)))}, nil
	}
	if f.Study == Victims {
		values = truth.elements()
	}
	right, wrong, actual := 0, 0, 0
	for i, v := range vectors {
		heavy, reported := uint64(values[i]) >= f.Threshold, m.sketch.Reported(v)
		switch {
		case heavy && reported:
			right++
		case reported:
			wrong++
		}
		if heavy {
			actual++
		}
	}
	return scoreReports(right, wrong, actual), nil
}

// A univMonMeter is UnivMon.
type univMonMeter struct {
	key    flymon.Key
	sketch *sketch.UnivMon
}

// A univMonShape describes how memory is divided. The UnivMon paper has 14 levels of 5 rows; here a third of the memory
// is for the flows that levels keep.
type univMonShape struct{ levels, rows, width, most int }

func univMonOf(bytes uint64) (univMonShape, error) {
	u := univMonShape{levels: 14, rows: 5}
	level := int(bytes) / u.levels
	u.most, u.width = level/3/sketch.UnivMonEntry, level*2/3/4/u.rows
	if u.most < 1 || u.width < 1 {
		return u, fmt.Errorf("%d bytes are too few for UnivMon: want at least %d", bytes, 14*3*(sketch.UnivMonEntry+20))
	}
	return u, nil
}

func (u *univMonShape) bytes() uint64 {
	return uint64(u.levels * (u.rows*u.width*4 + u.most*sketch.UnivMonEntry))
}

func (m *univMonMeter) see(batch []cmu.Packet) {
	for i := range batch {
		m.sketch.Add(batch[i].Vector.And(m.key), 1)
	}
}

func (m *univMonMeter) read(f *Settings, truth *flyTruth) (map[string]float64, error) {
	vectors, packets := truth.seen()
	switch f.Study {
	case Cardinality:
		return map[string]float64{"re": relative(m.sketch.Cardinality().Value, float64(len(vectors)))}, nil
	case Entropy:
		return map[string]float64{"re": relative(m.sketch.Entropy().Value, entropyOf(packets))}, nil
	case Heavy:
		reported := m.sketch.Heavy(f.Threshold)
		right, actual := 0, 0
		for i, v := range vectors {
			if uint64(packets[i]) < f.Threshold {
				continue
			}
			actual++
			if _, ok := reported[v]; ok {
				right++
			}
		}
		return scoreReports(right, len(reported)-right, actual), nil
	}
	return nil, fmt.Errorf("%s does not measure %s", UnivMon, f.Study)
}
