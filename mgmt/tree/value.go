package tree

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/goyang/pkg/yang"
	"github.com/openconfig/ygot/util"
	"github.com/openconfig/ygot/ytypes"
)

// Values are in YANG's canonical text throughout. These functions check them against the leaf's type and convert them
// for the encodings.

func supported(t *yang.YangType) bool {
	switch t.Kind {
	case yang.Yunion:
		return !slices.ContainsFunc(t.Type, func(m *yang.YangType) bool { return !supported(m) })
	case yang.Ystring, yang.Ybool, yang.Yenum, yang.Yidentityref, yang.Ydecimal64:
		return true
	}
	return signed(t) || unsigned(t)
}

func signed(t *yang.YangType) bool {
	return t.Kind >= yang.Yint8 && t.Kind <= yang.Yint64
}

func unsigned(t *yang.YangType) bool {
	return t.Kind >= yang.Yuint8 && t.Kind <= yang.Yuint64
}

// bits returns the width of an integer type.
func bits(t *yang.YangType) int {
	switch t.Kind {
	case yang.Yint8, yang.Yuint8:
		return 8
	case yang.Yint16, yang.Yuint16:
		return 16
	case yang.Yint32, yang.Yuint32:
		return 32
	}
	return 64
}

// A stringLimit is the restrictions of a string type. Its patterns are compiled once, because many strings of the
// databases are checked per request, and not before the first string.
type stringLimit struct {
	length   *yang.YangType // the type without its patterns
	patterns []func() *regexp.Regexp
}

// limitStrings adds the restrictions of the string types within a type. ready holds the patterns found so far.
func limitStrings(
	limits map[*yang.YangType]*stringLimit, t *yang.YangType, ready map[string]func() *regexp.Regexp,
) {
	for _, m := range t.Type {
		limitStrings(limits, m, ready)
	}
	if t.Kind != yang.Ystring || len(t.Length)+len(t.Pattern)+len(t.POSIXPattern) == 0 {
		return
	}
	l := &stringLimit{length: &yang.YangType{Kind: t.Kind, Length: t.Length}}
	compile, kind := regexp.MustCompile, "" // the patterns are those of the program
	patterns, posix := util.SanitizedPattern(t)
	if posix {
		compile, kind = regexp.MustCompilePOSIX, "posix "
	}
	for _, p := range patterns {
		re := ready[kind+p]
		if re == nil {
			re = sync.OnceValue(func() *regexp.Regexp { return compile(p) })
			ready[kind+p] = re
		}
		l.patterns = append(l.patterns, re)
	}
	limits[t] = l
}

// check refuses a text that the type does not allow. A nil limit allows everything.
func (l *stringLimit) check(text string) error {
	if l == nil {
		return nil
	}
	if err := ytypes.ValidateStringRestrictions(l.length, text); err != nil {
		return err
	}
	for _, pattern := range l.patterns {
		if re := pattern(); !re.MatchString(text) {
			return fmt.Errorf("%q does not match regular expression pattern %q", text, re)
		}
	}
	return nil
}

// canonical checks text against a type and returns it in canonical form.
func (n *Node) canonical(t *yang.YangType, text string) (string, error) {
	if unsigned(t) || signed(t) {
		return canonicalInteger(t, text)
	}
	switch t.Kind {
	case yang.Ystring:
		if !utf8.ValidString(text) {
			return "", fmt.Errorf("%s is no UTF-8", Quoted(text))
		}
		if err := n.strings[t].check(text); err != nil {
			return "", errors.New(strings.Replace(err.Error(), strconv.Quote(text), Quoted(text), 1))
		}
		return text, nil
	case yang.Ybool:
		if text != "true" && text != "false" {
			return "", fmt.Errorf("%s is neither true nor false", Quoted(text))
		}
		return text, nil
	case yang.Yenum, yang.Yidentityref:
		return n.word(text)
	case yang.Ydecimal64:
		return decimal(t, text)
	case yang.Yunion:
		return n.ofUnion(t, text)
	}
	return "", fmt.Errorf("type %s is not supported", t.Kind)
}

// ofUnion returns the canonical form by the first type of a union for which text is valid.
func (n *Node) ofUnion(t *yang.YangType, text string) (string, error) {
	var first error
	for _, m := range t.Type {
		v, err := n.canonical(m, text)
		if err == nil {
			return v, nil
		}
		if first == nil {
			first = err
		}
	}
	return "", first
}

