package pipe

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// A Program is plain data: everything that runs in the stages of a chip's two pipes. The package comment defines the
// meaning of each part. All names have at most 64 characters: a letter or underscore, followed by letters, digits,
// underscores or hyphens. This applies to programs, user fields, hashes, registers, instructions, tables, actions and
// parameters. Each name is unique among its kind in its pipe. User fields are unique in the program, and instructions,
// actions and parameters in the object that contains them.
type Program struct {
	Name    string  `json:"name"`
	Fields  []Field `json:"fields,omitempty"`
	Ingress Pipe    `json:"ingress,omitzero"`
	Egress  Pipe    `json:"egress,omitzero"`
}

// A Field is a user field of the PHV.
type Field struct {
	Name  string `json:"name"`
	Width uint8  `json:"width"` // bits, 1 to 64
	// Bridged fields keep their value from the end of the ingress pipe to the egress pipe. All others are 0 when a pipe
	// begins.
	Bridged bool `json:"bridged,omitempty"`
}

// A Pipe holds the content of one pipe. The order of Tables is the order in which gates see the outcome of other tables
// of the same stage.
type Pipe struct {
	Hashes    []Hash     `json:"hashes,omitempty"`
	Registers []Register `json:"registers,omitempty"`
	Tables    []Table    `json:"tables,omitempty"`
}

// A Hash is a CRC over fields. Its result is an operand in its own stage.
type Hash struct {
	Name  string `json:"name"`
	Stage uint8  `json:"stage"`
	// CRC names one of [Polynomials]. If it is empty, Width, 16 or 32, and Poly, without the most significant term,
	// define the polynomial.
	CRC    string  `json:"crc,omitempty"`
	Width  uint8   `json:"width,omitempty"`
	Poly   uint32  `json:"poly,omitempty"`
	Seed   uint32  `json:"seed,omitempty"`
	Bits   uint8   `json:"bits,omitempty"` // number of low bits that are kept; zero means all
	Inputs []Input `json:"inputs"`
}

// An Input is a masked field of a hash or of a table's key.
type Input struct {
	Field string `json:"field"`
	Mask  uint64 `json:"mask,omitempty"` // zero means the whole field
}

// A Register is an array of words in one stage with one stateful ALU. The actions of one table use it.
type Register struct {
	Name         string        `json:"name"`
	Stage        uint8         `json:"stage"`
	Width        uint8         `json:"width"` // bits, 1 to 64
	Depth        uint32        `json:"depth"` // words
	Instructions []Instruction `json:"instructions"`
}

// An Instruction is an operation of a stateful ALU on a word. It has at most two conditions and two updates.
type Instruction struct {
	Name       string      `json:"name"`
	Conditions []Condition `json:"conditions,omitempty"`
	Updates    []Update    `json:"updates,omitempty"`
	Output     Output      `json:"output,omitzero"`
}

// A Condition is an unsigned comparison: eq, ne, lt, le, gt, ge.
type Condition struct {
	Is string `json:"is"`
	A  Source `json:"a"`
	B  Source `json:"b"`
}

// An Update sets the word to a new value when its guard holds.
type Update struct {
	// When is the guard. Empty means always. 0 or 1 means that the condition of that index holds, !0 or !1 that it does
	// not. Two are combined by & or |, the lower index first, as in 0&!1.
	When string `json:"when,omitempty"`
	// Do is set (to A), add, sub, adds, subs (the same, saturating), and, or, xor, andnot (A and not B), min or max.
	Do string `json:"do"`
	A  Source `json:"a"`
	B  Source `json:"b,omitzero"`
}

// An Output is the value that an instruction returns to the PHV.
type Output struct {
	When string `json:"when,omitempty"` // as for an update; the output is 0 if it does not hold
	// Value is old or new (the word before or after), predicate (bits 0 and 1 are the conditions), x or y. Empty means
	// 0.
	Value string `json:"value,omitempty"`
}

// A Source is an operand inside a stateful ALU: mem (the word before the update), x or y (of the call), or const.
type Source struct {
	From  string `json:"from"`
	Const uint64 `json:"const,omitempty"`
}

