package profile

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
)

//go:embed profiles/*.json
var files embed.FS

// maxFile bounds a profile file: 64 KiB, ten times the usual size.
const maxFile = 64 << 10

// maxMbps is the fastest port: 6.4 Tb/s.
const maxMbps = 6_400_000

// defaultName is the profile to which "default" refers.
const defaultName = "rmt12"

// Names returns the names of the built-in profiles, in order. "default" is another name for one of them.
func Names() []string {
	entries, _ := files.ReadDir("profiles")
	names := []string{"default"}
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".json"))
	}
	slices.Sort(names)
	return names
}

// Load returns the profile with that name, or the one in the file. An argument with a "/" or a "." is a file.
func Load(nameOrFile string) (Profile, error) {
	if strings.ContainsAny(nameOrFile, "/.") {
		return readProfile(nameOrFile)
	}
	text, ok := shippedFile(nameOrFile)
	if !ok {
		return Profile{}, fmt.Errorf("profile %q: want one of %s, or a file", nameOrFile, strings.Join(Names(), ", "))
	}
	return Parse(text)
}

func readProfile(path string) (Profile, error) {
	f, err := os.Open(path)
	if err != nil {
		return Profile{}, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return Profile{}, fmt.Errorf("%s: %w", path, err)
	}
	p, err := Parse(text)
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return p, err
}

func shippedFile(name string) ([]byte, bool) {
	if name == "default" {
		name = defaultName
	}
	text, err := files.ReadFile("profiles/" + name + ".json")
	return text, err == nil
}

// shipped returns a built-in profile. Tests check that all are valid.
func shipped(name string) Profile {
	p, err := Load(name)
	if err != nil {
		panic(err)
	}
	return p
}

// A field is one line of a profile file. Exactly one of the pointers, or sub, is set.
type field struct {
	name     string
	u32      *uint32
	u64      *uint64
	text     *string
	list     *[]uint32
	ports    *[]DefaultPorts
	sub      []field
	min, max uint64
	optional bool // the value is zero if the field is missing
}

// fields returns all lines of a profile file in the order in which they are written, with the range of each number.
func (p *Profile) fields() []field {
	num := func(name string, at *uint32, min, max uint64) field {
		return field{name: name, u32: at, min: min, max: max}
	}
	objects := func(name string, at *uint32) field { return num(name, at, 0, 1<<20) }
	s, a := &p.Stage, &p.ACL
	return []field{
		{name: "name", text: &p.Name},
		{name: "about", text: &p.About, optional: true},
		{name: "clock_hz", u64: &p.ClockHz, min: 1, max: 8_000_000_000},
		num("first_lane", &p.FirstLane, 0, MaxLanes-1),
		num("lanes", &p.Lanes, 1, MaxLanes),
		num("lane_mbps", &p.LaneMbps, 1, maxMbps),
		{name: "speeds_mbps", list: &p.SpeedsMbps},
		{name: "default_ports", ports: &p.Default},
		num("mtu_bytes", &p.MTU, 64, 16383),
		{name: "pipeline", sub: []field{
			num("parser_cycles", &p.Parser, 1, 1<<16),
			num("ingress_stages", &p.IngressStages, 1, 64),
			num("egress_stages", &p.EgressStages, 1, 64),
			num("stage_cycles", &p.StageCycles, 1, 1<<16),
			num("traffic_manager_cycles", &p.TrafficManager, 0, 1<<16),
			num("deparser_cycles", &p.Deparser, 1, 1<<16),
		}},
		num("phv_bits", &p.PHVBits, 0, 1<<16),
		{name: "stage", sub: []field{
			num("hash_units", &s.HashUnits, 0, 64), num("hash_bits", &s.HashBits, 0, 64),
			num("stateful_alus", &s.StatefulALUs, 0, 64),
			num("sram_blocks", &s.SRAMBlocks, 0, 512), num("sram_block_bits", &s.SRAMBits, 0, 1<<22),
			num("tcam_blocks", &s.TCAMBlocks, 0, 512), num("tcam_block_entries", &s.TCAMEntries, 0, 1<<16),
			num("tcam_bits", &s.TCAMBits, 0, 1024),
			num("vliw_slots", &s.VLIWSlots, 0, 1024), num("tables", &s.Tables, 0, 256),
		}},
		{name: "buffer", sub: []field{
			num("cell_bytes", &p.Buffer.CellBytes, 1, 16384), num("cells", &p.Buffer.Cells, 1, 1<<26),
		}},
		num("queues_per_port", &p.Queues, 1, 16),
		{name: "acl", sub: []field{
			objects("tables", &a.Tables), objects("groups", &a.Groups), objects("entries", &a.Entries),
			objects("table_entries", &a.TableEntries), objects("counters", &a.Counters), num("ranges", &a.Ranges, 0, 64),
			num("min_priority", &a.MinPriority, 0, 1<<31), num("max_priority", &a.MaxPriority, 0, 1<<31),
		}},
		{name: "alternate_marking", sub: []field{
			num("profiles", &p.AltMark.Profiles, 0, MarkLanes), num("flows", &p.AltMark.Flows, 0, 1<<20),
		}},
		{name: "flymon", sub: p.FlyMon.fields()},
		{name: "table_record", optional: true, sub: []field{
			num("bits", &p.TableRecord.Bits, 0, 64), num("plans", &p.TableRecord.Plans, 0, 64),
			num("sessions", &p.TableRecord.Sessions, 0, MaxMirrors),
		}},
		{name: "tables", sub: []field{
			num("fdb_entries", &p.FDB, 1, 1<<24), num("vlans", &p.VLANs, 1, 4094),
			objects("lags", &p.LAGs), objects("lag_members", &p.LAGMembers), objects("tam_ints", &p.TAMInts),
			{name: "mss_clamps", u32: &p.MSSClamps, max: 1 << 10, optional: true},
			num("virtual_routers", &p.VirtualRouters, 1, 1<<12),
			objects("router_interfaces", &p.RouterInterfaces), objects("neighbors", &p.Neighbors),
			objects("next_hops", &p.NextHops), objects("next_hop_groups", &p.NextHopGroups),
			objects("next_hop_members", &p.NextHopMembers),
			num("ipv4_routes", &p.IPv4Routes, 0, 1<<24), num("ipv6_routes", &p.IPv6Routes, 0, 1<<24),
			objects("mirror_sessions", &p.MirrorSessions), objects("schedulers", &p.Schedulers), objects("wreds", &p.WREDs),
			objects("qos_maps", &p.QoSMaps), objects("buffer_pools", &p.BufferPools),
			objects("buffer_profiles", &p.BufferProfiles),
		}},
	}
}

