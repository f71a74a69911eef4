package fault

import (
	"slices"
	"strings"

	"tamtam/sai"
)

// ops lists the words for the kinds of SAI calls.
var ops = []string{"any", "create", "remove", "set", "get", "stats", "clear-stats", "flush", "query"}

// Ops returns the words for the kinds of SAI calls.
func Ops() []string { return slices.Clone(ops) }

func opWord(op sai.Op) string { return ops[min(int(op), len(ops)-1)] }

// ParseOp parses the word for a kind of SAI calls.
func ParseOp(word string) (sai.Op, bool) {
	i := slices.Index(ops, word)
	return sai.Op(max(i, 0)), i >= 0
}

// ParseType parses an object type. This is SAI's name, or the name without its prefix in lower case and with hyphens,
// such as acl-entry. "any" returns 0.
func ParseType(word string) (sai.ObjectType, bool) {
	if word == "any" {
		return 0, true
	}
	t, ok := sai.LookupObjectType(spelled("SAI_OBJECT_TYPE_", word))
	return t, ok && t != 0
}

// ParseStatus parses an error status, with or without the prefix of SAI's name.
func ParseStatus(word string) (sai.Status, bool) {
	s, ok := sai.LookupStatus(spelled("SAI_STATUS_", word))
	return s, ok && s != sai.StatusSuccess
}

// spelled returns a word in SAI's spelling.
func spelled(prefix, word string) string {
	return prefix + strings.TrimPrefix(strings.ToUpper(strings.ReplaceAll(word, "-", "_")), prefix)
}
