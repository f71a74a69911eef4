package kit

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Mode is a mode of the shell: it says which commands are known and what they apply to. Each
// feature of TAM has one, of the name of its keyword.
type Mode string

// Modes besides those of features.
const (
	ModeExec      Mode = ""
	ModeConfig    Mode = "config"
	ModeTAM       Mode = "tam"
	ModeInterface Mode = "interface"
	ModePipe      Mode = "|" // not a place: the grammar of what follows "|"
)

// Where most commands are.
var (
	InExec      = []Mode{ModeExec}
	InConfig    = []Mode{ModeConfig}
	InTAM       = []Mode{ModeTAM}
	InInterface = []Mode{ModeInterface}
)

// Submode is a mode below exec mode: the one above it, and what the prompt says.
type Submode struct {
	Mode, Parent Mode
	Prompt       string
}

// Below says where a mode is; false: it is exec mode.
func (g Grammar) Below(m Mode) (Submode, bool) {
	if i := slices.IndexFunc(g.modes, func(p Submode) bool { return p.Mode == m }); i >= 0 {
		return g.modes[i], true
	}
	return Submode{Mode: m, Parent: m}, false
}

// Parent is the mode that `exit` returns to, and the one whose commands are
// tried when the present mode does not know a command.
func (g Grammar) Parent(m Mode) (Mode, bool) {
	p, ok := g.Below(m)
	return p.Parent, ok
}

// Element is one word of a command's grammar: a keyword or a parameter.
type Element struct {
	Word    string // the keyword; empty for a parameter
	Name    string // parameter: the name of its value in call.args
	ArgKind *Kind
	Help    string
	// whole keywords are not abbreviated, so that they leave the abbreviations of others alone.
	whole bool
	Many  bool // the last parameter: none, or several, which are one value with ManySeparator between
	Spare bool // the last parameter of an option, which may be left out
}

// ManySeparator is in no word of a line.
const ManySeparator = "\x00"

// Kind is a type of parameter.
type Kind struct {
	Label   string                                                  // how help names it, "<1-65535>"
	Parse   func(text string) (string, error)                       // canonical text, or why not
	Choices []Choice                                                // fixed values; abbreviations are accepted
	Live    func(ctx context.Context, s *Session) ([]string, error) // values that exist now, for TAB and ?
	List    bool                                                    // several values with commas between

	ToTree   func(text string) any    // the canonical text in the tree; nil result: left out; nil: a string
	FromTree func(text string) string // the inverse; nil: as it is
}

// JSON returns a value as the tree represents it. Without a kind a keyword stands alone, and means true.
func (k *Kind) JSON(text string) any {
	switch {
	case k == nil:
		return true
	case k.ToTree == nil:
		return text
	}
	return k.ToTree(text)
}

// words returns a value of the tree as a command takes it.
func (k *Kind) words(text string) string {
	if k == nil || k.FromTree == nil {
		return text
	}
	return k.FromTree(text)
}

// A Choice is a value that a parameter may have.
type Choice struct{ Word, Help string }

// Form is one way to write a command: elements in their order, then options,
// each at most once and in any order.
type Form struct {
	Fixed   []Element
	Options [][]Element
}

// Command is one row of the command table. Exactly one of do and show is set.
type Command struct {
	Modes []Mode
	Form  Form
	No    *Form // what may follow "no"; nil when there is no such form
	Do    func(ctx context.Context, c *Call) error
	Show  func(ctx context.Context, c *Call) (*View, error)
}

// Call is one use of a command.
type Call struct {
	Session *Session
	Args    map[string]string // by parameter name; keywords of options are present with ""
	No      bool

	Brief bool // it is for a text, which shows less of a list than all its data
}

// Has reports whether an option keyword or parameter was given.
func (c *Call) Has(name string) bool { _, ok := c.Args[name]; return ok }

