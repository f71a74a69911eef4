package sai

// A codec holds the parts that differ between kinds: the zero value, and the conversion from and to ASIC_DB text.
type codec struct {
	zero  func(n int) Value // returns the zero value; a list has n items
	parse func(m *AttrMeta, text string) (Value, error)
	// append appends the text of a value. It fails if the value is of another kind or out of range.
	append func(m *AttrMeta, b []byte, v Value) ([]byte, error)
}

// kinds is the number of kinds, including the one for unknown words in metadata.txt.
const kinds = KindQoSMapList + 1

// codecs returns the codecs of all kinds. Each attribute stores its own. A package variable would be an
// initialization cycle, since codecs and metadata need each other.
func codecs() *[kinds]codec {
	return &[kinds]codec{
		KindBool:          {always(Bool(false)), (*AttrMeta).parseBool, of(appendBool)},
		KindU8:            {always(Uint(0)), (*AttrMeta).parseUnsigned, of(appendUnsigned)},
		KindU16:           {always(Uint(0)), (*AttrMeta).parseUnsigned, of(appendUnsigned)},
		KindU32:           {always(Uint(0)), (*AttrMeta).parseUnsigned, of(appendUnsigned)},
		KindU64:           {always(Uint(0)), (*AttrMeta).parseUnsigned, of(appendUnsigned)},
		KindS8:            {always(Int(0)), parseSigned(8), of(appendSigned)},
		KindS32:           {always(Int(0)), parseSigned(32), of(appendSigned)},
		KindEnum:          {always(Enum(0)), (*AttrMeta).parseEnum, of(appendEnumOf)},
		KindOID:           {always(NullOID), (*AttrMeta).parseOID, of(appendOID)},
		KindMAC:           {always(MAC{}), (*AttrMeta).parseMAC, of(appendMAC)},
		KindIPv4:          {always(IP{zeroIPv4}), (*AttrMeta).parseIP, of(appendIP)},
		KindIPv6:          {always(IP{zeroIPv6}), (*AttrMeta).parseIP, of(appendIP)},
		KindIP:            {always(IP{zeroIPv4}), (*AttrMeta).parseIP, of(appendIP)},
		KindPointer:       {always(Pointer(0)), (*AttrMeta).parsePointer, of(appendPointer)},
		KindChardata:      {always(Text("")), (*AttrMeta).parseChardata, of(appendChardata)},
		KindJSON:          {listOf[Bytes], (*AttrMeta).parseJSON, of(appendJSON)},
		KindU8List:        {listOf[Bytes], (*AttrMeta).parseU8List, of(appendU8List)},
		KindS8List:        {listOf[Bytes], (*AttrMeta).parseS8List, of(appendS8List)},
		KindU16List:       {listOf[Uints], parseUints(16), of(appendUints)},
		KindU32List:       {listOf[Uints], parseUints(32), of(appendUints)},
		KindS32List:       {listOf[Enums], (*AttrMeta).parseEnums, of(appendEnums)},
		KindEnumList:      {listOf[Enums], (*AttrMeta).parseEnums, of(appendEnums)},
		KindOIDList:       {listOf[OIDs], (*AttrMeta).parseOIDs, of(appendOIDs)},
		KindU16Range:      {always(Range{}), (*AttrMeta).parseRange, of(appendRangeOf)},
		KindU32Range:      {always(Range{}), (*AttrMeta).parseRange, of(appendRangeOf)},
		KindU64RangeList:  {listOf[Ranges], (*AttrMeta).parseRanges, of(appendRanges)},
		KindACLCapability: {noACLCapability, (*AttrMeta).parseCapability, of(appendCapability)},
		KindACLResources:  {listOf[ACLResources], (*AttrMeta).parseResources, of(appendResources)},
		KindTimespec:      {always(Range{}), (*AttrMeta).parseRange, of(appendRangeOf)},
		KindQoSMapList:    {listOf[QoSMap], (*AttrMeta).parseQoSMap, of(appendQoSMap)},
	}
}

// always returns a zero value that does not depend on the number of items.
func always(v Value) func(int) Value { return func(int) Value { return v } }

// listOf returns a list of n zero items.
func listOf[L interface {
	~[]E
	Value
}, E any](n int) Value {
	return make(L, n)
}

func noACLCapability(n int) Value { return ACLCapability{Actions: make([]Enum, n)} }

// of converts a function that writes values of Go type T to one that writes any Value.
func of[T Value](
	write func(m *AttrMeta, b []byte, v T) ([]byte, error),
) func(*AttrMeta, []byte, Value) ([]byte, error) {
	return func(m *AttrMeta, b []byte, v Value) ([]byte, error) {
		if v, ok := v.(T); ok {
			return write(m, b, v)
		}
		return nil, m.wrongValue(v)
	}
}
