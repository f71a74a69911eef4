package rows

import (
	"slices"
	"strings"

	"tamtam/collector/result"
)

// A tree holds the hops of a packet by their parents. A hop is one exit of a switch: several with the same parent are
// copies of the packet.
type tree struct {
	hops  []result.JourneyHop
	Exits map[int][]int // exits by the previous hop; -1 holds the exits at the place where the packet was first seen
}

// TreeOf returns the hops of a journey with the exits that follow each of them.
func TreeOf(j *result.Journey) tree {
	t := tree{j.Hops, map[int][]int{}}
	for i := range j.Hops {
		t.Exits[t.By(i)] = append(t.Exits[t.By(i)], i)
	}
	return t
}

// By returns the previous hop of a hop, or -1.
func (t tree) By(i int) int {
	if by := t.hops[i].Parent; by < i {
		return max(by, -1)
	}
	return -1
}

// Ends returns how many hops have no successor.
func (t tree) Ends() (n int) {
	for i := range t.hops {
		if len(t.Exits[i]) == 0 {
			n++
		}
	}
	return n
}

// MostWay bounds the switches in the text of a path; a packet in a loop has more.
const MostWay = 64

// Way returns the switches of a packet as text; the paths of its copies are in parentheses, each after its port.
func (t tree) Way() string {
	var b strings.Builder
	left := MostWay
	t.write(&b, -1, &left)
	return b.String()
}

func (t tree) write(b *strings.Builder, by int, left *int) {
	exits := t.Exits[by]
	if *left--; len(exits) == 0 || *left < 0 {
		if len(exits) > 0 {
			b.WriteString("…")
		}
		return
	}
	b.WriteString(t.hops[exits[0]].Switch)
	for k, i := range exits {
		if len(exits) > 1 {
			b.WriteString([]string{" (", " | "}[min(k, 1)] + exitOf(&t.hops[i]))
		}
		if len(t.Exits[i]) > 0 {
			b.WriteString(" → ")
		}
		t.write(b, i, left)
	}
	if len(exits) > 1 {
		b.WriteString(")")
	}
}

// InOrder returns the first hops, each after its parent and before the next copy, and the number of further ones.
func (t tree) InOrder(most int) (list []int, more int) {
	stack := slices.Clone(t.Exits[-1])
	slices.Reverse(stack)
	for len(stack) > 0 && len(list) < most {
		i := stack[len(stack)-1]
		list, stack = append(list, i), stack[:len(stack)-1]
		for _, k := range slices.Backward(t.Exits[i]) {
			stack = append(stack, k)
		}
	}
	return list, len(t.hops) - len(list)
}

// PlaceOf returns where a packet was first seen, which distinguishes equal packets seen at the same time.
func PlaceOf(j *result.Journey) string {
	if len(j.Hops) == 0 {
		return ""
	}
	return j.Hops[0].Switch + ":" + j.Hops[0].In
}

// exitOf returns how a copy left a switch, or ended there.
func exitOf(h *result.JourneyHop) string {
	switch {
	case h.Out != "":
		return h.Out
	case h.Dropped != "":
		return "dropped: " + h.Dropped
	}
	return "ended"
}
