package web

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// A drawing is a picture of a network: hosts at the bottom under their switches, and above them switches by their
// distance from hosts.
type drawing struct {
	Width, Height int
	Nodes         []drawnNode
	Links         []*drawnLink
	Labels        []drawnLabel
	Desc          string
	occupied      []box // boxes that labels occupy
}

// A box is a part of a drawing.
type box struct{ x1, y1, x2, y2 float64 }

func (a box) meets(b box) bool { return a.x1 < b.x2 && b.x1 < a.x2 && a.y1 < b.y2 && b.y1 < a.y2 }

type drawnNode struct {
	X, Y, W, H int
	CX, CY     int
	Name, Full string
	Class      string
	Href       string
}

// box returns the place of a node.
func (n *drawnNode) box() box {
	return box{float64(n.X), float64(n.Y), float64(n.X + n.W), float64(n.Y + n.H)}
}

// A drawnLink is a link with its directions, one or two.
type drawnLink struct {
	straight
	Lines      []drawnLine
	Says       string // both directions, in words
	directions []*direction
}

type drawnLine struct {
	X1, Y1, X2, Y2 string
	Class          string
	Width          string
}

type drawnLabel struct {
	X, Y  string
	Text  string
	Class string
}

// Sizes of a drawing, in pixels.
const (
	nodeWide, nodeHigh = 84, 26
	nodeGap            = 110 // from one node to the next; nodeGapDense if there are many
	nodeGapDense       = 92
	layerGap           = 118 // from one layer to the next, if few links are between them
	layerGapMost       = 250
	drawMargin         = 12
	mostDrawn          = 400 // number of nodes
	mostLines          = 2000
	leastSpan          = 4 * nodeGap
	mostLabelled       = 24 // number of links; with more, labels would cover each other
	mostNameDrawn      = 12 // number of characters
	parallelGap        = 14 // between links that join the same nodes
)

// draw lays a network out. It returns nil if there are no nodes, or too many.
func (n *net) draw(q *request) *drawing {
	if len(n.nodes) == 0 || len(n.nodes) > mostDrawn || len(n.directions) > mostLines {
		return nil
	}
	layers := n.layers()
	column, columns := n.columns(layers)
	gap := nodeGap
	if columns > 6 {
		gap = nodeGapDense
	}
	span := max(columns*gap, leastSpan)
	high := min(layerGapMost, layerGap+max(0, len(n.directions)/2-8)*10)
	d := &drawing{Width: span + 2*drawMargin, Height: (len(layers)-1)*high + nodeHigh + 2*drawMargin}
	at := map[string]*drawnNode{}
	d.Nodes = make([]drawnNode, 0, len(n.nodes)) // at points into it
	for i, layer := range layers {
		y := drawMargin + (len(layers)-1-i)*high
		for _, x := range layer {
			cx := drawMargin + int(column[x.Name]*float64(span)/float64(columns))
			node := drawnNode{X: cx - nodeWide/2, Y: y, W: nodeWide, H: nodeHigh, CX: cx, CY: y + nodeHigh/2,
				Full: x.Name + ", a switch", Name: cut(x.Name, mostNameDrawn), Class: "switch"}
			switch {
			case x.Host:
				node.Class, node.Full = "host", x.Name+", a host"
			case x.Unknown:
				node.Class, node.Full = "unknown", x.Name+", a device of unknown kind"
			default:
				node.Href = q.Link("/switch", "name", x.Name)
			}
			d.Nodes = append(d.Nodes, node)
			at[x.Name] = &d.Nodes[len(d.Nodes)-1]
		}
	}
	lines := d.link(n.directions, at)
	if len(n.directions) <= 2*mostLabelled {
		d.label()
	}
	d.Desc = fmt.Sprintf("%d nodes in %d layers, %d directions of links; the table below has the same in words",
		len(n.nodes), len(layers), lines)
	return d
}