// Keyword is a word that a command has as it is.
func Keyword(word, help string) Element { return Element{Word: word, Help: help} }

// Alias is another spelling of a keyword, which is typed as a whole.
func Alias(word, help string) Element { return Element{Word: word, Help: help, whole: true} }

// Arg is a parameter.
func Arg(name string, kind *Kind, help string) Element {
	return Element{Name: name, ArgKind: kind, Help: help}
}

// Words makes keywords without own help from a phrase; their help is that of
// the phrase's entry in WordHelp.
func Words(phrase string) []Element {
	var out []Element
	for w := range strings.FieldsSeq(phrase) {
		out = append(out, Keyword(w, WordHelp[w]))
	}
	return out
}

// Seq is a form: texts are keywords, elements follow one another, and lists of elements are options.
func Seq(parts ...any) Form {
	var f Form
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			f.Fixed = append(f.Fixed, Words(p)...)
		case Element:
			f.Fixed = append(f.Fixed, p)
		case []Element:
			f.Options = append(f.Options, p)
		case [][]Element:
			f.Options = append(f.Options, p...)
		default:
			panic(fmt.Sprintf("cli: %T in the command table", p))
		}
	}
	return f
}

// Same is a command that "no" undoes in the same words.
func Same(modes []Mode, do func(context.Context, *Call) error, parts ...any) *Command {
	f := Seq(parts...)
	return &Command{Modes: modes, Form: f, No: &f, Do: do}
}

// NoForm is [Seq] for what follows "no".
func NoForm(parts ...any) *Form {
	f := Seq(parts...)
	return &f
}

// Opt is an option of some elements.
func Opt(elements ...Element) []Element { return elements }

// path is a compiled form: one command, with or without "no" or "do" in front.
type path struct {
	Cmd *Command
	No  bool
	Form
}

// Grammar holds the compiled forms of each mode.
type Grammar struct {
	Forms map[Mode][]path
	modes []Submode
}

// Compile turns the command table into the forms of every mode. Exec commands
// are also known in every configuration mode behind "do".
func Compile(table []*Command, modes []Submode) Grammar {
	forms := map[Mode][]path{}
	for _, c := range table {
		for _, m := range c.Modes {
			forms[m] = append(forms[m], path{Cmd: c, Form: c.Form})
			if c.No != nil {
				f := Form{Fixed: append(Words("no"), c.No.Fixed...), Options: c.No.Options}
				forms[m] = append(forms[m], path{Cmd: c, No: true, Form: f})
			}
		}
	}
	for _, p := range forms[ModeExec] {
		p.Fixed = append(Words("do"), p.Fixed...)
		for _, m := range modes {
			forms[m.Mode] = append(forms[m.Mode], p)
		}
	}
	return Grammar{forms, modes}
}

// WordHelp explains keywords that occur in many commands.
var WordHelp = map[string]string{
	"no":                    "Remove or reset",
	"do":                    "Run a command of the exec mode",
	"show":                  "Show what is",
	"clear":                 "Have counters count from zero again",
	"tam":                   "Telemetry and monitoring",
	"counters":              "Counters",
	"interface":             "Ports and port channels",
	"breakout":              "Split a cage into several ports",
	"port":                  "Which port",
	"mode":                  "Ports and speed",
	"configure":             "Change the configuration",
	"terminal":              "From this session",
	"running-configuration": "The configuration, as the commands that make it",
	"switch-id":             "What names this switch in what it writes into packets",
	"enterprise-id":         "Who names the switches",
	"collector":             "Where reports go",
	"sampler":               "One packet in how many",
	"flow-group":            "Which packets are meant",
	"session":               "A flow group that is stamped",
	"switchport":            "VLANs of the interface",
	"Vlan":                  "VLAN",
	"PortChannel":           "Port channel",
	"Ethernet":              "Port",
}

// Pick is a value that an argument may have.
func Pick(word, help string) Choice { return Choice{word, help} }
