package p4

import (
	"fmt"
	"math/big"
)

// A Program is one compiled P4 program. It does not change after it is read.
type Program struct {
	Name string // of the P4 source file; empty if the file does not contain it
	File string // name of the JSON file, for messages
	// Version is the version of the file format. It is [0 0] for a file without a version.
	Version [2]int

	HeaderTypes  []*HeaderType
	Headers      []*Header // in the order of their Index
	Stacks       []*Stack
	Unions       []*Union
	UnionStacks  []*UnionStack
	Errors       map[string]int // codes of parser errors, with those of the core library
	FieldLists   map[int]*FieldList
	Digests      map[int]*FieldList
	ValueSets    []*ValueSet
	Parser       *Parser
	Deparser     *Deparser
	Meters       []*Meter
	Counters     []*Counter
	Registers    []*Register
	Calculations []*Calculation
	Checksums    []*Checksum
	Actions      []*Action
	Profiles     []*Profile
	Ingress      *Pipeline
	Egress       *Pipeline
	// Standard holds the fields that the architecture reads and writes.
	Standard Standard
}

// Standard holds the fields of v1model's metadata. A field that the program does not have is the zero FieldRef.
type Standard struct {
	IngressPort, PacketLength, EgressSpec, EgressPort, InstanceType   FieldRef
	ParserError, ChecksumError                                        FieldRef
	IngressTime, EgressTime, MulticastGroup, EgressRID, Priority      FieldRef
	EnqueueTime, EnqueueDepth, DequeueDelta, DequeueDepth, QueueIndex FieldRef
}

// Source is a position in the P4 source. The zero value means that the file does not contain it.
type Source struct {
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	Fragment string `json:"fragment,omitempty"` // the source text, possibly shortened by the compiler
}

// String returns the position as "file:line", or "" if it is unknown.
func (s Source) String() string {
	switch {
	case s.Line == 0:
		return s.File
	case s.File == "":
		return fmt.Sprintf("line %d", s.Line)
	}
	return fmt.Sprintf("%s:%d", s.File, s.Line)
}

// A Field is one field of a header type.
type Field struct {
	Name  string
	Width int // in bits; the largest width for a field of variable width
	// Signed fields hold two's complement.
	Signed bool
	// Saturating fields keep their largest or smallest value when a stored value does not fit.
	Saturating bool
	// Var is set for the field of variable width (varbit).
	Var bool
}

// A HeaderType is the layout of headers, most significant bit first.
type HeaderType struct {
	Name   string
	Fields []Field
	Bits   int // width of all fields with a fixed width
	Var    int // index of the field with a variable width, or -1
	// VarLength computes the width of the variable field in bits when an extraction gives none (P4_14). Local
	// expressions are fields of the header itself.
	VarLength *Expr
	MaxBytes  int // largest size of the header; 0 without a variable field
}

// A Header is a header instance. Metadata are headers that are always valid.
type Header struct {
	Name     string
	Index    int // in Program.Headers
	Type     *HeaderType
	Metadata bool
	Union    *Union // the union that contains the header, or nil
}

// A Stack is an array of headers of one type.
type Stack struct {
	Name    string
	Index   int // in Program.Stacks
	Type    *HeaderType
	Headers []*Header
}

// A Union is a set of headers of which at most one is valid.
type Union struct {
	Name    string
	Index   int // in Program.Unions
	Type    string
	Headers []*Header
}

// A UnionStack is an array of unions of one type.
type UnionStack struct {
	Name   string
	Index  int // in Program.UnionStacks
	Type   string
	Unions []*Union
}

// Valid is the index of the hidden one-bit field that holds the validity of a header.
const Valid = -1

// A FieldRef is a field of a header instance.
type FieldRef struct {
	Header *Header
	Index  int // in the header type's fields, or Valid
}

// Exists reports whether the reference names a field.
func (f FieldRef) Exists() bool { return f.Header != nil }

// Width returns the width of the field in bits.
func (f FieldRef) Width() int {
	if f.Index == Valid {
		return 1
	}
	return f.Header.Type.Fields[f.Index].Width
}