// columns returns the horizontal position of each node, from 0 to the returned number of columns. Each host has a
// column below its switch, or below the first of them. Switches of the other layers are in the order of their
// neighbours below.
func (n *net) columns(layers [][]Node) (at map[string]float64, most int) {
	at = map[string]float64{}
	beside := n.beside()
	bottom := layers[0]
	if len(layers) > 1 {
		parents, below := layers[1], map[string][]Node{}
		for _, x := range layers[0] {
			i := slices.IndexFunc(parents, func(p Node) bool { return slices.Contains(beside[x.Name], p.Name) })
			name := ""
			if i >= 0 {
				name = parents[i].Name
			}
			below[name] = append(below[name], x)
		}
		bottom = nil
		for _, p := range append(slices.Clone(parents), Node{}) {
			group := below[p.Name]
			if p.Name != "" {
				at[p.Name] = float64(most) + float64(max(1, len(group)))/2
				most = max(most+1, most+len(group))
			} else {
				most += len(group)
			}
			for i := range group {
				at[group[i].Name] = float64(most-len(group)+i) + 0.5
			}
		}
	}
	for i := range bottom {
		at[bottom[i].Name] = float64(i) + 0.5
	}
	most = max(most, len(bottom))
	for _, layer := range layers[min(2, len(layers)):] {
		most = max(most, len(layer))
	}
	for _, layer := range layers[min(2, len(layers)):] {
		mean := map[string]float64{}
		for _, x := range layer {
			sum, count := 0.0, 0
			for _, other := range beside[x.Name] {
				if c, ok := at[other]; ok {
					sum += c
					count++
				}
			}
			mean[x.Name] = sum / float64(max(1, count))
		}
		slices.SortStableFunc(layer, func(a, b Node) int { return cmp.Compare(mean[a.Name], mean[b.Name]) })
		for i, x := range layer {
			at[x.Name] = (float64(i) + 0.5) * float64(most) / float64(len(layer))
		}
	}
	return at, most
}

// link draws all links, and returns the number of their lines. A direction is a line beside that of the other
// direction, as thick as its load.
func (d *drawing) link(all []*direction, at map[string]*drawnNode) (lines int) {
	type key struct {
		name string
		ends [2]End
	}
	links, beside := map[key]*drawnLink{}, map[[2]string][]*drawnLink{}
	for _, x := range all {
		a, b := at[x.from.Node], at[x.to.Node]
		if a == nil || b == nil || a == b {
			continue
		}
		k := key{x.name, [2]End{x.from, x.to}}
		if c := cmp.Or(cmp.Compare(x.from.Node, x.to.Node), cmp.Compare(x.from.Port, x.to.Port)); c > 0 {
			k.ends = [2]End{x.to, x.from}
		}
		l := links[k]
		if l == nil {
			l = &drawnLink{straight: straight{float64(a.CX), float64(a.CY), float64(b.CX), float64(b.CY)}}
			links[k], d.Links = l, append(d.Links, l)
			pair := [2]string{k.ends[0].Node, k.ends[1].Node}
			beside[pair] = append(beside[pair], l)
		}
		l.directions = append(l.directions, x)
		lines++
	}
	for pair, list := range beside {
		for i, l := range list {
			aside := parallelGap * (float64(i) - float64(len(list)-1)/2)
			if l.directions[0].from.Node != pair[0] {
				aside = -aside // all of them on the same side
			}
			l.straight = l.aside(aside)
			l.draw()
		}
	}
	return lines
}

// draw makes the lines and the words of a link.
func (l *drawnLink) draw() {
	var says []string
	for _, x := range l.directions {
		s := l.straight
		if x.from != l.directions[0].from {
			s = straight{s.x2, s.y2, s.x1, s.y1}
		}
		s = s.aside(2.5)
		row := x.row()
		width := 1.5 + float64(4*min(1, max(0, x.traffic.most())))
		l.Lines = append(l.Lines, drawnLine{X1: coord(s.x1), Y1: coord(s.y1), X2: coord(s.x2), Y2: coord(s.y2),
			Class: row.Class, Width: coord(width)})
		says = append(says, row.title())
	}
	l.Says = strings.Join(says, "; ")
}

// Backs returns the boxes behind the labels, in which no line is visible.
func (d *drawing) Backs() (list []drawnNode) {
	for _, b := range d.occupied {
		list = append(list, drawnNode{X: int(b.x1), Y: int(b.y1), W: int(b.x2 - b.x1), H: int(b.y2 - b.y1)})
	}
	return list
}

// A straight is a line from one point to another.
type straight struct{ x1, y1, x2, y2 float64 }

// X1, Y1, X2 and Y2 return the ends as texts.
func (s straight) X1() string { return coord(s.x1) }
func (s straight) Y1() string { return coord(s.y1) }
func (s straight) X2() string { return coord(s.x2) }
func (s straight) Y2() string { return coord(s.y2) }