// A Table matches a key and runs an action.
type Table struct {
	Name  string `json:"name"`
	Stage uint8  `json:"stage"`
	// Gate defines when the table runs: when every term of one of its rows holds. Without rows the table always runs.
	Gate  [][]Term `json:"gate,omitempty"`
	Match string   `json:"match"` // always, exact, ternary, lpm or index
	Key   []Input  `json:"key,omitempty"`
	Size  uint32   `json:"size,omitempty"` // maximum number of entries
	// Counters enables counting of packets and bytes per entry, and for the default.
	Counters bool     `json:"counters,omitempty"`
	Actions  []Action `json:"actions,omitempty"`
	Default  Choice   `json:"default,omitzero"`
	Entries  []Entry  `json:"entries,omitempty"`
}

// A Term is a condition on a field, or on the outcome of an earlier table.
type Term struct {
	Field string `json:"field,omitempty"`
	Mask  uint64 `json:"mask,omitempty"` // zero means the whole field
	Table string `json:"table,omitempty"`
	// Is compares a field with Value, unsigned, by eq, ne, lt, le, gt or ge. For a table it is ran, skipped, hit, miss
	// or action. action holds if the table ran Action.
	Is     string `json:"is"`
	Value  uint64 `json:"value,omitempty"`
	Action string `json:"action,omitempty"`
}

// An Action is a list of simultaneous operations: all read the PHV as it was when the stage began.
type Action struct {
	Name   string  `json:"name"`
	Params []Param `json:"params,omitempty"`
	Calls  []Call  `json:"calls,omitempty"`
	Ops    []Op    `json:"ops,omitempty"`
}

// A Param is action data: each entry has its own value.
type Param struct {
	Name  string `json:"name"`
	Width uint8  `json:"width"` // bits, 1 to 64
}

// A Call runs an instruction of a register on the word Index.
type Call struct {
	Register    string  `json:"register"`
	Instruction string  `json:"instruction"`
	Index       Operand `json:"index,omitzero"`
	X           Operand `json:"x,omitzero"`
	Y           Operand `json:"y,omitzero"`
	To          string  `json:"to,omitempty"` // field that receives the output
}

// An Op writes a field.
type Op struct {
	// Do is set, add, sub, and, or, xor, shl, shr, min, max or select. set returns A. shl and shr shift A by B. select
	// returns A if If is not 0, else B.
	Do string  `json:"do"`
	To string  `json:"to"`
	A  Operand `json:"a,omitzero"`
	B  Operand `json:"b,omitzero"`
	If Operand `json:"if,omitzero"`
}

// An Operand is a slice of a field, of a hash of the same stage or of a parameter, or a constant. At most one of the
// four is set. With none it is 0.
type Operand struct {
	Field string `json:"field,omitempty"`
	Hash  string `json:"hash,omitempty"`
	Param string `json:"param,omitempty"`
	Const uint64 `json:"const,omitempty"`
	// Shift and Bits define the slice (value >> Shift) mod 2^Bits. Bits 0 means all remaining bits. They are not for
	// constants.
	Shift uint8 `json:"shift,omitempty"`
	Bits  uint8 `json:"bits,omitempty"`
}

// A Choice is an action with its arguments, one per parameter. An empty Action means that no action runs.
type Choice struct {
	Action string   `json:"action,omitempty"`
	Args   []uint64 `json:"args,omitempty"`
}

// An Entry is a row of a table. ID is chosen by the controller and unique in the table.
type Entry struct {
	ID uint32 `json:"id"`
	// Key has one match per key field.
	Key []Match `json:"key,omitempty"`
	// Priority is for ternary tables only. The matching entry with the highest priority wins, then the one with the
	// lowest ID.
	Priority uint32 `json:"priority,omitempty"`
	// Prefix is for lpm tables only. It is the number of leading bits of the key that must match.
	Prefix uint32 `json:"prefix,omitempty"`
	Choice
}

// A Match is the value of one key field, and for a ternary field also the mask.
type Match struct {
	Value uint64 `json:"value"`
	Mask  uint64 `json:"mask,omitempty"` // for ternary tables; zero matches everything
}

// maxJSON is the maximum number of bytes that Read accepts.
const maxJSON = 16 << 20

// Read reads a program as JSON. It refuses unknown fields by name, and any text after the program. The result is not
// yet validated.
func Read(r io.Reader) (*Program, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxJSON+1))
	if err != nil {
		return nil, fmt.Errorf("program: %w", err)
	}
	if len(text) > maxJSON {
		return nil, fmt.Errorf("program: more than %d bytes of JSON", maxJSON)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	p := new(Program)
	if err := d.Decode(p); err != nil {
		return nil, fmt.Errorf("program: JSON near byte %d: %w", d.InputOffset(), err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("program: something follows the JSON object at byte %d", d.InputOffset())
	}
	return p, nil
}
