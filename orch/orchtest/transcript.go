package orchtest

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tamtam/sai"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// A Transcript runs the cases in testdata/*.sai. A case begins with a comment ("# ...") and consists of paragraphs.
// Each paragraph has lines, which are one step of the daemon, and their results:
//
//	-> create acl_entry#1 PRIORITY=5       a call of SAI
//	-> TABLE|key status: reason field=v    a row of STATE_DB that changed
//	-> TABLE:key field=v                   a row of COUNTERS_DB that changed; "TABLE": a table that is one row
//	-> -TABLE|key                          a row that is gone
//	-> poll GROUP acl_counter#1            syncd starts reading the counters of an object; "-poll": it stops
//	-> warn text key=value                 a warning or an error in the log of the daemon
//
// Lines are rows of APPL_DB for [Bench.Write], rows of CONFIG_DB ("TABLE|key field=v"), "pass 2s", and "fail 3
// SAI_STATUS_FAILURE" for a call from here on. The bench interprets all other lines. The first line "with WORD
// ..." selects the bench.
//
// The bench interprets the line "restart" too: the daemon starts again on a new ASIC. The results are then not its
// calls, but the objects that the ASIC has no longer ("-> lost ...") and the objects that are new ("-> new ...").
type Transcript struct {
	// Start returns a bench for these words. do applies the lines that the transcript does not interpret.
	Start           func(t *testing.T, with []string) (b *Bench, do func(line string))
	State, Counters []string // tables whose rows are listed
	Reads           []string // names of extension objects that only read the ASIC; their calls are not listed
	Update          bool     // true if the results are written into the files
}

// Run runs the cases, each on a separate bench.
func (x Transcript) Run(t *testing.T) {
	files, err := filepath.Glob("testdata/*.sai")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".sai"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got := x.again(t, string(text)); x.Update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if diff := cmp.Diff(string(text), got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", file, diff)
			}
		})
	}
}

// again runs the cases of a file, and returns its text with their results.
func (x Transcript) again(t *testing.T, text string) string {
	t.Helper()
	var got []string
	var c *transcribed
	for paragraph := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		var lines, todo []string
		for line := range strings.SplitSeq(paragraph, "\n") {
			if strings.HasPrefix(line, "-> ") {
				continue
			}
			lines = append(lines, line)
			if !strings.HasPrefix(line, "#") {
				todo = append(todo, line)
			}
		}
		if lines[0][0] == '#' {
			c, todo = x.begin(t, todo)
		}
		got = append(got, strings.Join(append(lines, c.step(todo)...), "\n")+"\n")
	}
	return strings.Join(got, "\n")
}

// transcribed is a case with its results so far.
type transcribed struct {
	Transcript
	*Bench
	do    func(line string)
	names map[sai.OID]string // names of objects by type and number, in order of appearance
	next  map[sai.ObjectType]int
	refs  map[string][]string // ids of the objects that an object has named, by its id
	rows  map[string]string   // rows as last listed, by "TABLE|key"
	polls map[polled]bool
	every map[string]Group // settings of counter groups as last listed, by group
	reads map[string]bool  // ids of the objects whose calls are not listed
}

// begin starts a case, and returns the lines after the header.
func (x Transcript) begin(t *testing.T, lines []string) (*transcribed, []string) {
	t.Helper()
	var with []string
	if len(lines) > 0 && strings.HasPrefix(lines[0], "with ") {
		with, lines = strings.Fields(lines[0])[1:], lines[1:]
	}
	c := &transcribed{Transcript: x}
	c.Bench, c.do = x.Start(t, with)
	c.Rec.Reset()
	c.forget()
	c.rows = c.tables()
	return c, lines
}

// forget makes the current ASIC and its calls so far the state from which results are listed.
func (c *transcribed) forget() {
	c.names, c.next = map[sai.OID]string{}, map[sai.ObjectType]int{}
	c.refs, c.reads = map[string][]string{}, map[string]bool{}
	maps.Copy(c.names, c.Named)
	c.calls() // names the objects, and learns which others they name
	c.Noted, c.Logged = nil, nil
	c.polls, c.every = maps.Clone(c.Poller.polled), maps.Clone(c.Poller.Groups)
}

// step applies lines, does a step, and returns the results.
func (c *transcribed) step(lines []string) []string {
	c.T.Helper()
	var restarted []string
	for _, line := range lines {
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case strings.Contains(word, "_TABLE:"):
			c.Write(line)
		case strings.Contains(word, "|"):
			c.writeConfig(line)
		case word == "pass":
			d, err := time.ParseDuration(rest)
			if err != nil {
				c.T.Fatal(err)
			}
			c.Pass(d)
		case word == "fail":
			n, status, _ := strings.Cut(rest, " ")
			c.fail(n, status)
		case line == "restart":
			before := c.Content()
			c.do(line)
			c.Step()
			restarted = changed(before, c.Content())
			c.forget()
		default:
			c.do(line)
		}
	}
	c.Step()
	if c.Check != nil {
		c.Check()
	}
	results := slices.Concat(restarted, c.calls(), c.Noted, c.warnings(), c.changedPolls(), c.changedRows())
	c.Noted, c.Logged = nil, nil
	for i := range results {
		results[i] = "-> " + results[i]
	}
	return results
}