// aside returns the line, moved to its right by a distance.
func (s straight) aside(by float64) straight {
	length := math.Sqrt(float64((s.x2-s.x1)*(s.x2-s.x1)) + float64((s.y2-s.y1)*(s.y2-s.y1)))
	if length == 0 {
		return s
	}
	dx, dy := float64(-(s.y2-s.y1)/length*by), float64((s.x2-s.x1)/length*by)
	return straight{s.x1 + dx, s.y1 + dy, s.x2 + dx, s.y2 + dy}
}

// crosses returns the point where two segments cross, and whether they do. Segments from the same node do not.
func (s straight) crosses(o straight) (x, y float64, ok bool) {
	ax, ay, bx, by := s.x2-s.x1, s.y2-s.y1, o.x2-o.x1, o.y2-o.y1
	det := float64(ax*by) - float64(ay*bx)
	if math.Abs(det) < 1e-9 {
		return 0, 0, false
	}
	t := (float64((o.x1-s.x1)*by) - float64((o.y1-s.y1)*bx)) / det
	u := (float64((o.x1-s.x1)*ay) - float64((o.y1-s.y1)*ax)) / det
	const end = 0.001
	if t < end || t > 1-end || u < end || u > 1-end {
		return 0, 0, false
	}
	return s.x1 + float64(t*ax), s.y1 + float64(t*ay), true
}

// within reports whether a part of the line is within a box.
func (s straight) within(b box) bool {
	from, to := 0.0, 1.0
	for _, side := range [][3]float64{
		{s.x2 - s.x1, b.x1 - s.x1, b.x2 - s.x1}, {s.y2 - s.y1, b.y1 - s.y1, b.y2 - s.y1},
	} {
		by, low, high := side[0], side[1], side[2]
		if by == 0 {
			if low > 0 || high < 0 {
				return false
			}
			continue
		}
		t1, t2 := low/by, high/by
		from, to = max(from, min(t1, t2)), min(to, max(t1, t2))
	}
	return from < to
}

// label writes a label at each link that has a place for it. Labels of links with losses are placed first. Without a
// place for all of it, they have only the loss.
func (d *drawing) label() {
	var crossings []box
	for i, l := range d.Links {
		for _, o := range d.Links[:i] {
			if x, y, ok := l.crosses(o.straight); ok {
				crossings = append(crossings, box{x - 4, y - 4, x + 4, y + 4})
			}
		}
	}
	for _, bad := range []bool{true, false} {
		for _, l := range d.Links {
			if lines := l.label(); len(lines) > 0 && (lines[len(lines)-1].Class == "bad") == bad {
				_ = d.place(l, lines, crossings) || bad && d.place(l, lines[len(lines)-1:], crossings)
			}
		}
	}
}

// place puts a label on a link: at a place without other links if there is one, else at one without crossings. It
// reports whether there was one.
func (d *drawing) place(l *drawnLink, lines []drawnLabel, crossings []box) bool {
	wide, high := 0.0, float64(6*float64(len(lines)))+1
	for _, t := range lines {
		wide = max(wide, float64(3.3*float64(len([]rune(t.Text)))))
	}
	for _, free := range []bool{true, false} {
		for i := range 29 { // from the middle to both ends
			part := 0.5 + float64(0.025*float64((i+1)/2*(1-2*(i%2))))
			cx, cy := l.x1+float64((l.x2-l.x1)*part), l.y1+float64((l.y2-l.y1)*part)
			at := box{cx - wide, cy - high, cx + wide, cy + high}
			if slices.ContainsFunc(d.occupied, at.meets) || slices.ContainsFunc(crossings, at.meets) ||
				slices.ContainsFunc(d.Nodes, func(n drawnNode) bool { return at.meets(n.box()) }) ||
				free && slices.ContainsFunc(d.Links, func(o *drawnLink) bool { return o != l && o.within(at) }) {
				continue
			}
			for i := range lines {
				lines[i].X, lines[i].Y = coord(cx), coord(cy+4+float64(12*(float64(i)-float64(float64(len(lines)-1)/2))))
			}
			d.Labels, d.occupied = append(d.Labels, lines...), append(d.occupied, at)
			return true
		}
	}
	return false
}

// lost returns how many packets were lost, as far as known.
func (d *direction) lost() int64 { return max(d.loss.Lost, d.traffic.Lost) }

