package marks

import (
	"fmt"
	"slices"
	"strings"

	"tamtam/tam/altmark"
)

// Blame holds the losses of several flow groups in one period against each other: where the cluster of one has
// several links, that of another may have fewer of them. Links of the same two switches are the same, so graphs are to
// name switches alike. Periods are compared that begin at once and have the same number, and so the same length.
//
// What follows from the counts is said, and no more. That a flow group lost nothing over a link does not clear the
// link: it may have lost packets of others.
type Blame struct {
	clusters map[string]map[[2]string][]Link // by graph, of more than one
	order    []blamedPeriod
	periods  map[blamedPeriod]*blamed
}

type blamedPeriod struct {
	start  altmark.Time
	number uint64
}

// blamed is what is known of a period.
type blamed struct {
	lost    map[blamedCluster]bool // clusters that certainly lost packets
	alarmed bool
	said    string
}

type blamedCluster struct {
	graph string
	ends  [2]string
}

// Suspects are the links that may have lost packets in a period.
type Suspects struct {
	Period uint64
	Graphs []string // that lost packets, sorted
	// Guilty are links that lost packets for certain: of each there is a cluster with no other link that lost some.
	Guilty []Link
	// Alone are links each of which alone would explain all losses. If one link lost packets it is one of these; where
	// there is none, two or more did.
	Alone []Link
	// Open are the links of clusters without one that is guilty: of each cluster one or more lost packets.
	Open [][]Link
}

// NewBlame is for the graphs of some meshes.
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

// Add takes a result of a mesh, also one that takes the place of another.
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

// Alarm says that more packets were lost than is accepted.
func (b *Blame) Alarm(a Alarm) { b.at(a.Whole).alarmed = true }

// Suspects are those of the periods with an alarm in which several flow groups lost packets, if something else follows
// than was said before.
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

// at is what is known of the period of a result.
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

// suspects are those of the clusters that lost packets.
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

// String is in a line.
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

// linkNames are the names of links with blanks between them.
func linkNames(links []Link) string {
	names := make([]string, len(links))
	for i, l := range links {
		names[i] = l.String()
	}
	return strings.Join(names, " ")
}
