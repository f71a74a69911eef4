package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A page is a Markdown file of the documentation, with its annotated blocks.
type page struct {
	name   string // for example docs/lab.md
	lines  []string
	blocks []*block
	edits  []edit // changes that the page needs, in its order
}

// An edit replaces n lines.
type edit struct {
	at, n int
	lines []string
}

// edited returns the page's text after the edits.
func (p *page) edited() string {
	lines := slices.Clone(p.lines)
	for _, e := range slices.Backward(p.edits) {
		lines = slices.Replace(lines, e.at, e.at+e.n, e.lines...)
	}
	return strings.Join(lines, "\n")
}

// needs reports whether a command of the page uses a program.
func (p *page) needs(program string) bool {
	return slices.ContainsFunc(p.blocks, func(b *block) bool {
		return slices.ContainsFunc(slices.Concat(b.before, b.steps), func(s step) bool {
			return strings.Contains(s.command, program)
		})
	})
}

// measures matches commands whose figures only one page may quote.
var measures = regexp.MustCompile(`tamtam (lab run|bench)|go test .*-bench`)

// twice returns a problem for each command whose figures two pages quote.
func twice(pages []*page) []problem {
	var problems []problem
	where := map[string]string{}
	for _, p := range pages {
		for _, b := range p.blocks {
			for _, st := range b.steps {
				if first, ok := where[st.command]; ok && first != p.name {
					text := fmt.Sprintf("the figures of %q stand in %s already", st.command, first)
					problems = append(problems, problem{page: p.name, line: b.line, text: text})
				} else if measures.MatchString(st.command) {
					where[st.command] = p.name
				}
			}
		}
	}
	return problems
}

// A block is an annotation and the text that follows it.
type block struct {
	options
	line   int    // line of the comment, from 1
	before []step // commands of the annotation, if they do not produce the block's content
	steps  []step
	body   []string // content of a file
	image  string   // path of the page's picture, relative to the page
	// inShort is true if the block is long and its commands run in their short form. Their output is then not compared.
	inShort bool
}

// inShortToo matches commands that have a short form. needsMore matches commands whose block is omitted in short form.
// They need a running switch or a program that is not built in short, or a test runs them. lab/experiments runs all lab
// run commands.
var (
	inShortToo = regexp.MustCompile(`\btamtam bench\b`)
	needsMore  = regexp.MustCompile(`\btamtam (cli|up|config|subscribe|trace|collectd?|health|lab run)\b|` +
		`\bredis-cli\b|\bgo (test|run)\b`)
)

// hasShort reports whether the commands of a long block have a short form. They have one if they measure. With behind
// set they also have one if they read the output of an earlier block in short form.
func (b *block) hasShort(behind bool) bool {
	for _, st := range slices.Concat(b.before, b.steps) {
		if needsMore.MatchString(st.command) {
			return false
		}
		behind = behind || inShortToo.MatchString(st.command)
	}
	return behind && !b.tree && b.file == ""
}

// A step is a command with the page's output: lines at and following.
type step struct {
	command string
	skip    int // number of printed lines before the lines of the page
	// true for a comment, whose step fails if any of its commands fails; other commands run as a reader types them
	strict bool
	want   []string
	at     int // index of the first line of want
}

type options struct {
	long, machine, fails, tree, setup bool
	file                              string
	with                              string // environment variable that the commands need
	picture                           string // file that the commands create
	masks                             []*regexp.Regexp
}

// A problem is an error in a page itself.
type problem struct {
	page string
	line int
	text string
}

func (p problem) String() string { return fmt.Sprintf("%s:%d: %s", p.page, p.line, p.text) }

const comment = "<!-- figures"

// A reader parses a page.
type reader struct {
	*page
	next     int
	problems []problem
}

