package saisim_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"tamtam/sai"
	"tamtam/saisim"
	"tamtam/saisim/profile"
)

// Pre-ingress entries see the parser's fields, before any decision. They also match frames that are dropped later, and
// the VLAN of the frame or of its port. They do not affect forwarding.
func TestPreIngressACL(t *testing.T) {
	r := newRouter(t)
	table := r.acl(sai.ACLStagePreIngress, sai.ACLTableAttrFieldOuterVLANID, sai.Bool(true), sai.ACLTableAttrFieldInPorts,
		sai.Bool(true))
	group := r.group(sai.ACLStagePreIngress, sai.ACLTableGroupTypeParallel, table)
	r.set(sai.ObjectTypeSwitch, r.sw, sai.SwitchAttrPreIngressACL, group)
	vlan := func(id uint64) sai.Field { return sai.Match(sai.Uint(id), sai.Uint(0xfff)) }
	copies := sai.Do(sai.OIDs{r.local(5)})
	nine := r.entry(table, 1, sai.ACLEntryAttrFieldOuterVLANID, vlan(9), sai.ACLEntryAttrActionMirrorIngress, copies)
	one := r.entry(table, 1, sai.ACLEntryAttrFieldOuterVLANID, vlan(1))
	none := r.entry(table, 1, sai.ACLEntryAttrFieldOuterVLANID, vlan(0))
	plain := udpFrame(1, 2, 60)
	tagged := slices.Concat(plain[:12], []byte{0x81, 0, 0, 9}, plain[12:])
	fromGroup := slices.Concat(plain[:6], []byte{1}, plain[7:])
	for _, tt := range []struct {
		name   string
		port   saisim.PortID
		frame  []byte
		counts sai.OID
		copies int
	}{
		{"tagged, in no VLAN that is", 6, tagged, nine, 1},
		{"untagged", 6, plain, one, 0},
		{"from a group address", 6, fromGroup, one, 0},
		{"at a router's port", 0, plain, none, 0},
	} {
		before := r.packets(tt.counts)
		outs := r.send(tt.port, tt.frame)
		if got := r.packets(tt.counts) - before; got != 1 {
			t.Errorf("%s: counted %d times", tt.name, got)
		}
		if n := len(on(outs, 5)); tt.name != "untagged" && n != tt.copies { // untagged frames are flooded
			t.Errorf("%s: %d copies, want %d", tt.name, n, tt.copies)
		}
	}
}

// Invalid combinations for the pre-ingress stage are refused, and a chip without table recording does not have the
// stage.
func TestPreIngressACLRefused(t *testing.T) {
	r := newRouter(t)
	create := func(pairs ...any) error {
		_, err := r.Create(context.Background(), sai.ObjectTypeACLTable,
			attrs(append([]any{sai.ACLTableAttrACLStage, sai.ACLStagePreIngress}, pairs...)...))
		return err
	}
	for _, tt := range []struct {
		name string
		err  error
		want sai.Status
	}{
		{"the egress port", create(sai.ACLTableAttrFieldOutPort, sai.Bool(true)), sai.StatusNotSupported},
		{"metadata", create(sai.ACLTableAttrFieldACLUserMeta, sai.Bool(true)), sai.StatusNotSupported},
		{"an action", create(sai.ACLTableAttrACLActionTypeList, sai.Enums{sai.ACLActionTypePacketAction}),
			sai.StatusNotSupported},
		{"bound as another stage", r.Set(context.Background(), sai.Obj(sai.ObjectTypeSwitch, r.sw), sai.Attr{
			ID: sai.SwitchAttrIngressACL, Value: r.acl(sai.ACLStagePreIngress)}), sai.StatusInvalidParameter},
		{"another stage bound", r.Set(context.Background(), sai.Obj(sai.ObjectTypeSwitch, r.sw), sai.Attr{
			ID: sai.SwitchAttrPreIngressACL, Value: r.acl(sai.ACLStageIngress)}), sai.StatusInvalidParameter},
	} {
		if !errors.Is(tt.err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, tt.err, tt.want)
		}
	}
	fixed := profile.Default()
	fixed.TableRecord = profile.TableRecordCapacity{}
	chip := need(saisim.New(saisim.Config{Profile: fixed, Start: time.Unix(0, 0)}))(t)
	sw, err := chip.Create(context.Background(), sai.ObjectTypeSwitch, attrs(sai.SwitchAttrInitSwitch, sai.Bool(true)))
	if err != nil {
		t.Fatal(err)
	}
	_, err = chip.Create(context.Background(), sai.ObjectTypeACLTable,
		attrs(sai.ACLTableAttrACLStage, sai.ACLStagePreIngress))
	if !errors.Is(err, sai.StatusNotSupported) {
		t.Errorf("a chip that records no tables: %v", err)
	}
	if _, err := chip.Get(context.Background(), sai.Obj(sai.ObjectTypeSwitch, sw),
		[]sai.Attr{sai.Want(sai.SwitchAttrACLStagePreIngress, 100)}); err == nil {
		t.Error("it has actions of the stage")
	}
}
