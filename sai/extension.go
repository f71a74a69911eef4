package sai

import "encoding/json"

// An Extension is the JSON in ENTRY of a GENERIC_PROGRAMMABLE object, an extension of SAI
// (docs/internals/extensions.md): attributes, each under its name. A is as much of an attribute as the reader
// needs: an [ExtensionValue], or all of its text; writers use an [ExtensionAttr].
type Extension[A any] struct {
	Attributes []map[string]A `json:"attributes"`
}

// An ExtensionAttr is an attribute as it is written.
type ExtensionAttr struct {
	Meta  ExtensionMeta `json:"sai_metadata"`
	Value any           `json:"value"`
}

// ExtensionMeta says what kind of attribute it is, in SAI's names.
type ExtensionMeta struct {
	Flags string `json:"sai_attr_flags,omitempty"`
	Type  string `json:"sai_attr_value_type"`
}

// What attributes are.
const (
	ExtensionCreateAndSet = "SAI_ATTR_FLAGS_CREATE_AND_SET"

	ExtensionJSON    = "SAI_ATTR_VALUE_TYPE_JSON"
	ExtensionNumbers = "SAI_ATTR_VALUE_TYPE_UINT64_LIST"
)

// An ExtensionValue is what an attribute says.
type ExtensionValue struct {
	Value json.RawMessage `json:"value"`
}
