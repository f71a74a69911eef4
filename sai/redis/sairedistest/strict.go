// Package sairedistest parses the requests of a client of ASIC_DB as strictly as SONiC's syncd does. It also writes
// views as text that is equal for equal configurations. It is a test kit: only tests may import it.
package sairedistest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tamtam/sai"
	"tamtam/swss"
)

// errForm is the error of valid JSON in a wrong form.
var errForm = errors.New("not of the form that syncd wants")

// A Strict parses requests as strictly as the documentation of SONiC's syncd allows: an error reports something that
// could stop it. Except for names and their types it shares no code with the code under test.
type Strict struct {
	VIDs     map[string]bool     // objects that exist, as text
	Children map[string][]string // objects that are removed with a port, by port
}

// NewStrict returns a parser without objects.
func NewStrict() *Strict { return &Strict{VIDs: map[string]bool{}, Children: map[string][]string{}} }

var (
	oidText     = regexp.MustCompile(`^oid:0x(0|[1-9a-f][0-9a-f]{0,15})$`)
	decimalText = regexp.MustCompile(`^(0|[1-9][0-9]*)$`)
	signedText  = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)
	hexText     = regexp.MustCompile(`^0x(0|[1-9a-f][0-9a-f]{0,15})$`)
	macText     = regexp.MustCompile(`^[0-9A-F]{2}(:[0-9A-F]{2}){5}$`)
	charText    = regexp.MustCompile(`^([0-9A-Za-z]|\\\\|\\x[0-9A-F]{2})*$`)
	charItem    = regexp.MustCompile(`\\\\|\\x..|.`)
	groupText   = regexp.MustCompile(`^[A-Za-z0-9_]+$`)
	entryText   = regexp.MustCompile(`^\{("[a-z_]+":"[^"\\ ]*",)*"[a-z_]+":"[^"\\ ]*"\}$`)
)

// A Parsed is a decoded request.
type Parsed struct {
	Op    string
	Type  string        // the type of the objects
	IDs   []string      // ids of the objects in the request
	Pairs [][][2]string // attributes of each object
}

// Request decodes one request.
func (s *Strict) Request(e swss.Entry) (Parsed, error) {
	p := Parsed{Op: strings.TrimPrefix(strings.TrimPrefix(e.Op, "S"), "D")}
	if letter := e.Op[:1]; (letter == "D") != (p.Op == "remove") || letter != "D" && letter != "S" {
		return p, fmt.Errorf("letter of %s", e.Op)
	}
	for _, c := range []byte(e.Key + e.Body) {
		if c < 0x20 || c > 0x7e {
			return p, fmt.Errorf("byte %#x", c)
		}
	}
	if p.Op == "remove" {
		if e.Body != "{}" {
			return p, fmt.Errorf("remove with the body %s", e.Body)
		}
		return p, s.one(&p, e.Key, nil)
	}
	pairs, err := body(e.Body)
	if err != nil {
		return p, err
	}
	switch p.Op {
	case "create", "set", "get":
		return p, s.one(&p, e.Key, pairs)
	case "bulkcreate", "bulkset", "bulkremove":
		return p, s.bulk(&p, e.Key, pairs)
	case "notify":
		if e.Key != "INIT_VIEW" && e.Key != "APPLY_VIEW" || len(pairs) > 0 {
			return p, fmt.Errorf("notify %s", e.Key)
		}
		return p, nil
	case "get_stats", "clear_stats":
		return p, s.stats(&p, e.Key, pairs)
	case "flush":
		if t, id, _ := strings.Cut(e.Key, ":"); t != "SAI_OBJECT_TYPE_FDB_FLUSH" || !s.VIDs[id] {
			return p, fmt.Errorf("flush of %s", e.Key)
		}
		return p, s.attrs("SAI_OBJECT_TYPE_FDB_FLUSH", pairs, false)
	case "start_poll", "stop_poll":
		return p, s.poll(p.Op, e.Key, pairs)
	case "set_counter_group", "del_counter_group":
		return p, group(p.Op, e.Key, pairs)
	}
	return p, s.query(p.Op, e.Key, pairs)
}