// parse parses a page. It returns the page's errors: invalid annotations, and whatever lacks a required annotation.
func parse(name, text string) (*page, []problem) {
	r := &reader{page: &page{name: name, lines: strings.Split(text, "\n")}}
	for r.next < len(r.lines) {
		line := r.lines[r.next]
		switch {
		case strings.HasPrefix(line, comment):
			r.annotated()
		case strings.HasPrefix(line, "```"):
			if first, end := r.fence(); line == "```" || prompts(r.lines[first:end]) {
				r.wrong(first-1, "commands or output without an annotation in front (%s); "+
					"if it is neither, say what (```text)", comment)
			}
		case image.MatchString(line):
			r.wrong(r.next, "a picture that no command makes: want an annotation in front (%s: picture FILE)", comment)
			r.next++
		default:
			inTable := r.next > 0 && strings.HasPrefix(r.lines[r.next-1], "|")
			if units.MatchString(line) || !inTable && heads.MatchString(line) {
				r.wrong(r.next, "a measured figure that no command makes: %q", line)
			}
			r.next++
		}
	}
	return r.page, r.problems
}

func (r *reader) wrong(at int, format string, args ...any) {
	r.problems = append(r.problems, problem{page: r.name, line: at + 1, text: fmt.Sprintf(format, args...)})
}

// fence consumes a fenced block and returns where its lines begin and end.
func (r *reader) fence() (first, end int) {
	first = r.next + 1
	for end = first; end < len(r.lines) && r.lines[end] != "```"; end++ {
	}
	if end == len(r.lines) {
		r.wrong(first-1, "a block without an end")
	}
	r.next = min(end+1, len(r.lines))
	return first, end
}

// table consumes the lines of a table.
func (r *reader) table() (first, end int) {
	first = r.next
	for r.next < len(r.lines) && strings.HasPrefix(r.lines[r.next], "|") {
		r.next++
	}
	return first, r.next
}

// annotated consumes an annotation and the text that it annotates.
func (r *reader) annotated() {
	at := r.next
	b := &block{line: at + 1}
	var text []string
	for end := false; !end; r.next++ {
		if r.next == len(r.lines) {
			r.wrong(at, "a comment without an end")
			return
		}
		var line string
		line, end = strings.CutSuffix(r.lines[r.next], "-->")
		text = append(text, line)
	}
	if err := b.options.parse(strings.TrimSpace(strings.TrimPrefix(text[0], comment))); err != nil {
		r.wrong(at, "%v", err)
		return
	}
	b.before = scripts(tidy(text[1:]))
	first, end := r.next, r.next
	switch next := append(r.lines, "")[r.next]; {
	case b.setup:
	case strings.HasPrefix(next, "```"):
		first, end = r.fence()
	case strings.HasPrefix(next, "|"):
		first, end = r.table()
	case image.MatchString(next):
		r.next++
		end = r.next
	default:
		r.wrong(at, "want a fenced block, a table or a picture in the next line, or the option setup")
		return
	}
	if text := b.fill(r.lines[first:end], first); text != "" {
		r.wrong(at, "%s", text)
		return
	}
	r.blocks = append(r.blocks, b)
}

// fill assigns the block its lines, and returns a description of the error in them, or "".
func (b *block) fill(body []string, at int) string {
	switch {
	case b.setup:
		if len(b.before) == 0 {
			return "setup without commands"
		}
	case len(body) == 0:
		return "an empty block: want a line"
	case b.file != "":
		if len(b.before) > 0 || prompts(body) {
			return "a file has no commands"
		}
		b.body = body
	case (b.picture != "") != image.MatchString(body[0]):
		return "a picture wants the option picture FILE, and that a picture"
	case b.picture != "":
		b.image = image.FindStringSubmatch(body[0])[1]
	case prompts(body):
		if !prompts(body[:1]) {
			return "want the first line of the block to be a command"
		}
		b.steps = steps(body, at)
	case len(b.before) == 0:
		return "no commands: want some in the comment, or lines $ COMMAND in the block"
	default:
		last := len(b.before) - 1
		b.steps, b.before = b.before[last:], b.before[:last]
		b.steps[0].want, b.steps[0].at = body, at
	}
	return ""
}

