package sai

import (
	"encoding/json"
	"strconv"
	"strings"
)

// parseField parses an ACL match: "disabled", or data, or data&mask:mask. As in SONiC, a number without mask has mask
// 0 and so matches everything.
func (m *AttrMeta) parseField(text string) (Value, error) {
	if text == "disabled" {
		return Field{}, nil
	}
	switch m.Kind {
	case KindBool, KindOID, KindOIDList:
		data, err := m.parsePlain(text)
		if err != nil {
			return nil, err
		}
		return Match(data, nil), nil
	}
	data, mask, hasMask := strings.Cut(text, "&mask:")
	d, err := m.parsePlain(data)
	if err != nil {
		return nil, err
	}
	k, err := m.parseMask(mask, hasMask, d)
	if err != nil {
		return nil, err
	}
	return Match(d, k), nil
}

func (m *AttrMeta) parseMask(text string, given bool, data Value) (Value, error) {
	switch m.Kind {
	case KindMAC, KindIPv4, KindIPv6, KindIP:
		if !given {
			return nil, m.textError(text, "a value&mask:mask")
		}
		return m.parsePlain(text)
	case KindU8List:
		return m.parseListMask(text, data)
	}
	if !given {
		text = "0x0"
	}
	n, ok := parseHex(text)
	if !ok {
		return nil, m.textError(text, "a mask (0x and hex digits)")
	}
	if m.Kind == KindEnum {
		if n>>32 != 0 && n>>31 != 1<<33-1 {
			return nil, m.textError(text, "a 32-bit mask")
		}
		return Enum(int32(uint32(n))), nil
	}
	if !m.fits(Uint(n)) {
		return nil, m.textError(text, "a mask of type "+m.Kind.String())
	}
	return Uint(n), nil
}

func (m *AttrMeta) parseListMask(text string, data Value) (Value, error) {
	d, _ := data.(Bytes)
	mask := make(Bytes, 0, len(d))
	err := m.items(text, func(s string) bool {
		n, ok := parseHex(s)
		mask = append(mask, byte(n))
		return ok && n < 256
	})
	if err != nil || len(mask) != len(d) {
		return nil, m.textError(text, "a list of masks as long as the data")
	}
	return mask, nil
}

func parseHex(text string) (uint64, bool) {
	rest, ok := strings.CutPrefix(text, "0x")
	if !ok || rest == "" || rest[0] == '+' || rest[0] == '-' {
		return 0, false
	}
	n, err := strconv.ParseUint(rest, 16, 64)
	return n, err == nil
}

// parsePlain parses a value that is neither a Field nor an Action.
func (m *AttrMeta) parsePlain(text string) (Value, error) {
	if m.codec == nil {
		return nil, m.textError(text, "of a type that tamtam knows")
	}
	return m.codec.parse(m, text)
}

func (m *AttrMeta) parseBool(text string) (Value, error) {
	if text == "true" || text == "false" {
		return Bool(text == "true"), nil
	}
	return nil, m.textError(text, "true or false")
}

func (m *AttrMeta) parseUnsigned(text string) (Value, error) {
	n, err := parseUint(text, 64)
	if err != nil || !m.fits(Uint(n)) {
		return nil, m.textError(text, "a decimal "+m.Kind.String())
	}
	return Uint(n), nil
}

func parseSigned(bits int) func(m *AttrMeta, text string) (Value, error) {
	return func(m *AttrMeta, text string) (Value, error) {
		n, err := strconv.ParseInt(text, 10, bits)
		if err != nil || text[0] == '+' {
			return nil, m.textError(text, "a decimal "+m.Kind.String())
		}
		return Int(n), nil
	}
}

func (m *AttrMeta) parseOID(text string) (Value, error) {
	o, err := ParseOID(text)
	if err != nil {
		return nil, m.textError(text, "an object id (oid:0x...)")
	}
	return o, nil
}

