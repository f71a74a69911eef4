package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// same ignores the differences that the options allow.
func TestSame(t *testing.T) {
	for _, tt := range []struct {
		options   string
		want, got string
		same      bool
	}{
		{"", "a\nb", "a\nb", true},
		{"", "a  \nb\n\n", "a\nb", true},
		{"", "a\nb", "a", false},
		{"", "a\nb", "a\nb\nc", false},
		{"", "a 1", "a 2", false},
		{"", "a", "", false},
		{"", "...", "", true},
		{"", "a\n...", "a\nx\ny", true},
		{"", "a\n...", "x\na", false},
		{"", "...\nz", "x\ny\nz", true},
		{"", "...\nz", "z\ny", false},
		{"", "a\n...\nc\n...\ne", "a\nb\nc\nd\ne", true},
		{"", "a\n...\nc\nd\n...\ne", "a\nc\nx\nc\nd\ne", true},
		{"", "a\n...\nd\n...\nc", "a\nc\nd", false},
		{"", "a\n  ...\na", "a", false}, // "..." without an end of line is not two lines
		{": machine", "chip  5.7 Mpps", "chip   12.25 Mpps", true},
		{": machine", "chip  5.7 Mpps", "chips  5.7 Mpps", false},
		{": machine", "p50  1.2\n---  ----", "p99  1.2\n---  ----", false},
		{": machine", "a  1\n-  --", "a  100\n-  ----", true},
		{": machine", "one\ntwo 2", "one", false},
		{`: mask \d+:\d+`, "at 10:20, 5", "at 23:59, 5", true},
		{`: mask \d+:\d+`, "at 10:20, 5", "at 23:59, 6", false},
	} {
		var o options
		if err := o.parse(tt.options); err != nil {
			t.Fatal(err)
		}
		if same := o.same(strings.Split(tt.want, "\n"), strings.Split(tt.got, "\n")); same != tt.same {
			t.Errorf("%s: %q and %q: same is %t", tt.options, tt.want, tt.got, same)
		}
	}
}

// tree returns a checker for a tree with one page and a script as its tamtam.
func tree(t *testing.T, page, tool string) *checker {
	for _, program := range []string{"bash", "sh"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"README.md": "# readme\n", "docs/page.md": page,
		"tool": "#!/bin/sh\n" + tool + "\n"} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return &checker{tree: dir, tool: filepath.Join(dir, "tool"), out: new(bytes.Buffer)}
}

