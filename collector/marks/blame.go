package marks

import (
	"fmt"
	"slices"
	"strings"

	"tamtam/tam/altmark"
)

// Blame compares the losses of several flow groups in one period. If the cluster of one group has several links, the
// cluster of another group may contain only some of them. Links between the same two switches count as equal, so graphs
// must use the same switch names. Only periods with the same begin and number are compared. They also have the same
// length.
//
// It reports only conclusions that follow from the counts. A link is not cleared because a flow group lost nothing on
// it: the link may have lost packets of other groups.
type Blame struct {
	clusters map[string]map[[2]string][]Link // links of each cluster, by graph and by both ends
	order    []blamedPeriod
	periods  map[blamedPeriod]*blamed
}

type blamedPeriod struct {
	start  altmark.Time
	number uint64
}

// blamed is the state of a period.
type blamed struct {
	lost    map[blamedCluster]bool // true for clusters that certainly lost packets
	alarmed bool
	said    string
}

type blamedCluster struct {
	graph string
	ends  [2]string
}

// Suspects holds the links that may have lost packets in a period.
type Suspects struct {
	Period uint64
	Graphs []string // graphs that lost packets, sorted
	// Guilty lists links that certainly lost packets: each has a cluster without any other possible link.
	Guilty []Link
	// Alone lists links each of which would explain all losses by itself. If exactly one link lost packets, it is in
	// this list. If Alone is empty, two or more links lost packets.
	Alone []Link
	// Open lists the links of each cluster without a guilty link. In each cluster one or more of them lost packets.
	Open [][]Link
}

// NewBlame returns a Blame for the graphs of some meshes.
func NewBlame(meshes ...*Mesh) *Blame {
	b := &Blame{clusters: map[string]map[[2]string][]Link{}, periods: map[blamedPeriod]*blamed{}}
	for _, m := range meshes {
		of := map[[2]string][]Link{}
		for _, c := range m.Clusters() {
			of[c.Ends()] = c.Links
		}
		b.clusters[m.graph.Name] = of
	}
	return b
}

// Add adds a result of a mesh. It may replace an earlier one.
func (b *Blame) Add(r Result) {
	ends := [2]string{r.From, r.To}
	if b.clusters[r.Path][ends] == nil {
		return
	}
	at := b.at(r)
	if c := (blamedCluster{r.Path, ends}); r.LossValid && r.Lost > 0 {
		at.lost[c] = true
	} else {
		delete(at.lost, c)
	}
}

// Alarm records that a period lost more packets than accepted.
func (b *Blame) Alarm(a Alarm) { b.at(a.Whole).alarmed = true }

// Suspects returns the suspects of periods with an alarm in which several flow groups lost packets, if they changed
// since the last call.
func (b *Blame) Suspects() (all []Suspects) {
	for _, key := range b.order {
		at := b.periods[key]
		if !at.alarmed {
			continue
		}
		s := b.suspects(at)
		s.Period = key.number
		if len(s.Graphs) < 2 && at.said == "" {
			continue
		}
		if text := s.String(); text != at.said {
			at.said = text
			all = append(all, s)
		}
	}
	return all
}

// at returns the state of a result's period.
func (b *Blame) at(r Result) *blamed {
	key := blamedPeriod{r.Start, r.Period}
	at := b.periods[key]
	if at == nil {
		if len(b.order) == drillPeriods*len(b.clusters) {
			delete(b.periods, b.order[0])
			b.order = b.order[1:]
		}
		at = &blamed{lost: map[blamedCluster]bool{}}
		b.periods[key], b.order = at, append(b.order, key)
	}
	return at
}

// suspects derives the suspects from the clusters that lost packets.
func (b *Blame) suspects(at *blamed) (s Suspects) {
	lossy := make([]blamedCluster, 0, len(at.lost))
	for c := range at.lost {
		lossy = append(lossy, c)
	}
	slices.SortFunc(lossy, func(x, y blamedCluster) int {
		return strings.Compare(x.graph+" "+x.ends[0]+" "+x.ends[1], y.graph+" "+y.ends[0]+" "+y.ends[1])
	})
	for i, c := range lossy {
		links := b.clusters[c.graph][c.ends]
		if s.Graphs = append(s.Graphs, c.graph); i == 0 {
			s.Alone = slices.Clone(links)
		}
		s.Alone = slices.DeleteFunc(s.Alone, func(l Link) bool { return !slices.Contains(links, l) })
		if len(links) == 1 && !slices.Contains(s.Guilty, links[0]) {
			s.Guilty = append(s.Guilty, links[0])
		}
	}
	s.Graphs = slices.Compact(s.Graphs)
	for _, c := range lossy {
		links := b.clusters[c.graph][c.ends]
		guilty := slices.ContainsFunc(links, func(l Link) bool { return slices.Contains(s.Guilty, l) })
		known := slices.ContainsFunc(s.Open, func(o []Link) bool { return slices.Equal(o, links) })
		if !guilty && !known {
			s.Open = append(s.Open, links)
		}
	}
	return s
}

// String returns the suspects in one line.
func (s Suspects) String() string {
	if len(s.Graphs) == 0 {
		return fmt.Sprintf("suspects: period %d: no flow group lost packets for certain", s.Period)
	}
	text := []string{fmt.Sprintf("suspects: period %d, by the losses of %s", s.Period, strings.Join(s.Graphs, " "))}
	if len(s.Guilty) > 0 {
		text = append(text, "lost packets for certain at "+linkNames(s.Guilty))
	}
	switch {
	case len(s.Alone) == 0:
		text = append(text, "no link alone explains all")
	case len(s.Alone) == 1:
		text = append(text, linkNames(s.Alone)+" alone explains all")
	default:
		text = append(text, "each alone explains all: "+linkNames(s.Alone))
	}
	for _, links := range s.Open {
		text = append(text, "lost at one or more of "+linkNames(links))
	}
	return strings.Join(text, "; ")
}

// linkNames returns the names of links, separated by blanks.
func linkNames(links []Link) string {
	names := make([]string, len(links))
	for i, l := range links {
		names[i] = l.String()
	}
	return strings.Join(names, " ")
}
