package sai

import "encoding/json"

// An Extension is the JSON in ENTRY of a GENERIC_PROGRAMMABLE object, an extension of SAI
// (docs/internals/extensions.md). It holds attributes by name. Readers use an A that holds as much of an attribute as
// they need, such as an [ExtensionValue] or the whole text. Writers use an [ExtensionAttr].
type Extension[A any] struct {
	Attributes []map[string]A `json:"attributes"`
}

// An ExtensionAttr is an attribute in written form.
type ExtensionAttr struct {
	Meta  ExtensionMeta `json:"sai_metadata"`
	Value any           `json:"value"`
}

// ExtensionMeta describes the type of the attribute in SAI's names.
type ExtensionMeta struct {
	Flags string `json:"sai_attr_flags,omitempty"`
	Type  string `json:"sai_attr_value_type"`
}

// Flags and types of attributes.
const (
	ExtensionCreateAndSet = "SAI_ATTR_FLAGS_CREATE_AND_SET"

	ExtensionJSON    = "SAI_ATTR_VALUE_TYPE_JSON"
	ExtensionNumbers = "SAI_ATTR_VALUE_TYPE_UINT64_LIST"
)

// An ExtensionValue is the value of an attribute.
type ExtensionValue struct {
	Value json.RawMessage `json:"value"`
}
