package qos

import (
	"context"
	"errors"
	"fmt"

	"tamtam/orch"
	"tamtam/sai"
)

// refusedObject adds the attribute at fault to the error of creating an object. For the size of a pool, it also adds
// the size of the packet memory. If the switch's error does not give the attribute, a pool larger than the memory is at
// fault.
func (o *Orch) refusedObject(ctx context.Context, t sai.ObjectType, attrs []sai.Attr, err error) error {
	err = orch.AtAttr(err, t, attrs)
	var call *sai.CallError
	v, isPool := sai.Find(attrs, sai.BufferPoolAttrSize)
	if !isPool || !errors.As(err, &call) || !orch.Refused(call.Status) ||
		call.Attr != 0 && call.Attr != sai.BufferPoolAttrSize {
		return err
	}
	size, _ := v.(sai.Uint)
	at := *call
	total, known := o.memory(ctx)
	if at.Attr == 0 && !(known && uint64(size) > total) {
		return err
	}
	at.Attr, at.Reason = sai.BufferPoolAttrSize, fmt.Sprintf("size %d", size)
	if known {
		at.Reason += fmt.Sprintf(": the packet memory has %d bytes for all pools", total)
	}
	return &at
}

// memory returns the size of the packet memory in bytes. It returns false if the switch does not report it.
func (o *Orch) memory(ctx context.Context) (uint64, bool) {
	got, err := o.api.Get(ctx, sai.Obj(sai.ObjectTypeSwitch, o.chip), []sai.Attr{
		sai.Want(sai.SwitchAttrTotalBufferSize, 0),
	})
	if err != nil || len(got) != 1 {
		return 0, false
	}
	kb, ok := got[0].Value.(sai.Uint) // SAI reports the size in KB
	return uint64(kb) << 10, ok
}
