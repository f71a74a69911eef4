package sairedistest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/big"
	"net/netip"
	"strconv"
	"strings"

	"tamtam/sai"
)

// attrs checks attributes. Those of a get are placeholders.
func (s *Strict) attrs(t string, pairs [][2]string, get bool) error {
	seen := map[string]bool{}
	for _, p := range pairs {
		id, ok := sai.LookupAttr(p[0])
		if !ok || id.String() != p[0] || id.ObjectType().String() != t {
			return fmt.Errorf("%q is no attribute of %s", p[0], t)
		}
		if seen[p[0]] && !get {
			return fmt.Errorf("%s twice", p[0])
		}
		seen[p[0]] = true
		if err := s.value(sai.Meta(id), p[1], get); err != nil {
			return fmt.Errorf("%s=%.200s: %w", p[0], p[1], err)
		}
	}
	return nil
}

func (s *Strict) value(m *sai.AttrMeta, text string, get bool) error {
	if m.Form != sai.FormPlain && text == "disabled" {
		if get && m.Kind.List() {
			return fmt.Errorf("no room for a list")
		}
		return nil
	}
	if m.Form == sai.FormField {
		data, mask, has := strings.Cut(text, "&mask:")
		if err := s.plain(m, data, get); err != nil {
			return err
		}
		return s.mask(m, data, mask, has)
	}
	return s.plain(m, text, get)
}

// mask checks the mask of an ACL match.
func (s *Strict) mask(m *sai.AttrMeta, data, text string, has bool) error {
	switch m.Kind {
	case sai.KindBool, sai.KindOID, sai.KindOIDList:
		if has {
			return fmt.Errorf("a mask where there is none")
		}
		return nil
	}
	if !has {
		return fmt.Errorf("no mask")
	}
	switch m.Kind {
	case sai.KindMAC, sai.KindIPv4, sai.KindIPv6:
		return s.plain(m, text, false)
	case sai.KindU8List:
		if strings.Count(data, ",") != strings.Count(text, ",") {
			return fmt.Errorf("mask of another length than the data")
		}
		return list(text, false, func(item string) error {
			n, err := strconv.ParseUint(strings.TrimPrefix(item, "0x"), 16, 8)
			if err == nil && n <= 255 {
				err = matches(hexText, item)
			}
			return err
		})
	}
	return matches(hexText, text)
}

// number checks a decimal number.
func number(text string, min, max string) error {
	if err := matches(signedText, text); err != nil || text == "-0" {
		return fmt.Errorf("%q is no decimal number", text)
	}
	n, _ := new(big.Int).SetString(text, 10)
	lo, _ := new(big.Int).SetString(min, 10)
	hi, _ := new(big.Int).SetString(max, 10)
	if n.Cmp(lo) < 0 || n.Cmp(hi) > 0 {
		return fmt.Errorf("%s is not in %s..%s", text, min, max)
	}
	return nil
}

const (
	mostU8, mostU16, mostU32 = "255", "65535", "4294967295"
	mostU64                  = "18446744073709551615"
)

// plain checks a value that is neither a match nor an action.
func (s *Strict) plain(m *sai.AttrMeta, text string, get bool) error {
	if item := s.single(m, m.Kind); item != nil {
		return item(text)
	}
	if kind, ok := itemsOf[m.Kind]; ok {
		return list(text, get, s.single(m, kind))
	}
	switch m.Kind {
	case sai.KindJSON:
		var j map[string]string
		if err := json.Unmarshal([]byte(text), &j); err != nil || len(j) != 1 {
			return fmt.Errorf("no JSON object: %w", cmp.Or(err, errForm))
		}
		return list(j["json"], get, s.single(m, sai.KindS8))
	case sai.KindU64RangeList:
		return rangeList(text, get, pair(mostU64))
	case sai.KindACLCapability:
		flag, rest, _ := strings.Cut(text, ":")
		if err := boolean(flag); err != nil {
			return err
		}
		return list(rest, get, func(string) error { return nil })
	case sai.KindACLResources:
		return resources(text)
	case sai.KindQoSMapList:
		return qosMap(text, get)
	}
	return fmt.Errorf("values of kind %s are not known", m.Kind)
}

// itemsOf maps the kind of a list to the kind of its items.
var itemsOf = map[sai.Kind]sai.Kind{
	sai.KindU8List: sai.KindU8, sai.KindS8List: sai.KindS8, sai.KindU16List: sai.KindU16, sai.KindU32List: sai.KindU32,
	sai.KindS32List: sai.KindEnum, sai.KindEnumList: sai.KindEnum, sai.KindOIDList: sai.KindOID,
}

// single returns the check of one value of a kind, or nil if values of the kind are lists or compound.
func (s *Strict) single(m *sai.AttrMeta, kind sai.Kind) func(string) error {
	switch kind {
	case sai.KindEnum:
		return func(text string) error { return enumWord(m.Enum, text) }
	case sai.KindOID:
		return func(text string) error { return s.existing(text, true) }
	}
	return singles[kind]
}

// singles holds the checks of the kinds that depend on nothing else.
var singles = map[sai.Kind]func(string) error{
	sai.KindBool:     boolean,
	sai.KindU8:       within("0", mostU8),
	sai.KindU16:      within("0", mostU16),
	sai.KindU32:      within("0", mostU32),
	sai.KindU64:      within("0", mostU64),
	sai.KindS8:       within("-128", "127"),
	sai.KindS32:      within("-2147483648", "2147483647"),
	sai.KindMAC:      func(text string) error { return matches(macText, text) },
	sai.KindIPv4:     func(text string) error { return ip(text, 4) },
	sai.KindIPv6:     func(text string) error { return ip(text, 6) },
	sai.KindIP:       func(text string) error { return ip(text, 0) },
	sai.KindPointer:  func(text string) error { return matches(hexText, text) },
	sai.KindChardata: chardata,
	sai.KindU16Range: pair(mostU16),
	sai.KindU32Range: pair(mostU32),
	sai.KindTimespec: pair(mostU64),
}