func (d *DefaultPorts) fields() []field {
	return []field{
		{name: "first_lane", u32: &d.First, max: MaxLanes - 1},
		{name: "count", u32: &d.Count, min: 1, max: MaxLanes},
		{name: "lanes", u32: &d.Lanes, min: 1, max: MaxLanes},
		{name: "mbps", u32: &d.Mbps, min: 1, max: maxMbps},
	}
}

// checkRanges returns an error for every number out of its range.
func checkRanges(fields []field, at string) (errs []error) {
	for _, f := range fields {
		switch {
		case f.u32 != nil:
			errs = append(errs, f.check(at, uint64(*f.u32))...)
		case f.u64 != nil:
			errs = append(errs, f.check(at, *f.u64)...)
		case f.ports != nil:
			for i := range *f.ports {
				errs = append(errs, checkRanges((*f.ports)[i].fields(), fmt.Sprintf("%s%s[%d].", at, f.name, i))...)
			}
		}
		errs = append(errs, checkRanges(f.sub, at+f.name+".")...)
	}
	return errs
}

func (f *field) check(at string, v uint64) []error {
	if v >= f.min && v <= f.max {
		return nil
	}
	return []error{fmt.Errorf("%s%s is %d, want %d to %d", at, f.name, v, f.min, f.max)}
}

// Parse parses the text of a profile file. It reports every wrong field: unknown, duplicate, of wrong type, out of
// range, contradicting others, or missing without a "base".
func Parse(text []byte) (Profile, error) {
	var p Profile
	if len(text) > maxFile {
		return p, fmt.Errorf("larger than %d KiB, which is the limit", maxFile>>10)
	}
	all, errs := members(text, "")
	if all == nil {
		return p, errors.Join(errs...)
	}
	based := false
	all = slices.DeleteFunc(all, func(m member) bool {
		if m.name != "base" {
			return false
		}
		var name string
		base, ok := []byte(nil), false
		if json.Unmarshal(m.value, &name) == nil {
			base, ok = shippedFile(name)
		}
		if !ok {
			errs = append(errs, fmt.Errorf("base is %s, want one of %s", brief(m.value), strings.Join(Names(), ", ")))
			return true
		}
		p, _ = Parse(base)
		p.About, based = "", true
		return true
	})
	errs = append(errs, apply(p.fields(), all, "", !based)...)
	if p.Name == "" || len(p.Name) > 64 {
		errs = append(errs, fmt.Errorf("name is %q, want 1 to 64 bytes", p.Name))
	}
	if err := errors.Join(errs...); err != nil {
		return p, err
	}
	if err := p.Validate(); err != nil {
		return p, err
	}
	return p, p.checkBuffer()
}

// A member is one field of a JSON object.
type member struct {
	name  string
	value json.RawMessage
}

// members splits a JSON object. A repeated field is an error. The list is nil if the text is not an object.
func members(text []byte, at string) (all []member, errs []error) {
	d := json.NewDecoder(bytes.NewReader(text))
	wrong := func(err error) ([]member, []error) {
		var syn *json.SyntaxError
		if errors.As(err, &syn) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
			line := 1 + bytes.Count(text[:min(int(d.InputOffset()), len(text))], []byte{'\n'})
			return nil, []error{fmt.Errorf("line %d: not JSON: %w", line, err)}
		}
		return nil, []error{err}
	}
	t, err := d.Token()
	if err != nil {
		return wrong(err)
	}
	if t != json.Delim('{') {
		return wrong(fmt.Errorf("%s is %s, want an object", strings.TrimSuffix(at, "."), brief(text)))
	}
	all = []member{}
	seen := map[string]bool{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return wrong(err)
		}
		m := member{name: t.(string)}
		if err := d.Decode(&m.value); err != nil {
			return wrong(err)
		}
		if seen[m.name] {
			errs = append(errs, fmt.Errorf("%s%s is there twice", at, m.name))
			continue
		}
		seen[m.name] = true
		all = append(all, m)
	}
	if _, err := d.Token(); err != nil {
		return wrong(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return wrong(errors.New("there is more behind the profile's object"))
	}
	return all, errs
}