func (c *checker) check(t *testing.T) (good bool, output string) {
	t.Helper()
	good, err := c.all(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return good, c.out.(*bytes.Buffer).String()
}

const fence = "```"

var example = strings.ReplaceAll(`# A page

<!-- figures: setup
echo 7 >seven
-->

<!-- figures -->
'''
$ cat seven
7
$ echo one; \
    echo two >&2
one
two
'''

<!-- figures: file list.txt -->
'''
first
second
'''

<!-- figures
cat list.txt | \
  sed 's/.*/| & |/'
-->
| first |
| second |

<!-- figures: fails -->
'''
$ tamtam bad; exit 3
tool bad
'''

<!-- figures: long -->
'''
$ echo long
long
'''
`, "'''", fence)

func TestAPageAsItIs(t *testing.T) {
	c := tree(t, example, `echo tool "$@"`)
	if good, output := c.check(t); !good || c.blocks != 6 {
		t.Errorf("%d blocks, %s", c.blocks, output)
	}
	c = tree(t, example, `echo tool "$@"`)
	c.quick = true
	if good, output := c.check(t); !good || c.blocks != 5 || c.later != 1 {
		t.Errorf("%d blocks, %d left out: %s", c.blocks, c.later, output)
	}
}

// In the gate, long blocks run in their short form. They must succeed, and their output is not compared.
func TestLongOnesInShort(t *testing.T) {
	page := strings.ReplaceAll(`
<!-- figures: long -->
'''
$ tamtam bench fig1 >fig1.txt && cat fig1.txt
whole
'''

<!-- figures: long
cat fig1.txt
-->
| whole |
| --- |
`, "'''", fence)
	for tool, want := range map[string]bool{
		`case "$*" in "bench fig1 --duration "*) echo short ;; *) exit 1 ;; esac`: true,
		`echo "the short form fails"; exit 1`:                                     false,
		`rm -f fig1.txt && echo no output`:                                        false,
	} {
		c := tree(t, page, tool)
		c.quick = true
		if good, output := c.check(t); good != want || c.short != 2 || c.later != 0 {
			t.Errorf("%s: %d in short form, %d left out: %s", tool, c.short, c.later, output)
		}
	}
	for _, with := range []string{"tamtam cli -c show; tamtam bench", "tamtam lab run"} {
		c := tree(t, strings.Replace(page, "tamtam bench", with, 1), "exit 1")
		c.quick = true
		if good, output := c.check(t); !good || c.later != 2 {
			t.Errorf("%s: %d left out: %s", with, c.later, output)
		}
	}
}

// A block with a requirement is omitted, with a message, on machines that do not meet it.
func TestWithSomething(t *testing.T) {
	const variable = "FIGURES_TEST_PROGRAM"
	page := strings.ReplaceAll(`
<!-- figures: long, with FIGURES_TEST_PROGRAM -->
'''
$ tamtam it
is there
'''
`, "'''", fence)
	c := tree(t, page, "echo is not there")
	if good, output := c.check(t); !good || !strings.Contains(output, variable+" is not set") {
		t.Errorf("without the variable: %t, %s", good, output)
	}
	t.Setenv(variable, "x")
	c = tree(t, page, "echo is not there")
	if good, output := c.check(t); good {
		t.Errorf("with the variable it is not compared: %s", output)
	}
}

// A picture equals the one that its commands make now.
func TestPictures(t *testing.T) {
	const text = "<!-- figures: picture out/a.png\nmkdir out; tamtam draw >out/a.png\n-->\n![a plot](a.png)\n"
	c := tree(t, text, "printf new")
	shown := filepath.Join(c.tree, "docs", "a.png")
	if good, output := c.check(t); good || !strings.Contains(output, "docs/page.md:1: a.png is not as out/a.png is now") {
		t.Errorf("a picture that is not there: %s", output)
	}
	c = &checker{tree: c.tree, tool: c.tool, update: "1", out: new(bytes.Buffer)}
	if good, output := c.check(t); !good {
		t.Error(output)
	}
	if got, _ := os.ReadFile(shown); string(got) != "new" {
		t.Errorf("the picture is %q after an update", got)
	}
	c = &checker{tree: c.tree, tool: c.tool, out: new(bytes.Buffer)}
	if good, output := c.check(t); !good {
		t.Error(output)
	}
	for text, want := range map[string]string{
		"![a plot](a.png)": "docs/page.md:1: a picture that no command makes",
		"<!-- figures: picture a.png\ntrue\n-->\n| a |":   "a picture wants the option picture FILE",
		"<!-- figures\ntrue\n-->\n![a plot](a.png)":       "a picture wants the option picture FILE",
		"<!-- figures: picture b.png -->\n![plot](a.png)": "b.png: no such file",
	} {
		c := tree(t, text, "")
		if good, output := c.check(t); good || !strings.Contains(output, want) {
			t.Errorf("%s\n%s", text, output)
		}
	}
}

// Errors are reported with their place, and the check fails.
func TestWhatIsWrong(t *testing.T) {
	for _, tt := range []struct{ old, new, want string }{
		{"$ cat seven\n7", "$ cat seven\n8", "docs/page.md:10: cat seven gives something else:\n    - 8\n    + 7\n"},
		{"one\ntwo\n", "one\n", "echo one; \\\n    echo two >&2 gives something else:\n    + two\n"},
		{"| second |", "| third |", "    - | third |\n    + | second |\n"},
		{"bad; exit 3", "bad", "docs/page.md:30: tamtam bad: does not fail"},
		{"figures: fails", "figures", "docs/page.md:30: tamtam bad; exit 3: fails\ntool bad"},
		{"echo 7 >seven", "echo 7 >seven; false", "docs/page.md:3: echo 7 >seven; false: fails"},
		{"figures: fails", "figures: falls", `docs/page.md:30: option "falls": want long, machine,`},
		{"figures: long", "figures: mask (", "mask: error parsing regexp"},
		{"<!-- figures: long -->\n", "", "docs/page.md:36: commands or output without an annotation in front"},
		{"<!-- figures: file list.txt -->\n", "", "page.md:17: commands or output without an annotation in front"},
		{"<!-- figures: long -->\n", "<!-- figures: long -->\n\n",
			"want a fenced block, a table or a picture in the next line"},
		{"\ncat list.txt | \\\n  sed 's/.*/| & |/'\n", "", "docs/page.md:23: no commands"},
		{"# A page", "The chip does 5 Mpps.", "docs/page.md:1: a measured figure that no command makes"},
		{"# A page", "| a | measured |\n| --- | --- |\n| x | 5 |", "docs/page.md:1: a measured figure that no command makes"},
	} {
		if strings.Count(example, tt.old) != 1 {
			t.Fatalf("%d times %q", strings.Count(example, tt.old), tt.old)
		}
		c := tree(t, strings.Replace(example, tt.old, tt.new, 1), `echo tool "$@"`)
		if good, output := c.check(t); good || !strings.Contains(output, tt.want) {
			t.Errorf("%q for %q: %t, told\n%s\nwant %q", tt.new, tt.old, good, output, tt.want)
		}
	}
}

// -update writes the output of the commands, and nothing else of the page changes.
func TestUpdate(t *testing.T) {
	wrong := strings.NewReplacer("7\n$", "8\n9\n$", "| second |", "| 2 |\n| 3 |", "tool bad",
		"...\ntool bat\n").Replace(example)
	c := tree(t, wrong, `echo some; echo tool "$@"`)
	c.update = "1"
	good, output := c.check(t)
	text, err := os.ReadFile(filepath.Join(c.tree, "docs", "page.md"))
	if err != nil {
		t.Fatal(err)
	}
	// Lines between omitted lines are found by their text, so a changed line has no counterpart.
	if want := strings.Replace(example, "tool bad", "...\ntool bat\n", 1); good || string(text) != want ||
		!strings.Contains(output, "no counterpart") {
		t.Errorf("%s\n%s", output, text)
	}

	numbers := "<!-- figures: machine -->\n" + fence + "\n$ printf 'a\\nb\\nc  17\\nd\\n'\n...\nc  4  \n...\n" + fence +
		"\n"
	for update, want := range map[string]string{"": "c  4  \n", "1": "c  4  \n", "all": "c  17\n"} {
		c := tree(t, numbers, "")
		c.update = update
		good, output := c.check(t)
		text, _ := os.ReadFile(filepath.Join(c.tree, "docs", "page.md"))
		if !good || !strings.Contains(string(text), "\n...\n"+want+"...\n") {
			t.Errorf("update %q: %s\n%s", update, output, text)
		}
	}
}

// A switch runs while later commands use it. A query is repeated until the switch has applied the change.
func TestSwitch(t *testing.T) {
	page := strings.ReplaceAll(`
<!-- figures: mask port \d+ -->
'''
$ tamtam up --config x.json
starting
tamtam: the switch is up: Redis at 127.0.0.1:1, port 1
$ tamtam cli -c 'show news'
new
'''

<!-- figures: setup
tamtam cli -c 'show pid' >first
tamtam up
tamtam cli -c 'show pid' >second
-->

<!-- figures -->
'''
$ cmp -s first second || echo another
another
'''
`, "'''", fence)
	tool := `dir=$3
case $1 in
up) echo $$ >$dir/pid; echo starting; echo "tamtam: the switch is up: Redis at 127.0.0.1:1, port $$" >&2
	(sleep 0.5; echo new >$dir/news) & exec sleep 60 ;;
cli) if [ "$5" = "show news" ]; then cat $dir/news 2>/dev/null || echo old; else cat $dir/pid; fi ;;
esac`
	c := tree(t, page, tool)
	if good, output := c.check(t); !good {
		t.Error(output)
	}
	c = tree(t, strings.Replace(page, "tamtam up --config x.json", "tamtam up", 1), "echo no such file; exit 1")
	if good, output := c.check(t); good || !strings.Contains(output, "it ended: no such file") {
		t.Error(output)
	}
}

// Lines typed at tamtam's own shell run as one session.
func TestTypedAtTheShell(t *testing.T) {
	page := strings.ReplaceAll(`
<!-- figures -->
'''
sonic# configure terminal
sonic(config)# no such
%Error
sonic(config)# end
'''
`, "'''", fence)
	tool := `[ "$4" = --echo ] || exit 9
for p in "sonic# " "sonic(config)# " "sonic(config)# "; do read line
	echo "$p$line"; [ "$line" != "no such" ] || echo "%Error" >&2; done`
	if good, output := tree(t, page, tool).check(t); !good {
		t.Error(output)
	}
	if good, output := tree(t, strings.Replace(page, "%Error\n", "", 1), tool).check(t); good ||
		!strings.Contains(output, "    + %Error\n") {
		t.Error(output)
	}
}

// A block that begins in a mode enters the mode first, and the page does not contain the commands for that.
func TestTypedInAMode(t *testing.T) {
	page := strings.ReplaceAll(`
<!-- figures -->
'''
sonic(config-tam-fm)# task x
%Error
sonic(config-tam-fm)# query y
'''
`, "'''", fence)
	tool := `while read line; do echo "sonic(some)# $line"; [ "$line" != "task x" ] || echo %Error; done | sed ` +
		`'s/(some)# \(task\|query\)/(config-tam-fm)# \1/'`
	if good, output := tree(t, page, tool).check(t); !good {
		t.Error(output)
	}
	if good, output := tree(t, strings.Replace(page, "%Error\n", "", 1), tool).check(t); good ||
		!strings.Contains(output, "    + %Error\n") {
		t.Error(output)
	}
	if good, output := tree(t, page, "echo one line").check(t); good ||
		!strings.Contains(output, "    - sonic(config-tam-fm)# task x\n") {
		t.Error(output)
	}
}

// A switch with wired ports has separate interfaces, which commands beside it see. The commands of tamtam find the
// Redis of this switch.
func TestWires(t *testing.T) {
	if err := mayWire(t.Context()); err != nil {
		t.Skipf("no interfaces can be made here: %v", err)
	}
	page := strings.ReplaceAll(`
<!-- figures: setup
tamtam up --port Ethernet0=eth7
-->

<!-- figures -->
'''
$ ip -o link show dev host-eth7 | grep -o 'host-eth7@eth7.*UP,'
host-eth7@eth7: <BROADCAST,MULTICAST,UP,
$ tamtam config load x.json
config load --redis 127.0.0.1:77 x.json
$ tamtam subscribe /tam
subscribe --data /tam
'''
`, "'''", fence)
	tool := `case $1 in
up) ip -o link show dev eth7 >/dev/null || exit 1
	echo "tamtam: the switch is up: Redis at 127.0.0.1:77, port 1"; exec sleep 60 ;;
*) echo "$@" | sed "s|--data [^ ]*|--data|" ;;
esac`
	if good, output := tree(t, page, tool).check(t); !good {
		t.Error(output)
	}
	out, err := exec.Command("ip", "-o", "link", "show").CombinedOutput()
	if err != nil || regexp.MustCompile(`\beth7\b`).Match(out) {
		t.Errorf("%v: interfaces outside: %s", err, out)
	}
}

// Only one page may contain the figures of a command.
func TestTwice(t *testing.T) {
	c := tree(t, "<!-- figures -->\n"+fence+"\n$ tamtam bench asic\nfast\n"+fence+"\n", "echo fast")
	text, _ := os.ReadFile(filepath.Join(c.tree, "docs", "page.md"))
	if err := os.WriteFile(filepath.Join(c.tree, "docs", "second.md"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	if good, output := c.check(t); good || !strings.Contains(output,
		`docs/second.md:1: the figures of "tamtam bench asic" stand in docs/page.md already`) {
		t.Error(output)
	}
}

// A page in a folder below docs is checked like one in docs.
func TestSubfolder(t *testing.T) {
	c := tree(t, example, `echo tool "$@"`)
	file := filepath.Join(c.tree, "docs", "deep", "er", "second.md")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	wrong := "<!-- figures -->\n" + fence + "\n$ echo 7\n8\n" + fence + "\n"
	if err := os.WriteFile(file, []byte(wrong), 0o644); err != nil {
		t.Fatal(err)
	}
	const want = "docs/deep/er/second.md:4: echo 7 gives something else"
	if good, output := c.check(t); good || !strings.Contains(output, want) {
		t.Error(output)
	}
	for only, blocks := range map[string]int{"deep/er/second": 1, "docs/deep/er/second.md:1": 1, "page": 6} {
		again := &checker{tree: c.tree, tool: c.tool, out: new(bytes.Buffer), only: only}
		if again.check(t); again.blocks != blocks {
			t.Errorf("%s: %d blocks, want %d", only, again.blocks, blocks)
		}
	}
}

// -only runs one page, or one block and the blocks that it needs.
func TestOnly(t *testing.T) {
	for only, blocks := range map[string]int{"page": 6, "docs/page.md": 6, "page.md:24": 4, "page:32": 5, "page:36": 6,
		"page:2": 0, "README": 0,
		"page:24-36": 6, "page:2-16": 2} {
		c := tree(t, example, `echo tool "$@"`)
		c.only = only
		if good, output := c.check(t); !good || c.blocks != blocks {
			t.Errorf("%s: %d blocks, want %d: %s", only, c.blocks, blocks, output)
		}
	}
	setup := "<!-- figures: setup, long\necho 5 >five\n-->\n\n" +
		strings.Replace(example, "cat seven\n7", "cat seven five\n7\n5", 1)
	for quick, want := range map[bool]bool{false: true, true: false} {
		c := tree(t, setup, `echo tool "$@"`)
		c.only, c.quick = "page:16", quick
		if good, output := c.check(t); good != want {
			t.Errorf("quick %t: a block that needs a long setup: %s", quick, output)
		}
	}
	c := tree(t, example, "")
	c.only = "other"
	if _, err := c.all(context.Background()); err == nil || !strings.Contains(err.Error(), `no page "other"`) {
		t.Error(err)
	}
}
