package sai

import (
	"fmt"
	"strconv"
)

// append appends the text of v to b.
func (m *AttrMeta) append(b []byte, v Value) ([]byte, error) {
	switch m.Form {
	case FormField:
		f, ok := v.(Field)
		if !ok {
			return nil, m.textError(fmt.Sprintf("%T", v), "a Field")
		}
		return m.appendField(b, f)
	case FormAction:
		a, ok := v.(Action)
		if !ok {
			return nil, m.textError(fmt.Sprintf("%T", v), "an Action")
		}
		if !a.Enabled {
			return append(b, "disabled"...), nil
		}
		v = a.Param
	}
	return m.appendPlain(b, v)
}

func (m *AttrMeta) appendField(b []byte, f Field) ([]byte, error) {
	if !f.Enabled {
		return append(b, "disabled"...), nil
	}
	b, err := m.appendPlain(b, f.Data)
	if err != nil {
		return nil, err
	}
	switch m.Kind {
	case KindBool, KindOID, KindOIDList:
		if f.Mask != nil {
			return nil, m.textError(fmt.Sprint(f.Mask), "without a mask")
		}
		return b, nil
	}
	b = append(b, "&mask:"...)
	switch mask := f.Mask.(type) {
	case Uint:
		if !m.fits(mask) {
			return nil, m.textError(fmt.Sprint(mask), "a mask of type "+m.Kind.String())
		}
		return strconv.AppendUint(append(b, "0x"...), uint64(mask), 16), nil
	case Enum:
		if m.Kind == KindEnum {
			return strconv.AppendUint(append(b, "0x"...), uint64(int64(mask)), 16), nil
		}
	case Bytes:
		if data, ok := f.Data.(Bytes); ok && len(data) == len(mask) && m.Kind == KindU8List {
			return appendItems(b, len(mask), func(b []byte, i int) []byte {
				return strconv.AppendUint(append(b, "0x"...), uint64(mask[i]), 16)
			}), nil
		}
	case MAC, IP:
		return m.appendPlain(b, mask)
	}
	return nil, m.textError(fmt.Sprintf("%T", f.Mask), "a mask of type "+m.Kind.String())
}

// fits reports whether n is in the range of the kind.
func (m *AttrMeta) fits(n Uint) bool {
	switch m.Kind {
	case KindU8:
		return n <= 1<<8-1
	case KindU16:
		return n <= 1<<16-1
	case KindU32:
		return n <= 1<<32-1
	}
	return m.Kind == KindU64
}

// appendItems appends "n:item,item"; an empty list is "0:null".
func appendItems(b []byte, n int, item func(b []byte, i int) []byte) []byte {
	b = strconv.AppendInt(b, int64(n), 10)
	if n == 0 {
		return append(b, ":null"...)
	}
	for i := range n {
		if i == 0 {
			b = append(b, ':')
		} else {
			b = append(b, ',')
		}
		b = item(b, i)
	}
	return b
}

func appendEnum(b []byte, e *EnumMeta, v Enum) []byte {
	if n, ok := e.ValueName(v); ok {
		return append(b, n...)
	}
	if e.Strict {
		return appendFlags(b, e, v)
	}
	return strconv.AppendInt(b, int64(v), 10)
}

// appendFlags appends the names of the set flags, joined with |.
func appendFlags(b []byte, e *EnumMeta, v Enum) []byte {
	if v == 0 {
		return append(b, "0x0"...)
	}
	start, rest := len(b), v
	for _, f := range e.Values {
		if f != 0 && rest&f == f {
			if len(b) > start {
				b = append(b, '|')
			}
			b = append(b, e.names[f]...)
			rest &^= f
		}
	}
	if rest != 0 {
		return strconv.AppendInt(b[:start], int64(v), 10)
	}
	return b
}

// appendPlain appends the text of a value that is neither a Field nor an Action.
func (m *AttrMeta) appendPlain(b []byte, v Value) ([]byte, error) {
	if m.codec == nil {
		return nil, m.wrongValue(v)
	}
	return m.codec.append(m, b, v)
}

// wrongValue returns the error for a v of another kind than the attribute's, or out of its range.
func (m *AttrMeta) wrongValue(v Value) error {
	text := fmt.Sprintf("%T", v)
	switch v.(type) {
	case Bool, Uint, Int, Enum, OID, MAC, IP, Pointer, Text, Range:
		text = fmt.Sprintf("%T %v", v, v)
	}
	return m.textError(text, "a value of type "+m.Kind.String())
}

func appendBool(_ *AttrMeta, b []byte, v Bool) ([]byte, error) {
	return strconv.AppendBool(b, bool(v)), nil
}

func appendUnsigned(m *AttrMeta, b []byte, v Uint) ([]byte, error) {
	if !m.fits(v) {
		return nil, m.wrongValue(v)
	}
	return strconv.AppendUint(b, uint64(v), 10), nil
}

func appendSigned(m *AttrMeta, b []byte, v Int) ([]byte, error) {
	if int64(v) != int64(int32(v)) || m.Kind == KindS8 && int64(v) != int64(int8(v)) {
		return nil, m.wrongValue(v)
	}
	return strconv.AppendInt(b, int64(v), 10), nil
}

func appendEnumOf(m *AttrMeta, b []byte, v Enum) ([]byte, error) {
	return m.appendEnum(b, v), nil
}