// changed returns the lines of before that after lacks, and those that only after has. A line may be there many times.
func changed(before, after []string) (lines []string) {
	n := map[string]int{}
	for _, l := range after {
		n[l]++
	}
	for _, l := range before {
		n[l]--
	}
	for _, l := range slices.Sorted(maps.Keys(n)) {
		word := "new "
		if n[l] < 0 {
			word = "lost "
		}
		lines = append(lines, slices.Repeat([]string{word + l}, max(n[l], -n[l]))...)
	}
	return lines
}

// warnings returns the warnings of the daemon since the last time.
func (c *transcribed) warnings() (lines []string) {
	for _, l := range c.Logged {
		_, text, _ := strings.Cut(l, " msg=")
		lines = append(lines, objects("warn "+text, c.name))
	}
	return lines
}

// writeConfig writes or deletes a row of CONFIG_DB.
func (c *transcribed) writeConfig(line string) {
	c.T.Helper()
	row, gone := strings.CutPrefix(line, "-")
	table, key, fields := parseLine(strings.Replace(row, "|", ":", 1))
	rows := swss.NewTable(c.Redis.DB(swss.ConfigDB), table)
	err := rows.Del(c.Ctx, key)
	if err == nil && !gone {
		err = rows.Set(c.Ctx, key, fields)
	}
	if err != nil {
		c.T.Fatal(err)
	}
}

// fail makes the n-th call from now fail.
func (c *transcribed) fail(number, status string) {
	c.T.Helper()
	n, err := strconv.Atoi(number)
	s, ok := sai.LookupStatus(status)
	if err != nil || !ok {
		c.T.Fatalf("fail %s %s: no number, or no status", number, status)
	}
	c.Rec.FailAt(n, s)
}

// tables returns the rows of STATE_DB and COUNTERS_DB, by "TABLE|key".
func (c *transcribed) tables() map[string]string {
	c.T.Helper()
	all := map[string]string{}
	for name, tables := range map[swss.DBName][]string{swss.StateDB: c.State, swss.CountersDB: c.Counters} {
		for _, table := range tables {
			rows, err := swss.NewTable(c.Redis.DB(name), table).Dump(c.Ctx)
			if err != nil {
				c.T.Fatal(err)
			}
			if row := c.Row(name, table, ""); len(row) > 0 { // a table that is one row, such as a map of names
				all[table] = rowText(table, row)
			}
			for key, row := range rows {
				all[table+c.Redis.DB(name).Separator()+key] = rowText(table, row)
			}
		}
	}
	return all
}

// rowText returns the fields of a row, its status first, without time and author.
func rowText(table string, row swss.FieldValues) string {
	var words []string
	status := schema.StatusField(table)
	if row[status] != "" {
		words = []string{statusOf(table, row)}
	}
	for _, p := range swss.Pairs(row) {
		if !slices.Contains([]string{status, schema.FieldReason, schema.FieldSince, schema.FieldBy}, p.Field) {
			words = append(words, p.Field+"="+p.Value)
		}
	}
	return strings.Join(words, " ")
}