// body decodes a list of fields and values.
func body(text string) ([][2]string, error) {
	var words []string
	if err := json.Unmarshal([]byte(text), &words); err != nil || !strings.HasPrefix(text, "[") || len(words)%2 != 0 {
		return nil, fmt.Errorf("body: %w", cmp.Or(err, errForm))
	}
	var pairs [][2]string
	for i := 0; i < len(words); i += 2 {
		pairs = append(pairs, [2]string{words[i], words[i+1]})
	}
	return pairs, nil
}

func objectType(name string) (*sai.TypeMeta, error) {
	t, ok := sai.LookupObjectType(name)
	if !ok || t.String() != name || sai.ObjectMeta(t) == nil {
		return nil, fmt.Errorf("unknown object type %q", name)
	}
	return sai.ObjectMeta(t), nil
}

// one decodes a request for one object.
func (s *Strict) one(p *Parsed, key string, pairs [][2]string) error {
	t, id, _ := strings.Cut(key, ":")
	p.Type, p.IDs, p.Pairs = t, []string{id}, [][][2]string{pairs}
	return s.object(p.Op, t, id, pairs)
}

// object checks a request for one object.
func (s *Strict) object(op, t, id string, pairs [][2]string) error {
	tm, err := objectType(t)
	if err != nil {
		return err
	}
	if err := s.id(op, tm, id); err != nil {
		return err
	}
	switch {
	case t == "SAI_OBJECT_TYPE_FDB_FLUSH":
		return fmt.Errorf("there are no objects of %s", t)
	case op == "remove":
		if t == "SAI_OBJECT_TYPE_SWITCH" {
			return fmt.Errorf("remove of the switch")
		}
		return nil
	case op == "set" && len(pairs) != 1, len(pairs) == 0:
		return fmt.Errorf("%d attributes", len(pairs))
	case op == "create" && len(pairs) == 1 && pairs[0] == [2]string{"NULL", "NULL"}:
		return nil
	}
	return s.attrs(t, pairs, op == "get")
}

// id checks the part of a key that names the object.
func (s *Strict) id(op string, tm *sai.TypeMeta, id string) error {
	if !tm.IsOID {
		return s.entry(tm, id)
	}
	if !oidText.MatchString(id) {
		return fmt.Errorf("object id %q", id)
	}
	n, _ := strconv.ParseUint(id[len("oid:0x"):], 16, 64)
	switch {
	case op != "create":
		if !s.VIDs[id] {
			return fmt.Errorf("object %s does not exist", id)
		}
	case n>>56 != 0 || n>>48&0xff != uint64(tm.Type) || n>>39&0x1ff != 0 || tm.Type != sai.ObjectTypeSwitch && n<<25 == 0:
		return fmt.Errorf("%s is no virtual id of %s", id, tm.Name)
	case s.VIDs[id] && tm.Type != sai.ObjectTypeSwitch:
		return fmt.Errorf("%s is created twice", id)
	}
	return nil
}

