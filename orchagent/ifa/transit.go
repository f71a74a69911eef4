package ifa

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"tamtam/orch"
	"tamtam/orch/feature"
	"tamtam/sai"
	"tamtam/tam/ifa"
)

// A transit makes the switch add a hop to packets of IFA while it has users.
type transit struct {
	api   sai.API
	log   *slog.Logger
	whole *feature.SwitchTAM
	users map[string]bool
	// object and tam are objects in the ASIC. Either both are null, or both exist.
	object, tam sai.OID
	device      uint32
	left        bool      // whether it left the ASIC since its counters were last read
	garbage     []sai.Key // objects that could not be removed
}

func (x *transit) there() bool { return x.tam != sai.NullOID }

// addUser adds a user, and makes the switch a transit with this device id. user is a session's name, or byRow.
func (x *transit) addUser(ctx context.Context, user string, device uint32) error {
	if x.there() && x.device != device {
		if err := x.leave(ctx); err != nil {
			return err
		}
	}
	x.collect(ctx)
	if !x.there() {
		if err := x.enter(ctx, device); err != nil {
			return err
		}
	}
	x.users[user] = true
	return nil
}

// drop removes a user. With the last one, the switch stops being a transit.
func (x *transit) drop(ctx context.Context, user string) error {
	x.collect(ctx)
	if x.there() && x.users[user] && len(x.users) == 1 {
		if err := x.leave(ctx); err != nil {
			return err
		}
		x.collect(ctx)
	}
	delete(x.users, user)
	return nil
}

// enter makes and binds the objects. If a step fails, it leaves nothing behind.
func (x *transit) enter(ctx context.Context, device uint32) error {
	var undo orch.Undo
	object, err := x.make(ctx, &undo, sai.ObjectTypeTAMInt, objectOf(device))
	if err != nil {
		return err
	}
	tam, err := x.make(ctx, &undo, sai.ObjectTypeTAM, []sai.Attr{
		{ID: sai.TAMAttrIntObjectsList, Value: sai.OIDs{object}},
		{ID: sai.TAMAttrTAMBindPointTypeList, Value: sai.Enums{sai.TAMBindPointTypeSwitch}},
	})
	if err == nil {
		err = x.whole.Add(ctx, tam)
	}
	if err != nil {
		return orch.Undone(ctx, &undo, err)
	}
	x.object, x.tam, x.device = object, tam, device
	return nil
}

// objectOf returns the attributes that every object of IFA has.
func objectOf(device uint32) []sai.Attr {
	return []sai.Attr{
		{ID: sai.TAMIntAttrType, Value: sai.TAMIntTypeIfa2},
		{ID: sai.TAMIntAttrDeviceID, Value: sai.Uint(device)},
		{ID: sai.TAMIntAttrIntPresenceType, Value: sai.TAMIntPresenceTypeL3Protocol},
		{ID: sai.TAMIntAttrInline, Value: sai.Bool(true)},
		{ID: sai.TAMIntAttrIntPresenceL3Protocol, Value: sai.Uint(ifa.Protocol)},
	}
}

// make creates an object. Its undo step removes the object, or leaves the removal to collect.
func (x *transit) make(ctx context.Context, undo *orch.Undo, t sai.ObjectType, attrs []sai.Attr) (sai.OID, error) {
	oid, err := x.api.Create(ctx, t, attrs)
	if err != nil {
		return sai.NullOID, fmt.Errorf("create the %s: %w", t, err)
	}
	undo.Push("remove "+t.String(), func(ctx context.Context) error {
		x.garbage = append(x.garbage, sai.Obj(t, oid))
		x.collect(ctx)
		return nil
	})
	return oid, nil
}

// leave removes the transit from the ASIC.
func (x *transit) leave(ctx context.Context) error {
	if err := x.whole.Remove(ctx, x.tam); err != nil {
		return err
	}
	x.garbage = append(x.garbage, sai.Obj(sai.ObjectTypeTAM, x.tam), sai.Obj(sai.ObjectTypeTAMInt, x.object))
	x.object, x.tam, x.device, x.left = sai.NullOID, sai.NullOID, 0, true
	return nil
}

// collect removes objects that are no longer in use, in the order in which they were released. Failures are tried again
// later.
func (x *transit) collect(ctx context.Context) {
	x.garbage = slices.DeleteFunc(x.garbage, func(k sai.Key) bool {
		err := x.api.Remove(ctx, k)
		if err != nil && orch.Classify(err) != orch.Benign {
			x.log.Error("an object stays in the ASIC", "object", k.OID.String(), "err", err)
			return false
		}
		return true
	})
}
