package query

import (
	"strconv"
	"strings"
)

// Head returns the names of the columns of [Table.Record]. A field with bounds has two columns, NAME.low and NAME.high.
func (t *Table[R]) Head() (names []string) {
	for i := range t.Fields {
		if f := &t.Fields[i]; f.Bounded {
			names = append(names, f.Name+".low", f.Name+".high")
		} else {
			names = append(names, f.Name)
		}
	}
	return names
}

// Record returns a row as one text for each column. An unknown value is empty, and a value that does not exist is none.
// Several values have a semicolon between them, and the last is ? if there may be more. A missing upper bound is empty.
func (t *Table[R]) Record(r *R) (texts []string) {
	for i := range t.Fields {
		f := &t.Fields[i]
		c := f.Cell(r)
		low, high := c.record()
		if texts = append(texts, low); f.Bounded {
			texts = append(texts, high)
		}
	}
	return texts
}

// record returns the lower and the upper bounds of a cell's values as texts, which are equal for other values.
func (c *Cell) record() (low, high string) {
	if !c.Known() {
		if c.Whole {
			return "none", "none"
		}
		return "", ""
	}
	lows, highs := c.Texts, c.Texts
	for _, n := range c.Numbers {
		lows = append(lows, strconv.FormatInt(n.Low, 10))
		if n.Open() {
			highs = append(highs, "")
		} else {
			highs = append(highs, strconv.FormatInt(n.High, 10))
		}
	}
	if !c.Whole {
		lows, highs = append(lows[:len(lows):len(lows)], "?"), append(highs[:len(highs):len(highs)], "?")
	}
	return strings.Join(lows, ";"), strings.Join(highs, ";")
}

// Object returns a row as the members of a JSON object. An unknown value is null, and a value that does not exist is an
// empty list. Several values are a list, whose last one is null if there may be more. A number with bounds is an object
// with low and high, where a missing upper bound is null.
func (t *Table[R]) Object(r *R) map[string]any {
	out := make(map[string]any, len(t.Fields))
	for i := range t.Fields {
		c := t.Fields[i].Cell(r)
		out[t.Fields[i].Name] = c.object()
	}
	return out
}

func (c *Cell) object() any {
	list := []any{}
	for _, s := range c.Texts {
		if c.Kind == Boolean {
			list = append(list, s == "yes")
		} else {
			list = append(list, s)
		}
	}
	for _, n := range c.Numbers {
		switch {
		case n.Exact():
			list = append(list, n.Low)
		case n.Open():
			list = append(list, map[string]any{"low": n.Low, "high": nil})
		default:
			list = append(list, map[string]any{"low": n.Low, "high": n.High})
		}
	}
	switch {
	case len(list) == 0 && !c.Whole:
		return nil
	case !c.Whole:
		return append(list, nil)
	case len(list) == 1:
		return list[0]
	}
	return list
}