func (m *AttrMeta) parseMAC(text string) (Value, error) {
	a, err := ParseMAC(text)
	if err != nil {
		return nil, m.textError(text, "an Ethernet address (AA:BB:CC:DD:EE:FF)")
	}
	return a, nil
}

func (m *AttrMeta) parseIP(text string) (Value, error) {
	a, err := parseAddr(text)
	if err != nil || !m.addressFits(IP{a}) {
		return nil, m.textError(text, "an "+m.Kind.String()+" address")
	}
	return IP{a}, nil
}

func (m *AttrMeta) parsePointer(text string) (Value, error) {
	n, ok := parseHex(text)
	if !ok {
		return nil, m.textError(text, "a pointer (0x...)")
	}
	return Pointer(n), nil
}

func (m *AttrMeta) parseChardata(text string) (Value, error) {
	t, err := ParseText(text)
	if err != nil {
		return nil, m.textError(text, `chardata (at most 32 bytes, \\ and \xHH as escapes)`)
	}
	return t, nil
}

// parseRange parses min,max.
func (m *AttrMeta) parseRange(text string) (Value, error) {
	a, b, ok := strings.Cut(text, ",")
	x, err := parseUint(a, 64)
	y, err2 := parseUint(b, 64)
	if !ok || err != nil || err2 != nil || !m.rangeFits(Range{x, y}) {
		return nil, m.textError(text, "a "+m.Kind.String()+" (min,max)")
	}
	return Range{x, y}, nil
}

