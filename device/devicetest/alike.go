package devicetest

import (
	"encoding/json"
	"fmt"
	"slices"

	"tamtam/sai"
	"tamtam/tam/flymon"
	"tamtam/tam/record"
)

// A marksAlike makes the ASICs of two switches comparable that assigned resources in different orders. These resources
// are lanes and indices of alternate marking, partitions of CMU groups, and record bits. It names lanes by their
// profiles, and omits the other resources. Before use, it must be given the whole ASIC once.
type marksAlike struct {
	lanes map[int]string // the content of each lane's profile, without the lane
}

// profileOf parses an extension object that is a profile of alternate marking.
func profileOf(v sai.Value) (lane int, rest string, ok bool) {
	text, _ := v.(sai.Bytes)
	var entry struct {
		Attributes []struct {
			Profile *struct {
				Value map[string]any `json:"value"`
			} `json:"profile"`
		} `json:"attributes"`
	}
	if json.Unmarshal(text, &entry) != nil || len(entry.Attributes) != 1 || entry.Attributes[0].Profile == nil {
		return 0, "", false
	}
	value := entry.Attributes[0].Profile.Value
	number, _ := value["lane"].(float64)
	delete(value, "lane")
	return int(number), fmt.Sprint(value), true // Sprint sorts the keys of maps
}

// sketchOf parses an extension object that is a task of FlyMon. It leaves out the position in the CMU groups, which
// depends on the order of creation.
func sketchOf(v sai.Value) (sai.Value, bool) {
	text, _ := v.(sai.Bytes)
	var entry struct {
		Attributes []struct {
			Task struct {
				Value flymon.Layout `json:"value"`
			} `json:"task"`
		} `json:"attributes"`
	}
	if json.Unmarshal(text, &entry) != nil || len(entry.Attributes) != 1 || entry.Attributes[0].Task.Value.Task == "" {
		return nil, false
	}
	l := entry.Attributes[0].Task.Value
	var units []string
	for _, u := range l.Units {
		units = append(units, fmt.Sprint(u.Size, u.Op, u.P1.From, u.P2.From, len(u.Map)))
	}
	return sai.Bytes(fmt.Sprint("task ", l.Task, l.Filter, l.Epoch, l.Digest, len(l.Frozen), l.Flow, l.Measures, units)),
		true
}

// planOf parses an extension object that is a plan of table recording, without the position of its bits in the record
// word.
func planOf(v sai.Value) (sai.Value, bool) {
	text, _ := v.(sai.Bytes)
	var entry struct {
		Attributes []struct {
			Plan *struct {
				Value record.ChipPlan `json:"value"`
			} `json:"plan"`
		} `json:"attributes"`
	}
	if json.Unmarshal(text, &entry) != nil || len(entry.Attributes) != 1 || entry.Attributes[0].Plan == nil {
		return nil, false
	}
	p := entry.Attributes[0].Plan.Value
	p.Offset = 0
	plain, err := json.Marshal(p)
	return sai.Bytes(plain), err == nil
}

func (m *marksAlike) see(a sai.Attr) sai.Value {
	if a.ID == sai.GenericProgrammableAttrEntry {
		if lane, rest, ok := profileOf(a.Value); ok {
			m.lanes[lane] = rest
		}
	}
	return a.Value
}

// rank returns the position of a lane's profile among all.
func (m *marksAlike) rank(lane int) int {
	var all []string
	for _, rest := range m.lanes {
		all = append(all, rest)
	}
	slices.Sort(all)
	return slices.Index(all, m.lanes[lane])
}

func (m *marksAlike) replace(a sai.Attr) sai.Value {
	switch a.ID {
	case sai.GenericProgrammableAttrEntry:
		if lane, rest, ok := profileOf(a.Value); ok {
			return sai.Bytes(fmt.Sprintf("profile %d %s", m.rank(lane), rest))
		}
		if task, ok := sketchOf(a.Value); ok {
			return task
		}
		if plan, ok := planOf(a.Value); ok {
			return plan
		}
	case sai.ACLEntryAttrFieldACLUserMeta:
		f, _ := a.Value.(sai.Field)
		data, _ := f.Data.(sai.Uint)
		mask, _ := f.Mask.(sai.Uint)
		for lane := range 8 {
			if mask == 9<<(4*lane) {
				to := 4 * m.rank(lane)
				return sai.Match(data>>(4*lane)<<to, sai.Uint(9<<to))
			}
		}
	case sai.ACLEntryAttrActionSetACLMetaData:
		act, _ := a.Value.(sai.Action)
		if v, _ := act.Param.(sai.Uint); v>>28 == 0xa {
			return sai.Do(0xa<<28 | sai.Uint(m.rank(int(v>>24&7)))<<24 | v>>23&1<<23)
		}
	}
	return a.Value
}
