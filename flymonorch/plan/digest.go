package plan

import (
	"fmt"

	"tamtam/tam/flymon"
)

// digest makes the chip report flows that reach the threshold in one row. The row never counts too little, except for
// intervals, which are too short if another flow shares the bucket of the last arrival. It returns an error if no
// bucket can reach the threshold.
func digest(t *flymon.Task, s *flymon.Sketch, width int) (*flymon.Digest, error) {
	d := &flymon.Digest{Key: t.Key}
	if s.Algorithm == flymon.CounterBraids { // these are decoded with all flows that occurred
		d.Threshold = 1 << (width - int(s.Bits[0]))
		return d, nil
	}
	threshold, field := reported(t, s)
	if threshold == 0 {
		return nil, nil
	}
	var reach uint64
	most, unit := uint64(1)<<width-1, uint64(1)
	switch s.Algorithm {
	case flymon.BeauCoup:
		if t.Key.IsZero() {
			return nil, nil
		}
		d.Threshold = uint32(1<<s.Coupons - 1)
		return d, nil
	case flymon.CMS, flymon.SuMaxSum, flymon.MRAC:
		if s.Algorithm == flymon.MRAC && t.ChangeThreshold == 0 { // MRAC counts heavy flows by its distribution
			return nil, nil
		}
		reach = max(1, threshold>>t.Share)
		if t.Attribute.Kind == flymon.Bytes {
			most = uint64(bytesFull(width))
		}
	case flymon.Tower: // the last row has the widest counters
		reach = max(1, threshold>>t.Share)
		d.Unit = s.Rows[len(s.Rows)-1][0]
		b := int(s.Bits[len(s.Rows)-1])
		most, unit = uint64(1)<<b-1, uint64(1)<<(width-b)
	case flymon.SuMaxMax:
		if t.Key.IsZero() { // there is only one flow
			return nil, nil
		}
		if reach = threshold >> s.Scale; reach == 0 {
			return nil, fmt.Errorf("%s is %d, want at least %d: buckets of %d bits count in steps of that",
				field, threshold, uint64(1)<<s.Scale, width)
		}
	case flymon.MaxInterArr:
		reach = max(1, threshold>>s.Scale)
		d.Unit = s.Rows[0][2]
	default:
		return nil, nil
	}
	if reach > most {
		return nil, fmt.Errorf("%s is %d, want at most %d: no bucket of %s reaches it",
			field, threshold, most*(threshold/reach), s.Algorithm)
	}
	d.Threshold = uint32(reach * unit)
	return d, nil
}

// reported returns the count from which on flows are reported, and the field that determines it. A flow that changes by
// the change threshold reaches it before or after.
func reported(t *flymon.Task, s *flymon.Sketch) (threshold uint64, field string) {
	if c := t.ChangeThreshold; c > 0 && (t.Threshold == 0 || c < t.Threshold || s.Algorithm == flymon.MRAC) {
		return c, "change-threshold"
	}
	return t.Threshold, "threshold"
}