// label returns load, delay and loss of a link: each of the direction in which it is worse, with an arrow unless it is
// the same in both.
func (l *drawnLink) label() (lines []drawnLabel) {
	loaded := func(x *direction) bool { return x.traffic.Counted || x.traffic.Within != nil }
	lines = l.worse(lines, "", loaded, func(x *direction) float64 { return x.traffic.most() },
		func(x *direction) string { return x.traffic.load() })
	delayed := func(x *direction) bool { return x.delay.Dist.Count > 0 }
	lines = l.worse(lines, "", delayed,
		func(x *direction) float64 { return float64(x.delay.Dist.Sum) / float64(x.delay.Dist.Count) },
		func(x *direction) string { return distText(x.delay.Dist) })
	if slices.ContainsFunc(l.directions, func(x *direction) bool { return x.oper == operDown }) {
		return append(lines, drawnLabel{Text: operDown, Class: "bad"})
	}
	return l.worse(lines, "bad", func(x *direction) bool { return x.lost() > 0 },
		func(x *direction) float64 { return float64(x.lost()) },
		func(x *direction) string { return count(x.lost()) + " lost" })
}

// worse appends the text of the direction with the greatest value, if it is known of any.
func (l *drawnLink) worse(lines []drawnLabel, class string, known func(*direction) bool,
	value func(*direction) float64, text func(*direction) string) []drawnLabel {
	var worst *direction
	same := 0 // number of directions with the text of the worst
	for _, x := range l.directions {
		if !known(x) {
			continue
		}
		if worst != nil && text(x) == text(worst) {
			same++
		} else if worst == nil || value(x) > value(worst) {
			worst, same = x, 1
		}
	}
	if worst == nil {
		return lines
	}
	t := text(worst)
	if same < 2 {
		t += " " + l.arrow(worst)
	}
	return append(lines, drawnLabel{Text: t, Class: class})
}

// arrow returns how a direction goes in the picture.
func (l *drawnLink) arrow(x *direction) string {
	s := l.straight
	if x.from != l.directions[0].from {
		s = straight{s.x2, s.y2, s.x1, s.y1}
	}
	switch {
	case s.y2 < s.y1-1:
		return "↑"
	case s.y2 > s.y1+1:
		return "↓"
	case s.x2 > s.x1:
		return "→"
	}
	return "←"
}

// title returns a row of the table as a sentence.
func (r linkRow) title() string {
	delay, loss := distText(r.Delay.Dist), notKnown
	switch {
	case r.Traffic.LostKnown:
		loss = count(r.Traffic.Lost) + " frames"
	case r.Loss.Periods > r.Loss.Unknown:
		if loss = count(r.Loss.Lost) + " of " + count(r.Loss.Sent) + " packets"; !r.Loss.whole() {
			loss += ", and not all of it is known"
		}
	}
	return fmt.Sprintf("%s to %s: %s, load %s, delay %s, lost %s", r.From, r.To, r.State, r.Load, delay, loss)
}

func coord(v float64) string { return fmt.Sprintf("%.1f", v) }

// beside returns the neighbours of each node.
func (n *net) beside() map[string][]string {
	beside := map[string][]string{}
	for _, d := range n.directions {
		beside[d.from.Node] = append(beside[d.from.Node], d.to.Node)
		beside[d.to.Node] = append(beside[d.to.Node], d.from.Node)
	}
	return beside
}

// layers returns the nodes by their distance from hosts, each layer sorted by name. Without hosts, the switches with
// the fewest links count as hosts.
func (n *net) layers() [][]Node {
	beside := n.beside()
	depth, next := map[string]int{}, []string{}
	hosts := slices.ContainsFunc(n.nodes, func(x Node) bool { return x.Host })
	least := 0 // without hosts, the smallest number of links of a node
	for _, x := range n.nodes {
		if k := len(beside[x.Name]); least == 0 || k < least {
			least = k
		}
	}
	for _, x := range n.nodes {
		if x.Host || !hosts && len(beside[x.Name]) <= least {
			depth[x.Name] = 0
			next = append(next, x.Name)
		}
	}
	for len(next) > 0 {
		name := next[0]
		next = next[1:]
		for _, other := range beside[name] {
			if _, ok := depth[other]; !ok {
				depth[other] = depth[name] + 1
				next = append(next, other)
			}
		}
	}
	var layers [][]Node
	for _, x := range n.nodes {
		k := depth[x.Name] // 0 for an unreachable node
		for len(layers) <= k {
			layers = append(layers, nil)
		}
		layers[k] = append(layers[k], x)
	}
	for _, l := range layers {
		slices.SortFunc(l, func(a, b Node) int { return natural(a.Name, b.Name) })
	}
	return layers
}

// cut shortens a text.
func cut(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return string(r[:most-1]) + "…"
}