// canonicalInteger checks a number against an integer type.
func canonicalInteger(t *yang.YangType, text string) (canonical string, err error) {
	var room [20]byte
	if unsigned(t) {
		var v uint64
		if v, err = strconv.ParseUint(text, 10, bits(t)); err == nil {
			err = ytypes.ValidateUintRestrictions(t, v)
		}
		canonical = sameText(strconv.AppendUint(room[:0], v, 10), text)
	} else {
		var v int64
		if v, err = strconv.ParseInt(text, 10, bits(t)); err == nil {
			err = ytypes.ValidateIntRestrictions(t, v)
		}
		canonical = sameText(strconv.AppendInt(room[:0], v, 10), text)
	}
	if err != nil {
		return "", fmt.Errorf("%s is no number in %s", Quoted(text), t.Range)
	}
	return canonical, nil
}

// sameText returns a text as a string; it returns is, without a new allocation, if the two are equal.
func sameText(text []byte, is string) string {
	if string(text) == is {
		return is
	}
	return string(text)
}

// decimal rounds to the type's fraction digits. The canonical form (RFC 7950, section 9.3.2) has at least one digit on
// both sides of the point.
func decimal(t *yang.YangType, text string) (string, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err == nil && !(math.Abs(v) < math.MaxInt64/math.Pow10(t.FractionDigits)) {
		err = strconv.ErrRange // the value is too large, or not a number
	}
	out := strconv.FormatFloat(v, 'f', t.FractionDigits, 64)
	if err == nil && len(t.Range) > 0 {
		v, _ = strconv.ParseFloat(out, 64)
		err = ytypes.ValidateDecimalRestrictions(t, v)
	}
	if err != nil {
		return "", fmt.Errorf("%s is no number in %s with %d digits behind the point", Quoted(text), t.Range,
			t.FractionDigits)
	}
	out = strings.TrimRight(out, "0")
	if strings.HasSuffix(out, ".") {
		out += "0"
	}
	if out == "-0.0" {
		out = "0.0"
	}
	return out, nil
}

// word checks an enumeration's word or an identity, with or without the name of its module.
func (n *Node) word(text string) (string, error) {
	name := text
	if n.Type.Kind == yang.Yidentityref || n.Type.Kind == yang.Yunion {
		if mod, rest, ok := strings.Cut(text, ":"); ok && n.Enum[rest] == mod {
			name = rest
		}
	}
	if _, ok := n.Enum[name]; ok {
		return name, nil
	}
	return "", fmt.Errorf("%s is none of %s", Quoted(text), strings.Join(slices.Sorted(maps.Keys(n.Enum)), ", "))
}

// Check returns text in canonical form.
func (n *Node) Check(text string) (string, error) { return n.canonical(n.Type, text) }

// FromJSON returns a value from decoded JSON (numbers as json.Number).
func (n *Node) FromJSON(v any) ([]string, error) {
	if !n.LeafList {
		text, err := n.scalarFromJSON(n.Type, v)
		if err != nil {
			return nil, err
		}
		return []string{text}, nil
	}
	list, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("a leaf-list is a JSON array")
	}
	out := make([]string, 0, len(list))
	for _, e := range list {
		text, err := n.scalarFromJSON(n.Type, e)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out, nil
}

func (n *Node) scalarFromJSON(t *yang.YangType, v any) (string, error) {
	if t.Kind == yang.Yunion {
		var first error
		for _, m := range t.Type {
			text, err := n.scalarFromJSON(m, v)
			if err == nil {
				return text, nil
			}
			if first == nil {
				first = err
			}
		}
		return "", first
	}
	integer := signed(t) || unsigned(t)
	switch v := v.(type) {
	case json.Number:
		if integer || t.Kind == yang.Ydecimal64 {
			return n.canonical(t, v.String())
		}
	case string:
		if t.Kind != yang.Ybool && (!integer || bits(t) == 64) {
			return n.canonical(t, v)
		}
	case bool:
		if t.Kind == yang.Ybool {
			return strconv.FormatBool(v), nil
		}
	}
	return "", fmt.Errorf("%s is no JSON value of type %s", JSONWords(v), t.Kind)
}

// JSONWords returns a decoded value as text for an error.
func JSONWords(v any) string {
	b, err := json.Marshal(v)
	if err != nil || len(b) > 40 {
		return fmt.Sprintf("a %T", v)
	}
	return string(b)
}

// FromScalar returns a value from a TypedValue that is not JSON.
func (n *Node) FromScalar(tv *gpb.TypedValue) ([]string, error) {
	if list, ok := tv.GetValue().(*gpb.TypedValue_LeaflistVal); ok {
		if !n.LeafList {
			return nil, fmt.Errorf("a leaf is no list")
		}
		var out []string
		for _, e := range list.LeaflistVal.GetElement() {
			text, err := n.oneScalar(e)
			if err != nil {
				return nil, err
			}
			if !slices.Contains(out, text) {
				out = append(out, text)
			}
		}
		return out, nil
	}
	text, err := n.oneScalar(tv)
	if err != nil {
		return nil, err
	}
	return []string{text}, nil
}

