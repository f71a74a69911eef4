package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// mode is a mode of the shell: it says which commands are known and what they apply to. Each
// feature of TAM has one, of the name of its keyword.
type mode string

const (
	modeExec      mode = ""
	modeConfig    mode = "config"
	modeTAM       mode = "tam"
	modeInterface mode = "interface"
	modePipe      mode = "|" // not a place: the grammar of what follows "|"
)

// submode is a mode below exec mode: the one above it, and what the prompt says.
type submode struct {
	mode, parent mode
	prompt       string
}

func submodes() []submode {
	list := []submode{{modeConfig, modeExec, "(config)"}, {modeTAM, modeConfig, "(config-tam)"}}
	for _, f := range features() {
		list = append(list, submode{f.mode(), modeTAM, "(config-tam-" + f.prompt + ")"})
	}
	return append(list, submode{modeInterface, modeConfig, "(conf-if-IFACE)"})
}

// below says where a mode is; false: it is exec mode.
func (m mode) below() (submode, bool) {
	all := submodes()
	if i := slices.IndexFunc(all, func(p submode) bool { return p.mode == m }); i >= 0 {
		return all[i], true
	}
	return submode{mode: m, parent: m}, false
}

// parent is the mode that `exit` returns to, and the one whose commands are
// tried when the present mode does not know a command.
func (m mode) parent() (mode, bool) {
	p, ok := m.below()
	return p.parent, ok
}

// element is one word of a command's grammar: a keyword or a parameter.
type element struct {
	word string // the keyword; empty for a parameter
	name string // parameter: the name of its value in call.args
	kind *argKind
	help string
	// whole keywords are not abbreviated, so that they leave the abbreviations of others alone.
	whole bool
	many  bool // the last parameter: none, or several, which are one value with manySeparator between
	spare bool // the last parameter of an option, which may be left out
}

// manySeparator is in no word of a line.
const manySeparator = "\x00"

// argKind is a type of parameter.
type argKind struct {
	label   string                                                // how help names it, "<1-65535>"
	parse   func(text string) (string, error)                     // canonical text, or why not
	choices []choice                                              // fixed values; abbreviations are accepted
	live    func(ctx context.Context, s *Shell) ([]string, error) // values that exist now, for TAB and ?
	list    bool                                                  // several values with commas between

	toTree   func(text string) any    // the canonical text in the tree; nil result: left out; nil: a string
	fromTree func(text string) string // the inverse; nil: as it is
}

// json returns a value as the tree represents it. Without a kind a keyword stands alone, and means true.
func (k *argKind) json(text string) any {
	switch {
	case k == nil:
		return true
	case k.toTree == nil:
		return text
	}
	return k.toTree(text)
}

// words returns a value of the tree as a command takes it.
func (k *argKind) words(text string) string {
	if k == nil || k.fromTree == nil {
		return text
	}
	return k.fromTree(text)
}

type choice struct{ word, help string }

// form is one way to write a command: elements in their order, then options,
// each at most once and in any order.
type form struct {
	fixed   []element
	options [][]element
}

// command is one row of the command table. Exactly one of do and show is set.
type command struct {
	modes []mode
	form  form
	no    *form // what may follow "no"; nil when there is no such form
	do    func(ctx context.Context, c *call) error
	show  func(ctx context.Context, c *call) (*view, error)
}

// call is one use of a command.
type call struct {
	sh   *Shell
	args map[string]string // by parameter name; keywords of options are present with ""
	no   bool

	brief bool // it is for a text, which shows less of a list than all its data
}

// has reports whether an option keyword or parameter was given.
func (c *call) has(name string) bool { _, ok := c.args[name]; return ok }

func kw(word, help string) element { return element{word: word, help: help} }

// alias is another spelling of a keyword, which is typed as a whole.
func alias(word, help string) element { return element{word: word, help: help, whole: true} }

func arg(name string, kind *argKind, help string) element {
	return element{name: name, kind: kind, help: help}
}

// words makes keywords without own help from a phrase; their help is that of
// the phrase's entry in wordHelp.
func words(phrase string) []element {
	var out []element
	for w := range strings.FieldsSeq(phrase) {
		out = append(out, kw(w, wordHelp[w]))
	}
	return out
}

func seq(parts ...any) form {
	var f form
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			f.fixed = append(f.fixed, words(p)...)
		case element:
			f.fixed = append(f.fixed, p)
		case []element:
			f.options = append(f.options, p)
		case [][]element:
			f.options = append(f.options, p...)
		default:
			panic(fmt.Sprintf("cli: %T in the command table", p))
		}
	}
	return f
}

// same is a command that "no" undoes in the same words.
func same(modes []mode, do func(context.Context, *call) error, parts ...any) *command {
	f := seq(parts...)
	return &command{modes: modes, form: f, no: &f, do: do}
}

func noForm(parts ...any) *form {
	f := seq(parts...)
	return &f
}

func opt(elements ...element) []element { return elements }

// path is a compiled form: one command, with or without "no" or "do" in front.
type path struct {
	cmd *command
	no  bool
	form
}

// grammar holds the compiled forms of each mode.
type grammar map[mode][]path

// compile turns the command table into the forms of every mode. Exec commands
// are also known in every configuration mode behind "do".
func compile(table []*command) grammar {
	g := grammar{}
	for _, c := range table {
		for _, m := range c.modes {
			g[m] = append(g[m], path{cmd: c, form: c.form})
			if c.no != nil {
				f := form{fixed: append(words("no"), c.no.fixed...), options: c.no.options}
				g[m] = append(g[m], path{cmd: c, no: true, form: f})
			}
		}
	}
	for _, p := range g[modeExec] {
		p.fixed = append(words("do"), p.fixed...)
		for _, m := range configuring() {
			g[m] = append(g[m], p)
		}
	}
	return g
}