// String returns the field as "header.field".
func (f FieldRef) String() string {
	switch {
	case f.Header == nil:
		return "no field"
	case f.Index == Valid:
		return f.Header.Name + "." + validName
	}
	return f.Header.Name + "." + f.Header.Type.Fields[f.Index].Name
}

// An Input is one part of a field list, a hash's input or a selector's input: a field, a constant, a whole header, or
// the payload.
type Input struct {
	Field    FieldRef
	Header   *Header
	Constant *big.Int
	Width    int // of the constant, in bits
	Payload  bool
}

// A FieldList lists the fields that a copy keeps (clone, resubmit, recirculate), or those of a digest.
type FieldList struct {
	ID    int
	Name  string
	Parts []Input
}

// A ValueSet is a set of select values that the control plane fills.
type ValueSet struct {
	Name  string
	Index int // in Program.ValueSets
	Width int // of a value in bits, without padding
}

// Expand returns a value of the set as a padded key of parts with these widths: each part as whole bytes.
func (s *ValueSet) Expand(value *big.Int, parts []int) *big.Int {
	out, left := new(big.Int), s.Width
	for _, width := range parts {
		left -= width
		part := new(big.Int).Rsh(value, uint(max(left, 0)))
		part.And(part, mask(width))
		out.Lsh(out, uint(bytesOf(width)*8)).Or(out, part)
	}
	return out
}

// A Parser is a state machine that extracts headers.
type Parser struct {
	Name   string
	Start  *State
	States []*State
}

// A State is one state of the parser.
type State struct {
	Name   string
	Ops    []ParserOp
	Key    []KeyPart // empty if the state does not select
	Cases  []Case    // the first that matches decides
	Next   *State    // without a matching case; nil ends parsing
	Source Source
}

// A KeyPart is one part of a select key: a field, a field of the last header of a stack, or bits ahead.
type KeyPart struct {
	Value *Expr // nil for a lookahead
	Ahead Lookahead
	Width int
}

// Lookahead is a number of bits that have not been extracted yet.
type Lookahead struct {
	Offset, Width int // in bits
}

// A Case is one case of a select. Keys are padded: each part has whole bytes.
type Case struct {
	Value *big.Int
	Mask  *big.Int  // nil compares all bits
	Set   *ValueSet // if not nil, any value of the set matches
	Parts []int     // widths of the key's parts, for Set
	Next  *State    // nil ends parsing
}

// ParserOpKind is what a parser operation does.
type ParserOpKind string

// The operations of a parser.
const (
	Extract ParserOpKind = "extract" // to Header, or to the next element of Stack or UnionStack
	Set     ParserOpKind = "set"     // Target from Value or Ahead
	Verify  ParserOpKind = "verify"  // Value is the condition, Code the error
	Advance ParserOpKind = "advance" // Value is a number of bits
	Call    ParserOpKind = "primitive"
)

// A ParserOp is one operation of a parser state.
type ParserOp struct {
	Kind       ParserOpKind
	Header     *Header
	Stack      *Stack
	UnionStack *UnionStack
	Member     int   // of the union
	Length     *Expr // width of the variable field in bits; nil for an extraction of fixed width
	Target     FieldRef
	Value      *Expr
	Ahead      *Lookahead
	Code       *Expr
	Statement  *Statement
	Source     Source
}

// A Deparser writes the valid headers in its order, in front of the payload.
type Deparser struct {
	Name       string
	Statements []*Statement // run before the headers are written
	Order      []*Header
}

// A Meter is an array of meters.
type Meter struct {
	Name   string
	Index  int // in Program.Meters
	Bytes  bool
	Rates  int // 2 for RFC 2698
	Size   int // 0 if direct
	Direct bool
	Table  string   // of a direct meter
	Result FieldRef // receives the colour of a direct meter
}

// A Counter is an array of counters of packets and bytes.
type Counter struct {
	Name   string
	Index  int // in Program.Counters
	Size   int // 0 if direct
	Direct bool
	Table  string // of a direct counter
}