func (n *Node) oneScalar(tv *gpb.TypedValue) (string, error) {
	integer := signed(n.Type) || unsigned(n.Type)
	union := n.Type.Kind == yang.Yunion
	text, takes := "", false
	switch v := tv.GetValue().(type) {
	case *gpb.TypedValue_StringVal:
		text, takes = v.StringVal, !integer && n.Type.Kind != yang.Ybool
	case *gpb.TypedValue_UintVal:
		text, takes = strconv.FormatUint(v.UintVal, 10), integer || union
	case *gpb.TypedValue_IntVal:
		text, takes = strconv.FormatInt(v.IntVal, 10), integer || union
	case *gpb.TypedValue_DoubleVal:
		text, takes = strconv.FormatFloat(v.DoubleVal, 'g', -1, 64), n.Type.Kind == yang.Ydecimal64 || union
	case *gpb.TypedValue_BoolVal:
		text, takes = strconv.FormatBool(v.BoolVal), n.Type.Kind == yang.Ybool
	}
	if !takes {
		kind := strings.TrimPrefix(fmt.Sprintf("%T", tv.GetValue()), "*gnmi.TypedValue_")
		return "", fmt.Errorf("a %s is no value of type %s", kind, n.Type.Kind)
	}
	return n.Check(text)
}

// member returns the first member type of the union t that accepts text. It returns t itself if t is not a union, or if
// no member accepts text.
func (n *Node) member(t *yang.YangType, text string) *yang.YangType {
	if t.Kind != yang.Yunion {
		return t
	}
	for _, m := range t.Type {
		if _, err := n.canonical(m, text); err == nil {
			return n.member(m, text)
		}
	}
	return t
}

// appendJSON appends a value of the leaf.
func (n *Node) appendJSON(dst []byte, v []string, ietf bool) []byte {
	if !n.LeafList {
		return n.appendScalar(dst, v[0], ietf)
	}
	dst = append(dst, '[')
	for i, text := range v {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = n.appendScalar(dst, text, ietf)
	}
	return append(dst, ']')
}

func (n *Node) appendScalar(dst []byte, text string, ietf bool) []byte {
	t := n.member(n.Type, text)
	switch {
	case t.Kind == yang.Ybool, t.Kind == yang.Ydecimal64 && !ietf, (signed(t) || unsigned(t)) && (bits(t) < 64 || !ietf):
		return append(dst, text...)
	case t.Kind == yang.Yidentityref && ietf:
		text = n.Enum[text] + ":" + text
	}
	return appendString(dst, text)
}

func appendString(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			b, err := json.Marshal(s)
			if err != nil {
				return append(dst, `""`...)
			}
			return append(dst, b...)
		}
	}
	dst = append(dst, '"')
	dst = append(dst, s...)
	return append(dst, '"')
}

// Typed returns a value of the leaf in an encoding.
func (n *Node) Typed(v []string, enc gpb.Encoding) *gpb.TypedValue {
	switch enc {
	case gpb.Encoding_JSON:
		return &gpb.TypedValue{Value: &gpb.TypedValue_JsonVal{JsonVal: n.appendJSON(nil, v, false)}}
	case gpb.Encoding_JSON_IETF:
		return &gpb.TypedValue{Value: &gpb.TypedValue_JsonIetfVal{JsonIetfVal: n.appendJSON(nil, v, true)}}
	}
	if !n.LeafList {
		return n.scalar(v[0])
	}
	list := &gpb.ScalarArray{}
	for _, text := range v {
		list.Element = append(list.Element, n.scalar(text))
	}
	return &gpb.TypedValue{Value: &gpb.TypedValue_LeaflistVal{LeaflistVal: list}}
}

func (n *Node) scalar(text string) *gpb.TypedValue {
	t := n.member(n.Type, text)
	switch {
	case unsigned(t):
		if v, err := strconv.ParseUint(text, 10, 64); err == nil {
			return &gpb.TypedValue{Value: &gpb.TypedValue_UintVal{UintVal: v}}
		}
	case signed(t):
		if v, err := strconv.ParseInt(text, 10, 64); err == nil {
			return &gpb.TypedValue{Value: &gpb.TypedValue_IntVal{IntVal: v}}
		}
	case t.Kind == yang.Ydecimal64:
		if v, err := strconv.ParseFloat(text, 64); err == nil {
			return &gpb.TypedValue{Value: &gpb.TypedValue_DoubleVal{DoubleVal: v}}
		}
	case t.Kind == yang.Ybool:
		return &gpb.TypedValue{Value: &gpb.TypedValue_BoolVal{BoolVal: text == "true"}}
	}
	return &gpb.TypedValue{Value: &gpb.TypedValue_StringVal{StringVal: text}}
}
