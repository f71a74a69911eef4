package journey

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Path returns the path of a journey without times. Packets with the same text behaved equally. Copies are in
// parentheses.
func (j Journey) Path() string {
	var b strings.Builder
	b.WriteString(j.From)
	j.Visits[0].writePath(&b, 0)
	return b.String()
}

// maxPath is the maximum number of consecutive visits in a way. A packet in a loop has more.
const maxPath = 64

func (v *Visit) writePath(b *strings.Builder, depth int) {
	fmt.Fprintf(b, " > %s", v.Switch)
	if depth == maxPath {
		b.WriteString(" > ...")
		return
	}
	for i, e := range v.Exits {
		if len(v.Exits) > 1 {
			b.WriteString(map[bool]string{true: " (", false: " |"}[i == 0])
		}
		switch {
		case e.Next != nil:
			e.Next.writePath(b, depth+1)
		default:
			fmt.Fprintf(b, ": %s", e.ending())
		}
	}
	if len(v.Exits) > 1 {
		b.WriteString(")")
	}
}

// ending describes how an exit continues if that is not certain.
func (e *Exit) ending() string {
	if len(e.Candidates) == 0 {
		return e.End
	}
	return fmt.Sprintf("to %s, where several packets are alike", Port{e.Candidates[0].Switch, e.Candidates[0].In})
}

// CountByPath counts journeys by their ways, the most frequent first.
func CountByPath(all []Journey) (list []Count) {
	at := map[string]int{}
	for _, j := range all {
		w := j.Path()
		i, ok := at[w]
		if !ok {
			i = len(list)
			at[w] = i
			list = append(list, Count{Path: w})
		}
		list[i].Packets++
	}
	slices.SortStableFunc(list, func(a, b Count) int {
		return cmp.Or(b.Packets-a.Packets, strings.Compare(a.Path, b.Path))
	})
	return list
}

// Packets returns bounds of the number of packets behind journeys. Each journey that began at a host or CPU is a packet
// of its own. Any other journey may be a packet of its own, or may continue a journey that ended at a missing record,
// an unknown wire, or equal packets.
func Packets(all []Journey) (least, most int) {
	for _, j := range all {
		if j.Origin == Began {
			least++
		}
	}
	return max(least, min(len(all), 1)), len(all)
}

// A Count is the number of packets with a way.
type Count struct {
	Path    string `json:"way"`
	Packets int    `json:"packets"`
}

// Write prints a journey, one line per visit and exit. Times are relative to the first sighting. Times of clocks that
// are not synchronised have a question mark.
func (j Journey) Write(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, from %s\n", j.Flow, j.From)
	start := j.Visits[0].Arrived
	for _, v := range j.Visits {
		uncertain := ""
		if v.ClockSuspect {
			uncertain = "?"
		}
		fmt.Fprintf(&b, "  %-10s %s in  %s\n", (v.Arrived-start).String()+uncertain, v.Switch, cmp.Or(v.In, "CPU"))
		for _, e := range v.Exits {
			fmt.Fprintf(&b, "  %-10s %s out %s, after %v%s\n", "", v.Switch, cmp.Or(e.Out, "-"), e.Left-v.Arrived, e.onward())
			for _, line := range []string{e.Path, strings.Join(e.Notes, ", ")} {
				if line != "" {
					fmt.Fprintf(&b, "  %-10s   %s\n", "", line)
				}
			}
			for _, c := range e.Candidates {
				fmt.Fprintf(&b, "  %-10s   perhaps %s at %v\n", "", Port{c.Switch, c.In}, c.Arrived-start)
			}
			if more := e.Alike - len(e.Candidates); more > 0 {
				fmt.Fprintf(&b, "  %-10s   or one of %d more\n", "", more)
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (e *Exit) onward() string {
	if e.Next != nil {
		return fmt.Sprintf(", to %s", Port{e.Next.Switch, e.Next.In})
	}
	return ": " + e.ending()
}

type visitJSON struct {
	Switch         string        `json:"switch"`
	In             string        `json:"in,omitempty"`
	Arrived        time.Duration `json:"arrived_ns"`
	Unsynchronised bool          `json:"unsynchronised,omitempty"`
	Exits          []exitJSON    `json:"exits"`
}

type exitJSON struct {
	Out        string          `json:"out,omitempty"`
	Left       time.Duration   `json:"left_ns"`
	Path       string          `json:"path,omitempty"`
	Identities []string        `json:"identities,omitempty"`
	End        string          `json:"end,omitempty"`
	Next       *int            `json:"next,omitempty"` // index of the next visit
	Candidates []candidateJSON `json:"candidates,omitempty"`
	More       int             `json:"more_candidates,omitempty"`
}

type candidateJSON struct {
	Switch  string        `json:"switch"`
	In      string        `json:"in,omitempty"`
	Arrived time.Duration `json:"arrived_ns"`
}

// MarshalJSON encodes visits with indexes. Times are nanoseconds since 1970.
func (j Journey) MarshalJSON() ([]byte, error) {
	at := map[*Visit]int{}
	for i, v := range j.Visits {
		at[v] = i
	}
	out := struct {
		Flow   string      `json:"flow"`
		From   string      `json:"from"`
		Visits []visitJSON `json:"visits"`
	}{j.Flow, j.From, nil}
	for _, v := range j.Visits {
		x := visitJSON{v.Switch, v.In, v.Arrived, v.ClockSuspect, nil}
		for _, e := range v.Exits {
			y := exitJSON{Out: e.Out, Left: e.Left, Path: e.Path, Identities: e.Notes, End: e.End}
			if i, ok := at[e.Next]; ok {
				y.Next = &i
			}
			y.More = e.Alike - len(e.Candidates)
			for _, c := range e.Candidates {
				y.Candidates = append(y.Candidates, candidateJSON{c.Switch, c.In, c.Arrived})
			}
			x.Exits = append(x.Exits, y)
		}
		out.Visits = append(out.Visits, x)
	}
	return json.Marshal(out)
}