// A Register is an array of numbers.
type Register struct {
	Name  string
	Index int // in Program.Registers
	Size  int
	Width int // of an element in bits
}

// A Calculation is a hash or checksum over its inputs.
type Calculation struct {
	Name  string
	Index int // in Program.Calculations
	// Algorithm is one of the names that the file format defines, such as crc32.
	Algorithm string
	Input     []Input
}

// A Checksum is verified after parsing and updated before deparsing.
type Checksum struct {
	Name           string
	Target         FieldRef
	Calculation    *Calculation
	Condition      *Expr // nil for always
	Update, Verify bool
}

// A Param is a parameter of an action.
type Param struct {
	Name  string
	Width int
}

// An Action is a list of statements with parameters.
type Action struct {
	ID         int
	Name       string
	Params     []Param
	Statements []*Statement
	Source     Source
}

// A Statement calls a primitive.
type Statement struct {
	Op     string
	Args   []*Expr
	Source Source
}

// An ActionCall is an action with its arguments.
type ActionCall struct {
	Action *Action
	Data   []*big.Int
}

// A Profile is an action profile: a list of members that entries name, and groups of members with a selector.
type Profile struct {
	Name     string
	Index    int // in Program.Profiles
	MaxSize  int
	Selector *Calculation // nil without groups
	Actions  []*Action
}

// A Pipeline is a graph without loops.
type Pipeline struct {
	Name   string
	Start  *Node // nil if the pipeline is empty
	Nodes  []*Node
	Tables []*Table
}

// A Node is a table, a condition or the call of an action.
type Node struct {
	Name  string
	Table *Table
	// Condition is nil unless the node is a condition.
	Condition   *Expr
	True, False *Node // successors of a condition; nil ends the pipeline
	Action      *Action
	Next        *Node // of the call of an action
	Source      Source
}

// MatchKind is how a key field is compared.
type MatchKind string

// The kinds of key fields and of tables. P4's optional is written as ternary.
const (
	Exact   MatchKind = "exact"
	LPM     MatchKind = "lpm"
	Ternary MatchKind = "ternary"
	Range   MatchKind = "range"
)

// A Key is one field of a table's key.
type Key struct {
	Name  string
	Kind  MatchKind
	Field FieldRef
	Mask  *big.Int // applied to the packet's value; nil for all bits
	// Validity is set for the match kind "valid" of old files; entries then have true or false.
	Validity bool
}

// A Match is the value of one key field in an entry.
type Match struct {
	Kind   MatchKind
	Value  *big.Int // for a range, the lowest value
	Mask   *big.Int // for ternary
	High   *big.Int // for a range, the highest value
	Prefix int      // for lpm
}

// An Entry is an entry that the program contains.
type Entry struct {
	Match    []Match
	Call     ActionCall
	Priority int // the lowest number wins
}

// A Table is a match-action table.
type Table struct {
	Name    string
	Index   int       // over both pipelines
	Kind    MatchKind // of the whole table
	Key     []Key
	MaxSize int
	Actions []*Action
	// Next has the successors by action if ByHit is not set.
	Next      map[*Action]*Node
	ByHit     bool
	Hit, Miss *Node // successors if ByHit is set
	// Base is the successor after a miss if there is no default action.
	Base    *Node
	Default *ActionCall // nil without one
	// ConstAction forbids another default action, ConstEntry also other arguments.
	ConstAction, ConstEntry bool
	Entries                 []Entry
	Const                   bool     // the entries cannot change
	Profile                 *Profile // nil unless the entries name members of an action profile
	Counter                 *Counter // direct, or nil
	Counts                  bool     // whether entries count packets, with or without a named counter
	Meter                   *Meter   // direct, or nil
	Timeout                 bool     // entries can have an idle timeout
	Source                  Source
}

func bytesOf(bits int) int { return (bits + 7) / 8 }

// mask returns a number with the given count of ones.
func mask(bits int) *big.Int {
	m := new(big.Int).Lsh(big.NewInt(1), uint(bits))
	return m.Sub(m, big.NewInt(1))
}
