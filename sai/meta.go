package sai

type (
	enumFacts []struct {
		name  string
		value int64
	}
	attrFacts struct {
		name            string
		id              uint32
		typ, flags      string
		enum, objects   string
		def             string
		cond, validonly string
		null, resource  bool
	}
	objectFacts struct {
		name  string
		id    ObjectType
		stats string
		attrs []attrFacts
	}
)

// String returns SAI's name of the status.
func (s Status) String() string { return statusNames[s] }

// String returns SAI's name of the type.
func (t ObjectType) String() string { return "" }

// String returns SAI's name of the attribute.
func (a AttrID) String() string { return "" }
