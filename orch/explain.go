package orch

import (
	"errors"
	"fmt"
	"strings"

	"tamtam/sai"
	"tamtam/swss/schema"
)

// Explain formats an error as one line for an operator: SAI's answer in words, followed by the status and the invalid
// attribute. An invalid field is described without its row.
func Explain(err error) string {
	var field *schema.FieldError
	if errors.As(err, &field) {
		return schema.Reason(err)
	}
	text := err.Error()
	if status, ok := sai.StatusOf(err); ok {
		said, original := status.String(), status.Error()
		var call *sai.CallError
		if errors.As(err, &call) {
			original = call.Error()
			if call.Attr != 0 {
				said += " " + call.Attr.String()
			}
			if call.Reason != "" && call.Reason != answered {
				said += ": " + call.Reason
			}
		}
		text = strings.Replace(text, original, meaning(status)+" ("+said+")", 1)
	}
	return strings.ReplaceAll(text, "\n", "; ")
}

// answered is a reason from syncd that has no value for an operator.
const answered = "answered by syncd"

// Unsupported reports whether a status means that the switch lacks a function.
func Unsupported(s sai.Status) bool {
	return s == sai.StatusNotSupported || s == sai.StatusNotImplemented ||
		between(s, sai.StatusAttrNotImplemented0, sai.StatusAttrNotImplementedMax) ||
		between(s, sai.StatusAttrNotSupported0, sai.StatusAttrNotSupportedMax) ||
		between(s, sai.StatusUnknownAttribute0, sai.StatusUnknownAttributeMax)
}

// Refused reports whether a status means that the switch does not accept a value.
func Refused(s sai.Status) bool {
	return s == sai.StatusInvalidParameter || between(s, sai.StatusInvalidAttribute0, sai.StatusInvalidAttributeMax) ||
		between(s, sai.StatusInvalidAttrValue0, sai.StatusInvalidAttrValueMax)
}

// between reports whether s is one of the statuses first..last, which count down.
func between(s, first, last sai.Status) bool { return last <= s && s <= first }

func meaning(s sai.Status) string {
	switch s {
	case sai.StatusTableFull, sai.StatusInsufficientResources, sai.StatusNoMemory:
		return "the switch has no room for it"
	case sai.StatusObjectInUse:
		return "the switch still uses it"
	case sai.StatusItemAlreadyExists:
		return "the switch has it already"
	case sai.StatusItemNotFound:
		return "the switch does not have it"
	}
	switch {
	case Unsupported(s):
		return "the switch does not support it"
	case Refused(s):
		return "the switch refused a value"
	}
	return "the switch failed"
}

// valueText formats a value for an operator, shortened if it is long.
func valueText(v sai.Value) string {
	const most = 80
	text := fmt.Sprint(v)
	if len(text) > most {
		text = text[:most] + "..."
	}
	return text
}

// AtAttr adds the invalid attribute and its value to the error of creating an object with these attributes, if SAI's
// status contains the attribute's index.
func AtAttr(err error, t sai.ObjectType, attrs []sai.Attr) error {
	status, ok := sai.StatusOf(err)
	call := &sai.CallError{Op: "create", Type: t, Status: status}
	errors.As(err, &call)
	if !ok || call.Attr != 0 {
		return err
	}
	for _, first := range []sai.Status{
		sai.StatusInvalidAttribute0, sai.StatusInvalidAttrValue0, sai.StatusAttrNotImplemented0,
		sai.StatusUnknownAttribute0, sai.StatusAttrNotSupported0,
	} {
		if n := int(first - call.Status); n >= 0 && n < len(attrs) {
			at := *call
			at.Attr = attrs[n].ID
			if first == sai.StatusInvalidAttrValue0 && (at.Reason == "" || at.Reason == answered) {
				at.Reason = "value " + valueText(attrs[n].Value)
			}
			return &at
		}
	}
	return err
}