func boolean(text string) error {
	if text != "true" && text != "false" {
		return fmt.Errorf("neither true nor false")
	}
	return nil
}

func within(min, max string) func(string) error {
	return func(text string) error { return number(text, min, max) }
}

func pair(max string) func(string) error {
	return func(text string) error {
		a, b, ok := strings.Cut(text, ",")
		if !ok || number(a, "0", max) != nil {
			return fmt.Errorf("%q is no min,max", text)
		}
		return number(b, "0", max)
	}
}

func chardata(text string) error {
	if n := len(charItem.FindAllString(text, -1)); n > 32 {
		return fmt.Errorf("%d characters", n)
	}
	return matches(charText, text)
}

// list checks count:item,item. A placeholder has at least one item.
func list(text string, get bool, item func(string) error) error {
	count, rest, ok := strings.Cut(text, ":")
	if !ok || matches(decimalText, count) != nil {
		return fmt.Errorf("no list")
	}
	if count == "0" {
		if rest != "null" || get {
			return fmt.Errorf("empty list %q", text)
		}
		return nil
	}
	items := strings.Split(rest, ",")
	if fmt.Sprint(len(items)) != count {
		return fmt.Errorf("%d items, the count is %s", len(items), count)
	}
	for _, i := range items {
		if err := item(i); err != nil {
			return err
		}
	}
	return nil
}

// rangeList checks a list whose items contain a comma.
func rangeList(text string, get bool, item func(string) error) error {
	_, rest, _ := strings.Cut(text, ":")
	words := strings.Split(rest, ",")
	for i := 0; rest != "null" && i < len(words); i += 2 {
		if i+1 == len(words) {
			return fmt.Errorf("half a range")
		}
		if err := item(words[i] + "," + words[i+1]); err != nil {
			return err
		}
	}
	count, _, _ := strings.Cut(text, ":")
	n := len(words) / 2
	if rest == "null" {
		n = 0
	}
	if fmt.Sprint(n) != count || get && n == 0 {
		return fmt.Errorf("%d ranges, the count is %s", n, count)
	}
	return nil
}

func resources(text string) error {
	var r struct {
		Count int                 `json:"count"`
		List  []map[string]string `json:"list"`
	}
	if err := json.Unmarshal([]byte(text), &r); err != nil || r.Count != len(r.List) || r.Count == 0 {
		return fmt.Errorf("%d resources, the count is %d: %w", len(r.List), r.Count, cmp.Or(err, errForm))
	}
	for _, m := range r.List {
		if len(m) != 3 || number(m["avail_num"], "0", mostU32) != nil ||
			!strings.HasPrefix(m["bind_point"], "SAI_ACL_BIND_POINT_TYPE_") || !strings.HasPrefix(m["stage"], "SAI_ACL_STAGE_") {
			return fmt.Errorf("resource %v", m)
		}
	}
	return nil
}

// qosMap checks a QoS map: every parameter must be there, as SONiC's parser requires. A placeholder has at least one
// entry.
func qosMap(text string, get bool) error {
	var j struct {
		Count int                         `json:"count"`
		List  []map[string]map[string]any `json:"list"`
	}
	if err := json.Unmarshal([]byte(text), &j); err != nil || j.Count != len(j.List) || get && j.Count == 0 {
		return fmt.Errorf("%d entries, the count is %d: %w", len(j.List), j.Count, cmp.Or(err, errForm))
	}
	for _, e := range j.List {
		for _, side := range []string{"key", "value"} {
			for _, f := range []string{"tc", "dscp", "dot1p", "prio", "pg", "qidx"} {
				if n, ok := e[side][f].(float64); !ok || n < 0 || n > 255 {
					return fmt.Errorf("%s of %s is %v", f, side, e[side][f])
				}
			}
			if c, _ := e[side]["color"].(string); !strings.HasPrefix(c, "SAI_PACKET_COLOR_") {
				return fmt.Errorf("color of %s is %v", side, e[side]["color"])
			}
		}
	}
	return nil
}

// enumWord checks an enum: one of its names, or a number. Flags are joined with |.
func enumWord(e *sai.EnumMeta, text string) error {
	if signedText.MatchString(text) {
		return number(text, "-2147483648", "2147483647")
	}
	if e == nil {
		return fmt.Errorf("%q is no number", text)
	}
	words := []string{text}
	if e.Strict {
		if text == "0x0" {
			return nil
		}
		words = strings.Split(text, "|")
	}
	for _, w := range words {
		if _, ok := e.Value(w); !ok {
			return fmt.Errorf("%q is no value of %s", w, e.Name)
		}
	}
	return nil
}

// existing checks the id of an existing object, or of the null object if null is set.
func (s *Strict) existing(text string, null bool) error {
	if err := matches(oidText, text); err != nil {
		return err
	}
	if text == "oid:0x0" && null || s.VIDs[text] {
		return nil
	}
	return fmt.Errorf("object %s does not exist", text)
}

// ip checks an address of a family, 4, 6 or either.
func ip(text string, family int) error {
	a, err := netip.ParseAddr(text)
	switch {
	case err != nil:
		return err
	case a.Zone() != "":
		return fmt.Errorf("%s has a zone", text)
	case family == 4 && !a.Is4(), family == 6 && !a.Is6():
		return fmt.Errorf("%s is not of IPv%d", text, family)
	}
	return nil
}
