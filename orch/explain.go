package orch

import (
	"errors"
	"fmt"
	"strings"

	"tamtam/sai"
	"tamtam/swss/schema"
)

// Explain renders an error as one line for an operator: SAI's answer in words, followed by the
// status and the attribute at fault; a wrong field is named without its row.
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

// answered is a reason that syncd gives, which tells an operator nothing.
const answered = "answered by syncd"

// Unsupported reports whether a status is that of something the switch cannot do.
func Unsupported(s sai.Status) bool {
	return s == sai.StatusNotSupported || s == sai.StatusNotImplemented ||
		between(s, sai.StatusAttrNotImplemented0, sai.StatusAttrNotImplementedMax) ||
		between(s, sai.StatusAttrNotSupported0, sai.StatusAttrNotSupportedMax) ||
		between(s, sai.StatusUnknownAttribute0, sai.StatusUnknownAttributeMax)
}

// Refused reports whether a status is that of a value that the switch does not accept.
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

// valueText returns a value for an operator, cut if it is long.
func valueText(v sai.Value) string {
	const most = 80
	text := fmt.Sprint(v)
	if len(text) > most {
		text = text[:most] + "..."
	}
	return text
}

// AtAttr names the attribute at fault in the error of creating an object with these attributes, and its value, where
// SAI's status numbers it.
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