func (m *AttrMeta) appendEnum(b []byte, v Enum) []byte {
	if m.Enum == nil {
		return strconv.AppendInt(b, int64(v), 10)
	}
	return appendEnum(b, m.Enum, v)
}

func appendOID(_ *AttrMeta, b []byte, v OID) ([]byte, error) { return v.append(b), nil }

func appendMAC(_ *AttrMeta, b []byte, v MAC) ([]byte, error) { return append(b, v.String()...), nil }

func appendIP(m *AttrMeta, b []byte, v IP) ([]byte, error) {
	if !m.addressFits(v) {
		return nil, m.wrongValue(v)
	}
	return append(b, formatAddr(v.Addr)...), nil
}

func appendPointer(_ *AttrMeta, b []byte, v Pointer) ([]byte, error) {
	return strconv.AppendUint(append(b, "0x"...), uint64(v), 16), nil
}

func appendChardata(m *AttrMeta, b []byte, v Text) ([]byte, error) {
	s := FormatText(v)
	if _, err := ParseText(s); err != nil {
		return nil, m.textError(string(v), "at most 32 bytes, none zero")
	}
	return append(b, s...), nil
}

func appendRangeOf(m *AttrMeta, b []byte, v Range) ([]byte, error) {
	if !m.rangeFits(v) {
		return nil, m.wrongValue(v)
	}
	return appendRange(b, v), nil
}

func (m *AttrMeta) addressFits(v IP) bool {
	switch {
	case !v.IsValid() || v.Zone() != "":
		return false
	case m.Kind == KindIP:
		return true
	case m.Kind == KindIPv4:
		return v.Is4()
	}
	return m.Kind == KindIPv6 && v.Is6()
}

func (m *AttrMeta) rangeFits(v Range) bool {
	switch m.Kind {
	case KindU16Range:
		return v.Min <= 1<<16-1 && v.Max <= 1<<16-1
	case KindU32Range:
		return v.Min <= 1<<32-1 && v.Max <= 1<<32-1
	}
	return m.Kind == KindTimespec && v.Max <= 1<<32-1
}

func appendRange(b []byte, v Range) []byte {
	b = strconv.AppendUint(b, v.Min, 10)
	return strconv.AppendUint(append(b, ','), v.Max, 10)
}

func appendU8List(_ *AttrMeta, b []byte, v Bytes) ([]byte, error) {
	return appendItems(b, len(v), func(b []byte, i int) []byte { return strconv.AppendUint(b, uint64(v[i]), 10) }), nil
}

func appendS8List(_ *AttrMeta, b []byte, v Bytes) ([]byte, error) {
	return appendItems(b, len(v), func(b []byte, i int) []byte { return strconv.AppendInt(b, int64(int8(v[i])), 10) }), nil
}

func appendJSON(m *AttrMeta, b []byte, v Bytes) ([]byte, error) {
	b, err := appendS8List(m, append(b, `{"json":"`...), v)
	return append(b, `"}`...), err
}

func appendUints(m *AttrMeta, b []byte, v Uints) ([]byte, error) {
	if m.Kind == KindU16List && !all(v, 1<<16-1) || !all(v, 1<<32-1) {
		return nil, m.wrongValue(v)
	}
	return appendItems(b, len(v), func(b []byte, i int) []byte { return strconv.AppendUint(b, v[i], 10) }), nil
}

func appendEnums(m *AttrMeta, b []byte, v Enums) ([]byte, error) {
	return appendItems(b, len(v), func(b []byte, i int) []byte { return m.appendEnum(b, v[i]) }), nil
}

func appendOIDs(_ *AttrMeta, b []byte, v OIDs) ([]byte, error) {
	return appendItems(b, len(v), func(b []byte, i int) []byte { return v[i].append(b) }), nil
}

func appendRanges(_ *AttrMeta, b []byte, v Ranges) ([]byte, error) {
	return appendItems(b, len(v), func(b []byte, i int) []byte { return appendRange(b, v[i]) }), nil
}

func appendCapability(_ *AttrMeta, b []byte, v ACLCapability) ([]byte, error) {
	b = append(strconv.AppendBool(b, v.ActionListMandatory), ':')
	e := metadata().enums["sai_acl_action_type_t"]
	return appendItems(b, len(v.Actions), func(b []byte, i int) []byte { return appendEnum(b, e, v.Actions[i]) }), nil
}

func all(v Uints, most uint64) bool {
	for _, n := range v {
		if n > most {
			return false
		}
	}
	return true
}

func appendResources(_ *AttrMeta, b []byte, v ACLResources) ([]byte, error) {
	b = strconv.AppendInt(append(b, `{"count":`...), int64(len(v)), 10)
	if len(v) == 0 {
		return append(b, `,"list":null}`...), nil
	}
	points, stages := metadata().enums["sai_acl_bind_point_type_t"], metadata().enums["sai_acl_stage_t"]
	for i, r := range v {
		if i == 0 {
			b = append(b, `,"list":[`...)
		} else {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `{"avail_num":"%d","bind_point":"%s","stage":"%s"}`, r.Available,
			appendEnum(nil, points, r.BindPoint), appendEnum(nil, stages, r.Stage))
	}
	return append(b, "]}"...), nil
}
