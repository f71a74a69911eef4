package web

import (
	"fmt"
	"math"
	"slices"
)

// A drawing is a picture of a network: hosts at the bottom, and above them switches by their distance from hosts.
type drawing struct {
	Width, Height int
	Nodes         []drawnNode
	Lines         []drawnLine
	Labels        []drawnLabel
	Desc          string
	taken         []box // boxes that labels occupy
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

type drawnLine struct {
	X1, Y1, X2, Y2 string
	Class          string
	Width          string
	Title          string
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
	layerGap           = 118
	drawMargin         = 12
	mostDrawn          = 400 // number of nodes
	mostLines          = 2000
	leastSpan          = 4 * nodeGap
	mostLabelled       = 24 // number of links; with more, labels would cover each other
	mostNameDrawn      = 12 // number of characters
)

// draw lays a network out. It returns nil if there are no nodes, or too many.
func (n *net) draw(q *request) *drawing {
	if len(n.nodes) == 0 || len(n.nodes) > mostDrawn || len(n.directions) > mostLines {
		return nil
	}
	layers := n.layers()
	wide := 0
	for _, l := range layers {
		wide = max(wide, len(l))
	}
	gap := nodeGap
	if wide > 6 {
		gap = nodeGapDense
	}
	span := max(wide*gap, leastSpan) // otherwise a small network would be scaled to the window
	d := &drawing{Width: span + 2*drawMargin, Height: (len(layers)-1)*layerGap + nodeHigh + 2*drawMargin}
	at := map[string]*drawnNode{}
	d.Nodes = make([]drawnNode, 0, len(n.nodes)) // at points into it
	for i, layer := range layers {
		y := drawMargin + (len(layers)-1-i)*layerGap
		for k, x := range layer {
			cx := drawMargin + (2*k+1)*span/(2*len(layer))
			node := drawnNode{X: cx - nodeWide/2, Y: y, W: nodeWide, H: nodeHigh, CX: cx, CY: y + nodeHigh/2, Full: x.Name,
				Name: cut(x.Name, mostNameDrawn), Class: "switch"}
			switch {
			case x.Host:
				node.Class = "host"
			case x.Unknown:
				node.Class = "unknown"
				node.Full += ", and what it is, is not known"
			default:
				node.Href = q.Link("/switch", "name", x.Name)
			}
			d.Nodes = append(d.Nodes, node)
			at[x.Name] = &d.Nodes[len(d.Nodes)-1]
		}
	}
	for _, x := range n.directions {
		if a, b := at[x.from.Node], at[x.to.Node]; a != nil && b != nil {
			d.line(x, a, b)
		}
	}
	d.labels(n.directions, at)
	d.Desc = fmt.Sprintf("%d nodes in %d layers, %d directions of links; the table below has the same in words",
		len(n.nodes), len(layers), len(d.Lines))
	return d
}

// line draws one direction of a link: a line beside that of the other direction, as thick as its load.
func (d *drawing) line(x *direction, a, b *drawnNode) {
	x1, y1, x2, y2 := float64(a.CX), float64(a.CY), float64(b.CX), float64(b.CY)
	length := math.Sqrt(float64((x2-x1)*(x2-x1)) + float64((y2-y1)*(y2-y1)))
	if length == 0 {
		return
	}
	const aside = 2.5
	dx, dy := float64(-(y2-y1)/length*aside), float64((x2-x1)/length*aside)
	row := x.row()
	width := 1.5 + float64(4*min(1, max(0, x.traffic.most())))
	d.Lines = append(d.Lines, drawnLine{
		X1: coord(x1 + dx), Y1: coord(y1 + dy), X2: coord(x2 + dx), Y2: coord(y2 + dy), Class: row.Class,
		Width: coord(width), Title: row.title(),
	})
}

// labels writes labels, unless there are too many links. Labels of links with losses are placed first.
func (d *drawing) labels(all []*direction, at map[string]*drawnNode) {
	if len(all) > 2*mostLabelled {
		return
	}
	to := map[[2]End]*direction{}
	for _, x := range all {
		to[[2]End{x.from, x.to}] = x
	}
	for _, bad := range []bool{true, false} {
		for _, x := range all {
			a, b, back := at[x.from.Node], at[x.to.Node], to[[2]End{x.to, x.from}]
			if back == nil {
				back = &direction{}
			}
			if a != nil && b != nil && (x.row().Class == "bad" || back.lost() > 0) == bad {
				d.label(x, back, a, b)
			}
		}
	}
}

// lost returns how many packets were lost, as far as known.
func (d *direction) lost() int64 { return max(d.loss.Lost, d.traffic.Lost) }

// label writes load, delay and loss beside the line of the upward direction. If only the downward direction lost
// packets, it writes that loss. Without a free place it writes nothing.
func (d *drawing) label(x, back *direction, a, b *drawnNode) {
	if a.CY < b.CY || a.CY == b.CY && a.CX >= b.CX {
		return
	}
	var lines []drawnLabel
	if x.traffic.Counted || x.traffic.Within != nil {
		lines = append(lines, drawnLabel{Text: x.traffic.load()})
	}
	if x.delay.Dist.Count > 0 {
		lines = append(lines, drawnLabel{Text: distText(x.delay.Dist)})
	}
	switch row := x.row(); {
	case x.oper == operDown:
		lines = append(lines, drawnLabel{Text: "down", Class: "bad"})
	case row.Class == "bad":
		lines = append(lines, drawnLabel{Text: count(x.lost()) + " lost", Class: "bad"})
	case back.lost() > 0:
		lines = append(lines, drawnLabel{Text: count(back.lost()) + " lost down", Class: "bad"})
	}
	wide, high := 0.0, float64(6*float64(len(lines)))
	for _, l := range lines {
		wide = max(wide, float64(3*float64(len([]rune(l.Text)))))
	}
	for _, part := range []float64{0.36, 0.48, 0.6, 0.28, 0.7, 0.42, 0.54, 0.66} {
		cx, cy := float64(a.CX)+float64(float64(b.CX-a.CX)*part), float64(a.CY)+float64(float64(b.CY-a.CY)*part)
		at := box{cx - wide, cy - high, cx + wide, cy + high}
		if slices.ContainsFunc(d.taken, at.meets) {
			continue
		}
		for i := range lines {
			lines[i].X, lines[i].Y = coord(cx), coord(cy+4+float64(12*(float64(i)-float64(float64(len(lines)-1)/2))))
		}
		d.Labels, d.taken = append(d.Labels, lines...), append(d.taken, at)
		return
	}
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

// layers returns the nodes by their distance from hosts, each layer sorted by name. Without hosts, the switches with
// the fewest links count as hosts.
func (n *net) layers() [][]Node {
	beside := map[string][]string{}
	for _, d := range n.directions {
		beside[d.from.Node] = append(beside[d.from.Node], d.to.Node)
		beside[d.to.Node] = append(beside[d.to.Node], d.from.Node)
	}
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
