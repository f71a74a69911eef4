package p4

import "math/big"

// Kind is the type of an expression.
type Kind uint8

// The types of expressions. Numbers have any width and a sign; only a store cuts them to a field's width.
const (
	Number Kind = iota
	Boolean
	HeaderKind
	StackKind
	UnionKind
	UnionStackKind
	RegisterKind
	MeterKind
	CounterKind
	CalculationKind
	TextKind
	ListKind
)

var kindNames = [...]string{
	"a number", "a boolean", "a header", "a header stack", "a header union", "a stack of unions", "a register array",
	"a meter array", "a counter array", "a calculation", "a text", "a list of values",
}

// String returns the kind in words, for messages.
func (k Kind) String() string { return kindNames[k] }

// Op is the operation of an expression. Operators have the names of the file format.
type Op string

// The operations of expressions.
const (
	Const         Op = "const"          // Value
	True          Op = "true"           // a boolean constant
	False         Op = "false"          // a boolean constant
	FieldOp       Op = "field"          // Field
	Local         Op = "local"          // Index of a parameter, or of a field in HeaderType.VarLength
	LastField     Op = "stack_field"    // field Index of the last header of Stack
	LastUnion     Op = "union_field"    // field Index of header Member of the last union of UnionStack
	HeaderOp      Op = "header"         // Header
	StackOp       Op = "header_stack"   // Stack
	UnionOp       Op = "header_union"   // Union
	UnionStackOp  Op = "union_stack"    // UnionStack
	RegisterCell  Op = "register"       // element Left of Register
	RegisterOp    Op = "register_array" // Register
	MeterOp       Op = "meter_array"    // Meter
	CounterOp     Op = "counter_array"  // Counter
	CalculationOp Op = "calculation"    // Calculation
	TextOp        Op = "string"         // Text
	ListOp        Op = "list"           // List

	Add          Op = "+"
	Sub          Op = "-"
	Mul          Op = "*"
	Div          Op = "/"
	Mod          Op = "%"
	ShiftLeft    Op = "<<"
	ShiftRight   Op = ">>"
	Equal        Op = "=="
	NotEqual     Op = "!="
	Greater      Op = ">"
	GreaterEqual Op = ">="
	Less         Op = "<"
	LessEqual    Op = "<="
	And          Op = "and"
	Or           Op = "or"
	Not          Op = "not"
	BitAnd       Op = "&"
	BitOr        Op = "|"
	BitXor       Op = "^"
	BitNot       Op = "~"
	IsValid      Op = "valid"
	UnionValid   Op = "valid_union"
	DataToBool   Op = "d2b"
	BoolToData   Op = "b2d"
	TwoComp      Op = "two_comp_mod"
	SatCast      Op = "sat_cast"
	USatCast     Op = "usat_cast"
	Ternary2     Op = "?" // Cond decides between Left and Right
	StackElement Op = "dereference_header_stack"
	UnionElement Op = "dereference_union_stack"
	LastIndex    Op = "last_stack_index"
	StackSize    Op = "size_stack"
	AccessField  Op = "access_field"        // field Index of header Left
	AccessUnion  Op = "access_union_header" // header Index of union Left
)

// An Expr is a typed expression.
type Expr struct {
	Op                Op
	Kind              Kind
	Cond, Left, Right *Expr
	Value             *big.Int
	Index, Member     int
	Field             FieldRef
	Header            *Header
	Stack             *Stack
	Union             *Union
	UnionStack        *UnionStack
	Register          *Register
	Meter             *Meter
	Counter           *Counter
	Calculation       *Calculation
	Text              string
	List              []*Expr
	// Type is the type of a header expression's header.
	Type *HeaderType
}