func (m *AttrMeta) parseEnum(text string) (Value, error) {
	if m.Enum != nil {
		if v, ok := m.Enum.Value(text); ok {
			return v, nil
		}
		if m.Enum.Strict && text == "0x0" {
			return Enum(0), nil
		}
		if m.Enum.Strict && strings.Contains(text, "|") {
			var v Enum
			for _, w := range strings.Split(text, "|") {
				f, ok := m.Enum.Value(w)
				if !ok {
					return nil, m.textError(text, "flags of "+m.Enum.Name)
				}
				v |= f
			}
			return v, nil
		}
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || text[0] == '+' {
		name := "sai_int32_t"
		if m.Enum != nil {
			name = m.Enum.Name
		}
		return nil, m.textError(text, "a value of "+name)
	}
	return Enum(n), nil
}

// items calls f with each item of "n:a,b"; "0:null" has none. It fails if f does, or if the count is wrong.
func (m *AttrMeta) items(text string, f func(string) bool) error {
	count, list, ok := strings.Cut(text, ":")
	n, err := parseUint(count, 32)
	bad := func() error { return m.textError(text, "a "+m.Kind.String()+" (count:item,item)") }
	switch {
	case !ok || err != nil || n > maxListItems:
		return bad()
	case n == 0:
		if list != "null" {
			return bad()
		}
		return nil
	case uint64(strings.Count(list, ","))+1 != n:
		return bad()
	}
	for item := range strings.SplitSeq(list, ",") {
		if !f(item) {
			return bad()
		}
	}
	return nil
}

func (m *AttrMeta) parseU8List(text string) (Value, error) {
	v := Bytes{}
	err := m.items(text, func(s string) bool {
		n, err := parseUint(s, 8)
		v = append(v, byte(n))
		return err == nil
	})
	return orError(v, err)
}

func (m *AttrMeta) parseS8List(text string) (Value, error) {
	v := Bytes{}
	err := m.items(text, func(s string) bool {
		n, err := strconv.ParseInt(s, 10, 8)
		v = append(v, byte(n))
		return err == nil && s[0] != '+'
	})
	return orError(v, err)
}

// parseJSON parses a sai_json_t, whose text is a list of bytes inside JSON.
func (m *AttrMeta) parseJSON(text string) (Value, error) {
	var j struct {
		JSON *string `json:"json"`
	}
	if json.Unmarshal([]byte(text), &j) != nil || j.JSON == nil {
		return nil, m.textError(text, `JSON as bytes ({"json":"count:byte,byte"})`)
	}
	return m.parseS8List(*j.JSON)
}

func parseUints(bits int) func(m *AttrMeta, text string) (Value, error) {
	return func(m *AttrMeta, text string) (Value, error) {
		v := Uints{}
		err := m.items(text, func(s string) bool {
			n, err := parseUint(s, bits)
			v = append(v, n)
			return err == nil
		})
		return orError(v, err)
	}
}

func (m *AttrMeta) parseEnums(text string) (Value, error) {
	v := Enums{}
	err := m.items(text, func(s string) bool {
		e, err := m.parseEnum(s)
		if err == nil {
			v = append(v, e.(Enum))
		}
		return err == nil
	})
	return orError(v, err)
}

func (m *AttrMeta) parseOIDs(text string) (Value, error) {
	v := OIDs{}
	err := m.items(text, func(s string) bool {
		o, err := ParseOID(s)
		v = append(v, o)
		return err == nil
	})
	return orError(v, err)
}

// orError returns v, or the error as the only result.
func orError(v Value, err error) (Value, error) {
	if err != nil {
		return nil, err
	}
	return v, nil
}

// parseRanges parses n:min,max,min,max.
func (m *AttrMeta) parseRanges(text string) (Value, error) {
	count, list, _ := strings.Cut(text, ":")
	n, err := parseUint(count, 32)
	if err == nil && n == 0 && list == "null" {
		return Ranges{}, nil
	}
	numbers := strings.Split(list, ",")
	if err != nil || n > maxListItems || uint64(len(numbers)) != 2*n {
		return nil, m.textError(text, "a list of ranges (count:min,max,min,max)")
	}
	v := make(Ranges, n)
	for i := range v {
		x, err := parseUint(numbers[2*i], 64)
		y, err2 := parseUint(numbers[2*i+1], 64)
		if err != nil || err2 != nil {
			return nil, m.textError(text, "a list of ranges (count:min,max,min,max)")
		}
		v[i] = Range{x, y}
	}
	return v, nil
}

func (m *AttrMeta) parseCapability(text string) (Value, error) {
	flag, list, _ := strings.Cut(text, ":")
	if flag != "true" && flag != "false" {
		return nil, m.textError(text, "an ACL capability (bool:count:action,action)")
	}
	v := ACLCapability{ActionListMandatory: flag == "true", Actions: []Enum{}}
	actions := &AttrMeta{ID: m.ID, Kind: KindEnumList, Enum: metadata().enums["sai_acl_action_type_t"]}
	l, err := actions.parseEnums(list)
	if err != nil {
		return nil, err
	}
	v.Actions = l.(Enums)
	return v, nil
}

func (m *AttrMeta) parseResources(text string) (Value, error) {
	var j struct {
		Count int
		List  []struct {
			Avail     string `json:"avail_num"`
			BindPoint string `json:"bind_point"`
			Stage     string
		}
	}
	if json.Unmarshal([]byte(text), &j) != nil || j.Count != len(j.List) || j.Count > maxListItems {
		return nil, m.textError(text, `a resource list ({"count":n,"list":[...]})`)
	}
	point := &AttrMeta{ID: m.ID, Kind: KindEnum, Enum: metadata().enums["sai_acl_bind_point_type_t"]}
	stage := &AttrMeta{ID: m.ID, Kind: KindEnum, Enum: metadata().enums["sai_acl_stage_t"]}
	v := make(ACLResources, len(j.List))
	for i, r := range j.List {
		b, err := point.parseEnum(r.BindPoint)
		if err != nil {
			return nil, err
		}
		s, err := stage.parseEnum(r.Stage)
		if err != nil {
			return nil, err
		}
		n, err := parseUint(r.Avail, 32)
		if err != nil {
			return nil, m.textError(r.Avail, "a decimal u32")
		}
		v[i] = ACLResource{s.(Enum), b.(Enum), uint32(n)}
	}
	return v, nil
}
