package sai

import (
	"encoding/json"
	"strconv"
)

// qosParams is the JSON of a sai_qos_map_params_t: keys in alphabetical order, without blanks, numbers as numbers.
type qosParams struct {
	Color   string `json:"color"`
	Dot1p   uint8  `json:"dot1p"`
	DSCP    uint8  `json:"dscp"`
	FC      uint8  `json:"fc"`
	MPLSExp uint8  `json:"mpls_exp"`
	PG      uint8  `json:"pg"`
	Prio    uint8  `json:"prio"`
	Queue   uint8  `json:"qidx"`
	TC      uint8  `json:"tc"`
}

// appendQoSMap appends the JSON that SONiC's serialiser produces for a sai_qos_map_list_t.
func appendQoSMap(_ *AttrMeta, b []byte, v QoSMap) ([]byte, error) {
	b = strconv.AppendInt(append(b, `{"count":`...), int64(len(v)), 10)
	if len(v) == 0 {
		return append(b, `,"list":null}`...), nil
	}
	colors := metadata().enums["sai_packet_color_t"]
	params := func(b []byte, p QoSMapParams) []byte {
		b = appendEnum(append(b, `{"color":"`...), colors, p.Color)
		b = append(b, '"')
		for _, f := range []struct {
			name  string
			value uint8
		}{{"dot1p", p.Dot1p}, {"dscp", p.DSCP}, {"fc", p.FC}, {"mpls_exp", p.MPLSExp},
			{"pg", p.PG}, {"prio", p.Prio}, {"qidx", p.Queue}, {"tc", p.TC}} {
			b = append(append(append(b, `,"`...), f.name...), `":`...)
			b = strconv.AppendUint(b, uint64(f.value), 10)
		}
		return append(b, '}')
	}
	for i, e := range v {
		if i == 0 {
			b = append(b, `,"list":[{"key":`...)
		} else {
			b = append(b, `,{"key":`...)
		}
		b = params(b, e.Key)
		b = params(append(b, `,"value":`...), e.Value)
		b = append(b, '}')
	}
	return append(b, "]}"...), nil
}

// parseQoSMap parses the output of appendQoSMap. Rows of older releases lack mpls_exp and fc; as in SONiC, these are
// then 0.
func (m *AttrMeta) parseQoSMap(text string) (Value, error) {
	var j struct {
		Count int
		List  []struct{ Key, Value qosParams }
	}
	if json.Unmarshal([]byte(text), &j) != nil || j.Count != len(j.List) || j.Count > maxListItems {
		return nil, m.textError(text, `a QoS map ({"count":n,"list":[{"key":{...},"value":{...}}]})`)
	}
	color := &AttrMeta{ID: m.ID, Kind: KindEnum, Enum: metadata().enums["sai_packet_color_t"]}
	params := func(p qosParams) (QoSMapParams, error) {
		c, err := color.parseEnum(p.Color)
		if err != nil {
			return QoSMapParams{}, err
		}
		return QoSMapParams{TC: p.TC, DSCP: p.DSCP, Dot1p: p.Dot1p, Prio: p.Prio, PG: p.PG,
			Queue: p.Queue, Color: c.(Enum), MPLSExp: p.MPLSExp, FC: p.FC}, nil
	}
	v := make(QoSMap, len(j.List))
	for i, e := range j.List {
		var err error
		if v[i].Key, err = params(e.Key); err != nil {
			return nil, err
		}
		if v[i].Value, err = params(e.Value); err != nil {
			return nil, err
		}
	}
	return v, nil
}
