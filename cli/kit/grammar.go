package kit

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Mode is a mode of the shell. It determines which commands are available and what they apply to. Each feature of TAM
// has a mode with the name of its keyword.
type Mode string

// Modes that do not belong to a feature.
const (
	ModeExec      Mode = ""
	ModeConfig    Mode = "config"
	ModeTAM       Mode = "tam"
	ModeInterface Mode = "interface"
	ModePipe      Mode = "|" // not a real mode: the grammar after "|"
)

// Modes of most commands.
var (
	InExec      = []Mode{ModeExec}
	InConfig    = []Mode{ModeConfig}
	InTAM       = []Mode{ModeTAM}
	InInterface = []Mode{ModeInterface}
)

// Submode is a mode below exec mode, with its parent and its prompt.
type Submode struct {
	Mode, Parent Mode
	Prompt       string
	Enter        string // command of the parent that leads to the mode, as users type it
}

// Below returns the submode with its parent and prompt. It returns false for exec mode.
func (g Grammar) Below(m Mode) (Submode, bool) {
	if i := slices.IndexFunc(g.modes, func(p Submode) bool { return p.Mode == m }); i >= 0 {
		return g.modes[i], true
	}
	return Submode{Mode: m, Parent: m}, false
}

// Parent returns the mode that `exit` returns to. Its commands are tried when the present mode does not have a command.
func (g Grammar) Parent(m Mode) (Mode, bool) {
	p, ok := g.Below(m)
	return p.Parent, ok
}

// Element is one word of a command's grammar: a keyword or a parameter.
type Element struct {
	Word    string // the keyword; empty for a parameter
	Name    string // name of a parameter's value in Call.Args
	ArgKind *Kind
	Help    string
	// whole means that the keyword cannot be abbreviated, so that abbreviations of other keywords stay unambiguous.
	whole bool
	Many  bool // true for a last parameter with zero or more values, which are joined by ManySeparator
	Spare bool // true for the last parameter of an option if it may be omitted
}

// ManySeparator joins the values of a parameter with Many. It never occurs in a word of a command line.
const ManySeparator = "\x00"

// A Next is a word that may continue a text. It replaces the text from byte From on.
type Next struct {
	From       int
	Text, Help string
}

// Kind is a type of parameter.
type Kind struct {
	Label   string                                                  // name in help, for example "<1-65535>"
	Parse   func(text string) (string, error)                       // returns the canonical text, or an error
	Choices []Choice                                                // fixed values, which may be abbreviated
	Live    func(ctx context.Context, s *Session) ([]string, error) // existing values, for TAB and ?
	// Next returns how a text of several words may continue, for TAB and ?; nil means that this is unknown.
	Next func(ctx context.Context, s *Session, text string) ([]Next, error)
	// true if several values, separated by commas, are allowed
	List bool
	// Text is true if the value may be all words up to the end of the line.
	Text bool

	// ToTree returns the canonical text in the form of the tree, or nil to omit the value. If ToTree itself is nil, the
	// text is used as a string.
	ToTree   func(text string) any
	FromTree func(text string) string // inverse of ToTree; nil means that the text is unchanged
}

// JSON returns a value as the tree represents it. A nil kind means a keyword without a value, which is true.
func (k *Kind) JSON(text string) any {
	switch {
	case k == nil:
		return true
	case k.ToTree == nil:
		return text
	}
	return k.ToTree(text)
}

// words returns a value of the tree in the form of a command.
func (k *Kind) words(text string) string {
	if k == nil || k.FromTree == nil {
		return text
	}
	return k.FromTree(text)
}

// A Choice is a possible value of a parameter.
type Choice struct{ Word, Help string }

// Form is one form of a command: elements in order, followed by options. Each option may occur once, and options may be
// in any order.
type Form struct {
	Fixed   []Element
	Options [][]Element
}

// Command is a row of the command table. Exactly one of Do and Show is set.
type Command struct {
	Modes []Mode
	Form  Form
	No    *Form // what may follow "no"; nil if there is no such form
	Do    func(ctx context.Context, c *Call) error
	Show  func(ctx context.Context, c *Call) (*View, error)
}

// Call is one use of a command.
type Call struct {
	Session *Session
	Args    map[string]string // values by parameter name; the keyword of an option has the value ""
	No      bool

	Brief bool // true if the output is text, which needs only a part of a list's data
}

// Has reports whether an option's keyword or a parameter was given.
func (c *Call) Has(name string) bool { _, ok := c.Args[name]; return ok }

// Keyword returns an element for a literal word.
func Keyword(word, help string) Element { return Element{Word: word, Help: help} }

// Alias returns an element for another spelling of a keyword, which cannot be abbreviated.
func Alias(word, help string) Element { return Element{Word: word, Help: help, whole: true} }

// Arg returns an element for a parameter.
func Arg(name string, kind *Kind, help string) Element {
	return Element{Name: name, ArgKind: kind, Help: help}
}

// Words returns the words of a phrase as keywords. Their help is that of WordHelp.
func Words(phrase string) []Element {
	var out []Element
	for w := range strings.FieldsSeq(phrase) {
		out = append(out, Keyword(w, WordHelp[w]))
	}
	return out
}

// Seq returns a form. Strings are keywords, elements follow one another, and lists of elements are options.
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

// Same returns a command whose "no" form has the same words, and undoes it.
func Same(modes []Mode, do func(context.Context, *Call) error, parts ...any) *Command {
	f := Seq(parts...)
	return &Command{Modes: modes, Form: f, No: &f, Do: do}
}

// NoForm returns [Seq] for the words after "no".
func NoForm(parts ...any) *Form {
	f := Seq(parts...)
	return &f
}

// Opt returns an option of some elements.
func Opt(elements ...Element) []Element { return elements }

// path is a compiled form of one command, with or without a leading "no" or "do".
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

// Compile converts the command table into the forms of every mode. Exec commands are also available in every
// configuration mode after "do".
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

// WordHelp contains the help of keywords that occur in many commands.
var WordHelp = map[string]string{
	"no":                    "Remove or reset",
	"do":                    "Run a command of the exec mode",
	"show":                  "Show what is",
	"clear":                 "Count from zero again, or remove the configuration of a feature",
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

// Pick returns a possible value of an argument.
func Pick(word, help string) Choice { return Choice{word, help} }