// entry checks the key of an object without an object id.
func (s *Strict) entry(tm *sai.TypeMeta, id string) error {
	var members map[string]string
	if err := json.Unmarshal([]byte(id), &members); err != nil || !entryText.MatchString(id) {
		return fmt.Errorf("entry %s: %w", id, cmp.Or(err, errForm))
	}
	at := -1
	var names []string
	for name, v := range members {
		names = append(names, name)
		var err error
		switch name {
		case "switch_id", "bvid", "rif", "vr":
			err = s.existing(v, false)
		case "mac":
			err = matches(macText, v)
		case "ip":
			err = ip(v, 0)
		case "dest":
			addr, bits, _ := strings.Cut(v, "/")
			if err = ip(addr, 0); err == nil {
				_, err = netip.ParsePrefix(addr + "/" + bits)
			}
		default:
			err = fmt.Errorf("unknown member")
		}
		if err != nil {
			return fmt.Errorf("entry %s: %s: %w", id, name, err)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		i := strings.Index(id, `"`+name+`":`)
		if i < at {
			return fmt.Errorf("entry %s: not in alphabetical order", id)
		}
		at = i
	}
	want := map[sai.ObjectType]string{
		sai.ObjectTypeFDBEntry: "bvid mac switch_id", sai.ObjectTypeNeighborEntry: "ip rif switch_id",
		sai.ObjectTypeRouteEntry: "dest switch_id vr",
	}
	if strings.Join(names, " ") != want[tm.Type] {
		return fmt.Errorf("entry %s of %s", id, tm.Name)
	}
	return nil
}

// bulk decodes a request for several objects.
func (s *Strict) bulk(p *Parsed, key string, pairs [][2]string) error {
	t, count, _ := strings.Cut(key, ":")
	p.Type = t
	if n, err := strconv.Atoi(count); err != nil || n != len(pairs) || n == 0 || !decimalText.MatchString(count) {
		return fmt.Errorf("%s for %d objects", key, len(pairs))
	}
	seen := map[string]bool{}
	for _, o := range pairs {
		var attrs [][2]string
		for _, item := range strings.Split(o[1], "|") {
			if p.Op == "bulkremove" {
				if item != "" {
					return fmt.Errorf("remove with attributes %q", o[1])
				}
				continue
			}
			name, v, ok := strings.Cut(item, "=")
			if !ok {
				return fmt.Errorf("%q", o[1])
			}
			attrs = append(attrs, [2]string{name, v})
		}
		if p.Op == "bulkcreate" && seen[o[0]] {
			return fmt.Errorf("%s twice", o[0])
		}
		seen[o[0]] = true
		p.IDs, p.Pairs = append(p.IDs, o[0]), append(p.Pairs, attrs)
		if err := s.object(strings.TrimPrefix(p.Op, "bulk"), t, o[0], attrs); err != nil {
			return err
		}
	}
	return nil
}

func (s *Strict) stats(p *Parsed, key string, pairs [][2]string) error {
	t, id, _ := strings.Cut(key, ":")
	p.Type, p.IDs, p.Pairs = t, []string{id}, [][][2]string{pairs}
	tm, err := objectType(t)
	if err != nil {
		return err
	}
	if err := s.id("get", tm, id); err != nil {
		return err
	}
	for _, f := range pairs {
		if stat, ok := sai.LookupStat(f[0]); !ok || stat.ObjectType() != tm.Type || f[1] != "" {
			return fmt.Errorf("statistic %q of %s", f, t)
		}
	}
	if len(pairs) == 0 {
		return fmt.Errorf("no statistic")
	}
	return nil
}

func (s *Strict) poll(op, key string, pairs [][2]string) error {
	g, ids, _ := strings.Cut(key, ":")
	if !groupText.MatchString(g) {
		return fmt.Errorf("group %q", g)
	}
	for _, id := range strings.Split(ids, ",") {
		if err := matches(oidText, id); err != nil {
			return err
		}
		if op == "start_poll" && !s.VIDs[id] {
			return fmt.Errorf("object %s does not exist", id)
		}
	}
	if op == "stop_poll" {
		if len(pairs) != 0 {
			return fmt.Errorf("fields %q", pairs)
		}
		return nil
	}
	if len(pairs) != 1 {
		return fmt.Errorf("fields %q", pairs)
	}
	field := pairs[0][0]
	for _, name := range strings.Split(pairs[0][1], ",") {
		stat, isStat := sai.LookupStat(name)
		attr, isAttr := sai.LookupAttr(name)
		counted, known := statLists[field]
		ok := known && isStat && stat.ObjectType() == counted
		if field == "ACL_COUNTER_ATTR_ID_LIST" {
			ok = isAttr && attr.ObjectType() == sai.ObjectTypeACLCounter
		}
		if !ok {
			return fmt.Errorf("counter %q in %s", name, field)
		}
	}
	return nil
}

// statLists maps the fields that list statistics to be polled to their object types.
var statLists = map[string]sai.ObjectType{
	"PORT_COUNTER_ID_LIST":        sai.ObjectTypePort,
	"SWITCH_COUNTER_ID_LIST":      sai.ObjectTypeSwitch,
	"QUEUE_COUNTER_ID_LIST":       sai.ObjectTypeQueue,
	"PG_COUNTER_ID_LIST":          sai.ObjectTypeIngressPriorityGroup,
	"BUFFER_POOL_COUNTER_ID_LIST": sai.ObjectTypeBufferPool,
	"RIF_COUNTER_ID_LIST":         sai.ObjectTypeRouterInterface,
	"POLICER_COUNTER_ID_LIST":     sai.ObjectTypePolicer,
}

func group(op, key string, pairs [][2]string) error {
	if err := matches(groupText, key); err != nil || (op == "del_counter_group") != (len(pairs) == 0) {
		return fmt.Errorf("%s %q: %w", op, pairs, cmp.Or(err, errForm))
	}
	for _, f := range pairs {
		ok := false
		switch f[0] {
		case "POLL_INTERVAL":
			ok = decimalText.MatchString(f[1]) && f[1] != "0"
		case "STATS_MODE":
			ok = f[1] == "STATS_MODE_READ" || f[1] == "STATS_MODE_READ_AND_CLEAR"
		case "FLEX_COUNTER_STATUS":
			ok = f[1] == "enable" || f[1] == "disable"
		}
		if !ok {
			return fmt.Errorf("field %q", f)
		}
	}
	return nil
}

// query decodes a capability query.
func (s *Strict) query(op, key string, pairs [][2]string) error {
	if !s.VIDs[key] {
		return fmt.Errorf("%s of %s, which does not exist", op, key)
	}
	fields := map[string]string{}
	for _, f := range pairs {
		fields[f[0]] = f[1]
	}
	tm, err := objectType(fields["OBJECT_TYPE"])
	if err != nil {
		return err
	}
	want := map[string][]string{
		"attribute_capability_query":        {"OBJECT_TYPE", "ATTR_ID"},
		"attr_enum_values_capability_query": {"OBJECT_TYPE", "ATTR_ID", "LIST_SIZE"},
		"stats_capability_query":            {"OBJECT_TYPE", "LIST_SIZE"},
	}[op]
	if op == "object_type_get_availability_query" {
		if last := len(pairs) - 1; pairs[last][0] == "OBJECT_TYPE" {
			return s.attrs(tm.Name, pairs[:last], false)
		}
	}
	if len(pairs) != len(want) || want == nil {
		return fmt.Errorf("%s with %q", op, pairs)
	}
	for i, f := range pairs {
		ok := f[0] == want[i]
		switch f[0] {
		case "ATTR_ID":
			id, known := sai.LookupAttr(f[1])
			ok = ok && known && id.ObjectType() == tm.Type
		case "LIST_SIZE":
			ok = ok && decimalText.MatchString(f[1]) && f[1] != "0"
		}
		if !ok {
			return fmt.Errorf("%s with %q", op, pairs)
		}
	}
	return nil
}

// Answered records the changes of a successful request for its i-th object.
func (s *Strict) Answered(p Parsed, i int) {
	switch strings.TrimPrefix(p.Op, "bulk") {
	case "create":
		if strings.HasPrefix(p.IDs[i], "oid:") {
			s.VIDs[p.IDs[i]] = true
		}
	case "remove":
		delete(s.VIDs, p.IDs[i])
		for _, child := range s.Children[p.IDs[i]] {
			delete(s.VIDs, child)
		}
	}
}

func matches(re *regexp.Regexp, text string) error {
	if !re.MatchString(text) {
		return fmt.Errorf("%q is not %s", text, re)
	}
	return nil
}
