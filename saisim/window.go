package saisim

import (
	"encoding/json"
	"fmt"

	"tamtam/sai"
)

// TailstampWindow is the name of the extension object that reads what became of
// the packets that tail-stamping matched, by label of ACL counter. Its ENTRY is
//
//	{"attributes":[{"labels":{"sai_metadata":{...},"value":["label",...]}}]}
//
// and a get adds an attribute "counters" whose value holds, for each label in
// order, 8 numbers: stamped, not stamped because not TCP or UDP, not Ethernet
// II, cut, beyond the MTU, and three that are 0.
const TailstampWindow = "tamtam.tailstamp.counters"

// maxWindowLabels bounds the labels of one window.
const maxWindowLabels = 128

const maxWindows = 16

// A window reads registers. It is no configuration.
type window struct {
	entry  map[string]json.RawMessage
	labels []string
}

type windowAttr struct {
	Meta  map[string]any `json:"sai_metadata,omitempty"`
	Value any            `json:"value"`
}

func (c *Chip) windowKind() *kind {
	return &kind{
		max:   maxWindows,
		attrs: []sai.AttrID{sai.GenericProgrammableAttrObjectName, sai.GenericProgrammableAttrEntry},
		create: func(o *object) error {
			name, _ := o.attr(sai.GenericProgrammableAttrObjectName).(sai.Bytes)
			if string(name) != TailstampWindow {
				return refuse("create", sai.ObjectTypeGenericProgrammable, sai.GenericProgrammableAttrObjectName,
					sai.StatusNotSupported, "no extension %q, want %q", string(name), TailstampWindow)
			}
			text, _ := o.attr(sai.GenericProgrammableAttrEntry).(sai.Bytes)
			w, err := parseWindow(text)
			if err != nil {
				return refuse("create", sai.ObjectTypeGenericProgrammable, sai.GenericProgrammableAttrEntry, sai.StatusInvalidParameter, "%v", err)
			}
			o.self = w
			return nil
		},
		set: func(o *object, a sai.Attr) error {
			text, _ := a.Value.(sai.Bytes)
			w, err := parseWindow(text)
			if err != nil {
				return badValue(a, sai.StatusInvalidParameter, "%v", err)
			}
			o.self = w
			return nil
		},
		get: func(o *object, id sai.AttrID) sai.Value {
			if id != sai.GenericProgrammableAttrEntry {
				return nil
			}
			return c.readWindow(o.self.(*window))
		},
	}
}

func parseWindow(text []byte) (*window, error) {
	w := &window{}
	if len(text) == 0 {
		return w, nil
	}
	var entry struct {
		Attributes []map[string]json.RawMessage `json:"attributes"`
	}
	if err := json.Unmarshal(text, &entry); err != nil {
		return nil, fmt.Errorf("entry: %w", err)
	}
	for _, a := range entry.Attributes {
		raw, ok := a["labels"]
		if !ok {
			continue // counters of an earlier read
		}
		labels := struct {
			Value []string `json:"value"`
		}{}
		if err := json.Unmarshal(raw, &labels); err != nil {
			return nil, fmt.Errorf("labels: %w", err)
		}
		w.entry, w.labels = a, labels.Value
	}
	if len(w.labels) > maxWindowLabels {
		return nil, fmt.Errorf("labels: %d, want at most %d", len(w.labels), maxWindowLabels)
	}
	return w, nil
}

// readWindow returns the window's entry with the counters as they are now.
// Counters with one label are added up; a label that no counter has counts 0.
func (c *Chip) readWindow(w *window) sai.Bytes {
	values := make([]uint64, numStampResults*len(w.labels))
	for i, label := range w.labels {
		for _, x := range c.labelled[label] {
			for j, n := range x.stamps {
				values[i*numStampResults+j] += n
			}
		}
	}
	attrs := []any{}
	if w.entry != nil {
		attrs = append(attrs, w.entry)
	}
	attrs = append(attrs, map[string]windowAttr{"counters": {
		Meta:  map[string]any{"sai_attr_value_type": "SAI_ATTR_VALUE_TYPE_UINT64_LIST"},
		Value: values,
	}})
	text, err := json.Marshal(map[string]any{"attributes": attrs})
	if err != nil {
		return sai.Bytes{} // the values are strings and numbers
	}
	return text
}

// windowsLeft is the number of windows left under the name in attrs, 0 for
// extensions that the chip does not have.
func (c *Chip) windowsLeft(attrs []sai.Attr) uint64 {
	v, _ := sai.Find(attrs, sai.GenericProgrammableAttrObjectName)
	if name, _ := v.(sai.Bytes); string(name) != TailstampWindow {
		return 0
	}
	return uint64(maxWindows - c.live[sai.ObjectTypeGenericProgrammable])
}