// apply sets the fields to their values. If whole, missing fields are errors.
func apply(fields []field, all []member, at string, whole bool) (errs []error) {
	seen := map[string]bool{}
	for _, m := range all {
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == m.name })
		if i < 0 {
			errs = append(errs, fmt.Errorf("%s%s: there is no such field, want one of %s", at, m.name, fieldNames(fields)))
			continue
		}
		seen[m.name] = true
		errs = append(errs, fields[i].set(m.value, at, whole)...)
	}
	for _, f := range fields {
		if whole && !seen[f.name] && !f.optional {
			errs = append(errs, fmt.Errorf("%s%s is missing, and there is no base to take it from", at, f.name))
		}
	}
	return errs
}

func fieldNames(fields []field) string {
	var names []string
	for _, f := range fields {
		names = append(names, f.name)
	}
	return strings.Join(names, ", ")
}

func (f *field) set(value json.RawMessage, at string, whole bool) []error {
	is := func(want string) []error {
		return []error{fmt.Errorf("%s%s is %s, want %s", at, f.name, brief(value), want)}
	}
	switch {
	case f.text != nil:
		var s string
		if value[0] != '"' || json.Unmarshal(value, &s) != nil {
			return is("a text")
		}
		*f.text = s
	case f.list != nil:
		items, ok := elements(value)
		if !ok {
			return is("a list of whole numbers")
		}
		*f.list = nil
		for _, item := range items {
			n, err := strconv.ParseUint(string(item), 10, 32)
			if err != nil {
				return is("a list of whole numbers")
			}
			*f.list = append(*f.list, uint32(n))
		}
	case f.ports != nil:
		items, ok := elements(value)
		if !ok {
			return is("a list of objects")
		}
		return f.setPorts(items, at)
	case f.sub != nil:
		all, errs := members(value, at+f.name+".")
		if all == nil {
			return errs
		}
		return append(errs, apply(f.sub, all, at+f.name+".", whole)...)
	default:
		n, err := strconv.ParseUint(string(value), 10, 64)
		if err != nil || n < f.min || n > f.max {
			return is(fmt.Sprintf("a whole number from %d to %d", f.min, f.max))
		}
		if f.u32 != nil {
			*f.u32 = uint32(n)
		} else {
			*f.u64 = n
		}
	}
	return nil
}

func (f *field) setPorts(items []json.RawMessage, at string) (errs []error) {
	*f.ports = nil
	for i, item := range items {
		var d DefaultPorts
		here := fmt.Sprintf("%s%s[%d].", at, f.name, i)
		all, bad := members(item, here)
		if errs = append(errs, bad...); all != nil {
			errs = append(errs, apply(d.fields(), all, here, true)...)
		}
		*f.ports = append(*f.ports, d)
	}
	return errs
}

func elements(value json.RawMessage) (items []json.RawMessage, ok bool) {
	return items, value[0] == '[' && json.Unmarshal(value, &items) == nil
}

// brief shortens a value for a message.
func brief(value []byte) string {
	var b bytes.Buffer
	if json.Compact(&b, value) != nil {
		b.Write(value)
	}
	if s := b.String(); len(s) > 40 {
		return s[:37] + "..."
	}
	return b.String()
}

// JSON returns the profile as a profile file.
func (p *Profile) JSON() []byte {
	b := appendFields(nil, p.fields(), "\n  ")
	return append(b, '\n')
}

func appendFields(b []byte, fields []field, indent string) []byte {
	b = append(b, '{')
	for i, f := range fields {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, "%s%q: ", indent, f.name)
		switch {
		case f.text != nil:
			text, _ := json.Marshal(*f.text)
			b = append(b, text...)
		case f.list != nil:
			b = append(b, strings.ReplaceAll(fmt.Sprint(*f.list), " ", ", ")...)
		case f.ports != nil:
			b = append(b, '[')
			for i := range *f.ports {
				if i > 0 {
					b = append(b, ',')
				}
				b = append(b, indent+"  "...)
				b = appendFields(b, (*f.ports)[i].fields(), " ")
			}
			if len(*f.ports) > 0 {
				b = append(b, indent...)
			}
			b = append(b, ']')
		case f.sub != nil:
			b = appendFields(b, f.sub, indent+"  ")
		case f.u64 != nil:
			b = strconv.AppendUint(b, *f.u64, 10)
		default:
			b = strconv.AppendUint(b, uint64(*f.u32), 10)
		}
	}
	return append(append(b, strings.TrimSuffix(indent, "  ")...), '}')
}
