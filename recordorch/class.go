package recordorch

import (
	"context"
	"encoding/binary"

	"tamtam/sai"
	"tamtam/swss/schema"
	"tamtam/tam/record"
)

// notOf returns the classes that no packet of a flow group can have, according to the rule's matches. Tables that only
// packets of these classes pass need no bits.
func (o *Orch) notOf(rule schema.ACLRuleKey) (not record.Classes) {
	const both = record.ClassIPv4 | record.ClassIPv6
	f, _ := o.rules.MatchOf(rule, sai.ACLEntryAttrFieldEtherType)
	value, _ := f.Data.(sai.Uint)
	mask, _ := f.Mask.(sai.Uint) // matches all packets
	if mask&0x0800 != value&mask {
		not |= record.ClassIPv4
	}
	if mask&0x86dd != value&mask {
		not |= record.ClassIPv6
	}
	if f, ok := o.rules.MatchOf(rule, sai.ACLEntryAttrFieldACLIPType); ok {
		switch f.Data {
		case sai.ACLIPTypeIPv4Any, sai.ACLIPTypeNonIPv6:
			not |= record.ClassIPv6
		case sai.ACLIPTypeIPv6Any, sai.ACLIPTypeNonIPv4:
			not |= record.ClassIPv4
		case sai.ACLIPTypeNonIP:
			not |= both
		}
	}
	for _, x := range []struct {
		field sai.AttrID
		not   record.Classes
	}{
		{sai.ACLEntryAttrFieldSrcIP, record.ClassIPv6}, {sai.ACLEntryAttrFieldDstIP, record.ClassIPv6},
		{sai.ACLEntryAttrFieldICMPType, record.ClassIPv6}, {sai.ACLEntryAttrFieldICMPCode, record.ClassIPv6},
		{sai.ACLEntryAttrFieldSrcIPv6, record.ClassIPv4}, {sai.ACLEntryAttrFieldDstIPv6, record.ClassIPv4},
		{sai.ACLEntryAttrFieldICMPv6Type, record.ClassIPv4}, {sai.ACLEntryAttrFieldICMPv6Code, record.ClassIPv4},
		{sai.ACLEntryAttrFieldIPv6NextHeader, record.ClassIPv4}, {sai.ACLEntryAttrFieldIPv6FlowLabel, record.ClassIPv4},
	} {
		if _, ok := o.rules.MatchOf(rule, x.field); ok {
			not |= x.not
		}
	}
	return not | o.notTo(rule)
}

// notTo returns the same as notOf, for the destination address.
func (o *Orch) notTo(rule schema.ACLRuleKey) record.Classes {
	f, _ := o.rules.MatchOf(rule, sai.ACLEntryAttrFieldDstMAC)
	value, _ := f.Data.(sai.MAC)
	mask, _ := f.Mask.(sai.MAC)
	switch group := uint16(1) << 8; {
	case binary.BigEndian.Uint16(mask[:])&group == 0:
		return 0
	case binary.BigEndian.Uint16(value[:])&group != 0:
		return record.ClassUnicast
	}
	return record.ClassGroup
}

// notOfAny returns the classes that no packet of any session with the settings can have. It includes sessions that will
// have the settings.
func (o *Orch) notOfAny(k schemeKey) record.Classes {
	not, some := ^record.Classes(0), false
	for _, s := range o.Sessions {
		if s.Configured && s.ParseErr == nil && keyOf(s.Row.RecordSettings) == k {
			not, some = not&o.notOf(s.Row.Rule), true
		}
		if s.InASIC != nil && keyOf(s.RowInASIC.RecordSettings) == k {
			not, some = not&o.notOf(s.RowInASIC.Rule), true
		}
	}
	if !some {
		return 0
	}
	return not
}

// fitMatches replans schemes if the classes that their sessions exclude have changed.
func (o *Orch) fitMatches(ctx context.Context) {
	if o.graph == nil {
		return
	}
	for _, c := range o.sortedSchemes() {
		if c.plan == nil || c.version != o.graph.Version || c.not == o.notOfAny(keyOf(c.settings)) {
			continue
		}
		if o.replan(ctx, c, c.paths); c.plan != nil && !c.current() {
			if err := o.write(ctx, c, c.labels); err != nil { // the sessions of the scheme are recreated
				o.Log.Error("table recording", "err", err)
			}
		}
		o.MarkAll()
	}
}
