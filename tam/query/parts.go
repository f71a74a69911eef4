package query

import "slices"

// A Part is one of the filters that a filter joins by and, with the fields that it may compare.
type Part[R any] struct {
	*Filter[R]
	Fields []*Field[R]
}

// Parts compiles a filter as the filters that it joins by and. Its outcome is the least of theirs. A reader of columns
// needs it to decide a part by its columns only. If a part is decided for bounds of a column's values, it has this
// outcome for each of them, as long as no value is unknown. An empty text has no parts. The error is an *Error.
func (t *Table[R]) Parts(text string) (parts []Part[R], err error) {
	if _, err := t.Filter(text); err != nil {
		return nil, err
	}
	tokens, err := lex(text)
	if err != nil {
		return nil, err
	}
	from, depth := 0, 0
	var ends []token
	for _, k := range tokens {
		switch {
		case k.is("("):
			depth++
		case k.is(")"):
			depth--
		case depth == 0 && k.word("or"):
			ends = nil
			depth = len(tokens) // no further and joins parts of the whole filter
		case depth == 0 && (k.word("and") || k.kind == endToken):
			ends = append(ends, k)
		}
	}
	if len(ends) == 0 {
		ends = tokens[len(tokens)-1:]
	}
	for _, end := range ends {
		p := Part[R]{}
		if p.Filter, err = t.Filter(text[from:end.from]); err != nil {
			return nil, err
		}
		for _, k := range tokens {
			f := t.Field(k.text)
			if k.kind == wordToken && f != nil && k.from >= from && k.to <= end.from && !slices.Contains(p.Fields, f) {
				p.Fields = append(p.Fields, f)
			}
		}
		if p.Filter.match != nil {
			parts = append(parts, p)
		}
		from = end.to
	}
	return parts, nil
}
