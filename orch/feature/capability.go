package feature

import (
	"context"
	"errors"

	"tamtam/sai"
)

// Unanswered reports whether err means that the ASIC could not answer, in contrast to a negative answer.
func Unanswered(err error) bool {
	return errors.Is(err, sai.StatusNotSupported) || errors.Is(err, sai.StatusNotImplemented) ||
		errors.Is(err, sai.StatusAttrNotImplemented0) || errors.Is(err, sai.StatusAttrNotSupported0)
}

// IngressActions returns the actions that the switch supports in ingress ACLs.
func IngressActions(ctx context.Context, api sai.API, sw sai.OID) ([]sai.Enum, error) {
	k := sai.Obj(sai.ObjectTypeSwitch, sw)
	got, err := api.Get(ctx, k, []sai.Attr{sai.Want(sai.SwitchAttrACLStageIngress, 128)})
	if errors.Is(err, sai.StatusBufferOverflow) && len(got) == 1 {
		if n, ok := sai.ListLen(got[0].Value); ok {
			got, err = api.Get(ctx, k, []sai.Attr{sai.Want(sai.SwitchAttrACLStageIngress, n)})
		}
	}
	if err != nil {
		return nil, err
	}
	c, _ := got[0].Value.(sai.ACLCapability)
	return c.Actions, nil
}