// parse parses ": OPTION, OPTION".
func (o *options) parse(text string) error {
	text, ok := strings.CutPrefix(text, ":")
	if !ok && text != "" {
		return fmt.Errorf("want %s: OPTIONS, not %q", comment, text)
	}
	for word := range strings.SplitSeq(text, ",") {
		key, value, _ := strings.Cut(strings.TrimSpace(word), " ")
		value = strings.TrimSpace(value)
		flag := map[string]*bool{
			"long": &o.long, "machine": &o.machine, "fails": &o.fails, "tree": &o.tree, "setup": &o.setup,
		}[key]
		switch {
		case flag != nil && value == "":
			*flag = true
		case word != "":
			if err := o.set(key, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// set sets an option with a value.
func (o *options) set(key, value string) error {
	switch {
	case key == "mask" && value != "":
		re, err := regexp.Compile(value)
		if err != nil {
			return fmt.Errorf("mask: %w", err)
		}
		o.masks = append(o.masks, re)
	case key == "file" && value != "" && !strings.ContainsAny(value, "/ "):
		o.file = value
	case key == "with" && value != "" && !strings.Contains(value, " "):
		o.with = value
	case key == "picture" && value != "" && !strings.Contains(value, " "):
		o.picture = value
	default:
		return fmt.Errorf("option %q: want long, machine, mask REGEXP, fails, tree, setup, "+
			"with VARIABLE, picture FILE or file NAME", strings.TrimSpace(key+" "+value))
	}
	return nil
}

// image matches a line that is a picture.
var image = regexp.MustCompile(`^!\[[^\]]*\]\(([^)]*)\)$`)

// Prompts of a system's shell, and of tamtam's.
var (
	shell = regexp.MustCompile(`^\$ `)
	klish = regexp.MustCompile(`^(sonic|leaf\d+|s\d+)[\w-]*(\([\w-]+\))?# `)
)

// prompts reports whether a block shows commands after prompts.
func prompts(body []string) bool {
	return slices.ContainsFunc(body, func(line string) bool { return shell.MatchString(line) || klish.MatchString(line) })
}

// modes maps each mode of tamtam's shell that a block may begin in to the commands that lead there.
var modes = map[string]string{
	"config":        "configure terminal",
	"config-tam":    "configure terminal\ntam",
	"config-tam-ts": "configure terminal\ntam\ntail-stamping",
	"config-tam-am": "configure terminal\ntam\nalt-mark",
	"config-tam-fm": "configure terminal\ntam\nflymon",
	"config-tam-tr": "configure terminal\ntam\ntable-record",
}

// steps splits a block into its commands. Lines typed at tamtam's own shell are one step, since each of them depends on
// the lines before it.
func steps(body []string, at int) []step {
	if first := klish.FindStringSubmatch(body[0]); first != nil {
		script, skip := []string{"tamtam cli --echo <<'END'"}, 0
		if mode, ok := modes[strings.Trim(first[2], "()")]; ok {
			script, skip = append(script, mode), strings.Count(mode, "\n")+1
		}
		for _, line := range body {
			if p := klish.FindString(line); p != "" {
				script = append(script, strings.TrimPrefix(line, p))
			}
		}
		return []step{{command: strings.Join(append(script, "END"), "\n"), skip: skip, want: body, at: at}}
	}
	var list []step
	for i := 0; i < len(body); i++ {
		command, ok := strings.CutPrefix(body[i], "$ ")
		if !ok {
			last := &list[len(list)-1]
			last.want = append(last.want, body[i])
			continue
		}
		for strings.HasSuffix(command, `\`) && i+1 < len(body) {
			i++
			command += "\n" + body[i]
		}
		list = append(list, step{command: command, at: at + i + 1})
	}
	return list
}

// scripts splits the lines of an annotation. A line that starts a switch is a separate script. So are the lines between
// two such lines.
func scripts(lines []string) []step {
	var list []step
	more := false // true if the line continues the previous script
	for _, line := range lines {
		if more && !up.MatchString(line) {
			list[len(list)-1].command += "\n" + line
		} else if line != "" {
			list = append(list, step{command: line, strict: true})
		}
		more = len(list) > 0 && !up.MatchString(list[len(list)-1].command)
	}
	return list
}

// units matches figures in units that only measurements have. They must be in a block.
var units = regexp.MustCompile(`\d ?(Mpps|kpps|ns/packet|ns/op|allocs/op|million a second|million packets a second)\b`)

// heads matches the titles of columns of measurements.
var heads = regexp.MustCompile(`(?i)^\|.*\|\s*(measured|measured here|here|here, .*|ours|median|p50|p99)\s*(\||$)`)
