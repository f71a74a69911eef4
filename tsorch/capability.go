package tsorch

import (
	"context"
	"fmt"
	"slices"

	"tamtam/orch/feature"
	"tamtam/sai"
)

// needed contains the attributes that the ASIC must support when objects are created.
var needed = []sai.AttrID{
	sai.TAMIntAttrType,
	sai.TAMIntAttrDeviceID,
	sai.TAMIntAttrIntPresenceType,
	sai.TAMIntAttrInline,
	sai.ACLEntryAttrActionTAMIntObject,
	sai.ACLEntryAttrActionIntInsert,
	sai.ACLEntryAttrActionCounter,
}

// neededActions contains the actions that the ingress ACL stage must support.
var neededActions = []sai.Enum{sai.ACLActionTypeIntInsert, sai.ACLActionTypeTAMIntObject}

// probe asks the ASIC whether it supports tail-stamping. Not every backend answers every question. A single negative
// answer is sufficient to reject, and at least one positive answer is necessary.
func probe(ctx context.Context, api sai.API, sw sai.OID) (reason string, err error) {
	answers := 0
	for _, id := range needed {
		c, err := api.AttrCapability(ctx, id)
		switch {
		case feature.Unanswered(err):
		case err != nil:
			return "", fmt.Errorf("ask for the capability of %s: %w", id, err)
		case !c.Create:
			return fmt.Sprintf("the switch does not implement %s", id), nil
		default:
			answers++
		}
	}
	types, err := api.EnumCapability(ctx, sai.TAMIntAttrType)
	switch {
	case feature.Unanswered(err):
	case err != nil:
		return "", fmt.Errorf("ask for the kinds of TAM INT objects: %w", err)
	case !slices.Contains(types, sai.TAMIntTypeIfa1Tailstamp):
		return "the switch does not implement " + sai.EnumName(sai.TAMIntAttrType, sai.TAMIntTypeIfa1Tailstamp), nil
	default:
		answers++
	}
	actions, err := feature.IngressActions(ctx, api, sw)
	switch {
	case feature.Unanswered(err):
	case err != nil:
		return "", fmt.Errorf("ask for the actions of ingress ACLs: %w", err)
	default:
		for _, a := range neededActions {
			if !slices.Contains(actions, a) {
				return "ingress ACLs of the switch have no action " + actionName(a), nil
			}
		}
		answers++
	}
	if answers == 0 {
		return "the switch does not report its capabilities", nil
	}
	return "", nil
}

func actionName(a sai.Enum) string {
	if e, ok := sai.LookupEnum("sai_acl_action_type_t"); ok {
		if n, ok := e.ValueName(a); ok {
			return n
		}
	}
	return fmt.Sprint(int32(a))
}