// changedRows returns the changed rows.
func (c *transcribed) changedRows() (lines []string) {
	now := c.tables()
	for _, key := range slices.Sorted(maps.Keys(now)) {
		if was, there := c.rows[key]; !there || was != now[key] {
			lines = append(lines, objects(strings.TrimSpace(key+" "+now[key]), c.name))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(c.rows)) {
		if _, there := now[key]; !there {
			lines = append(lines, objects("-"+key, c.name))
		}
	}
	c.rows = now
	return lines
}

// changedPolls returns the objects that syncd has started or stopped reading, and new settings.
func (c *transcribed) changedPolls() (lines []string) {
	for _, x := range []struct {
		word     string
		was, now map[polled]bool
	}{{"poll ", c.polls, c.Poller.polled}, {"-poll ", c.Poller.polled, c.polls}} {
		for _, p := range slices.SortedFunc(maps.Keys(x.now), polled.compare) {
			if !x.was[p] {
				lines = append(lines, x.word+p.group+" "+c.name(keyOf(p.oid)))
			}
		}
	}
	for group, every := range c.Poller.Groups {
		if every != c.every[group] {
			state := map[bool]string{true: "enabled", false: "disabled"}[every.Enabled]
			lines = append(lines, strings.Join([]string{"poll", group, "every", every.Interval.String(), state}, " "))
		}
	}
	c.polls, c.every = maps.Clone(c.Poller.polled), maps.Clone(c.Poller.Groups)
	slices.Sort(lines)
	return lines
}

// name names an object.
func (c *transcribed) name(k sai.Key) string {
	if c.names[k.OID] == "" {
		c.next[k.Type]++
		c.names[k.OID] = typeName(k.Type) + "#" + strconv.Itoa(c.next[k.Type])
	}
	return c.names[k.OID]
}

// peek does the same as name, for an object whose number is not yet known.
func (c *transcribed) peek(k sai.Key) string {
	if s := c.names[k.OID]; s != "" {
		return s
	}
	return typeName(k.Type) + "#"
}

// A call is a SAI call: its operation, the type and id of its object, and the ids that the object has named so far.
type call struct {
	text, op, typ, object string
	oids                  []string
}

// calls returns the changing calls since the last time. Calls that depend on each other stay in their order, others
// are sorted by their text.
func (c *transcribed) calls() (lines []string) {
	words := map[byte]string{'c': "create ", 'r': "remove ", 's': "set ", 'f': "flush ", 'm': "clear "}
	var list []call
	listed := false // true if the last line is a call of the list
	for _, line := range c.Rec.Lines() {
		op, rest, _ := strings.Cut(line, "|")
		if op == "E" {
			if listed {
				list[len(list)-1].text += " !" + rest
			}
			continue
		}
		head, attrs, _ := strings.Cut(rest, "|")
		typ, object, _ := strings.Cut(head, ":")
		attrs = byteList.ReplaceAllStringFunc(strings.ReplaceAll(attrs, "|", " "), plainBytes)
		if name, _, _ := strings.Cut(attrs, " "); op == "c" && slices.Contains(c.Reads, after(name, "OBJECT_NAME=")) {
			c.reads[object] = true
		}
		if listed = op != "g" && !c.reads[object]; !listed {
			continue
		}
		word, many := words[op[0]], words[op[0]|0x20]
		if word == "" {
			word = "bulk " + many
		}
		if !strings.HasPrefix(object, "oid:") || object == sai.NullOID.String() {
			kind := strings.ToLower(short.ReplaceAllString(typ, ""))
			object = strings.TrimSuffix(kind+" "+strings.Trim(object, "{}"), " oid:0x0")
		}
		text := strings.TrimSpace(word + object + " " + attrName.ReplaceAllString(attrs, ""))
		c.refs[object] = append(c.refs[object], oidText.FindAllString(text, -1)...)
		list = append(list, call{text, word, typ, object, c.refs[object]})
	}
	c.Rec.Reset()
	for len(list) > 0 {
		next, first := 0, ""
		for i, x := range list {
			text := named(x.text, c.peek) + " " + x.text // ids decide between equal texts
			if (first == "" || text < first) && !slices.ContainsFunc(list[:i], x.follows) {
				next, first = i, text
			}
		}
		lines = append(lines, named(list[next].text, c.name))
		list = slices.Delete(list, next, next+1)
	}
	return lines
}

// follows reports whether a call must come after an earlier call. That is so if the object of one call names or has
// named the object of the other. It is also so for different operations on objects of one type.
func (x call) follows(earlier call) bool {
	return slices.Contains(x.oids, earlier.object) || slices.Contains(earlier.oids, x.object) ||
		x.object == earlier.object || x.typ == earlier.typ && x.op != earlier.op
}

// attrName matches the prefix of an attribute's name, which repeats the type of its object.
var attrName = regexp.MustCompile(`\bSAI_[A-Z0-9_]+?_ATTR_`)

// after returns the text after the first occurrence of a separator, or "".
func after(text, separator string) string {
	_, rest, _ := strings.Cut(text, separator)
	return rest
}

// byteList matches the name and the entry of an extension object in SAI's text.
var byteList = regexp.MustCompile(`(?:OBJECT_NAME|ENTRY)=(?:{"json":")?[0-9]+:[0-9,]+(?:"})?`)

// plainBytes returns an attribute that is a list of bytes, with the bytes as text. An entry is written as the values of
// its attributes.
func plainBytes(s string) string {
	name, _, _ := strings.Cut(s, "=")
	list := s[strings.LastIndexByte(s, ':')+1:]
	var text []byte
	for n := range strings.SplitSeq(strings.TrimSuffix(list, `"}`), ",") {
		b, _ := strconv.Atoi(n)
		text = append(text, byte(b))
	}
	var entry struct {
		Attributes []map[string]struct{ Value json.RawMessage }
	}
	if json.Unmarshal(text, &entry) != nil {
		return name + "=" + string(text)
	}
	var values []string
	for _, attr := range entry.Attributes {
		for _, field := range slices.Sorted(maps.Keys(attr)) {
			values = append(values, field+"="+string(attr[field].Value))
		}
	}
	return strings.Join(values, " ")
}
