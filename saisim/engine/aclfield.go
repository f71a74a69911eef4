package engine

import "tamtam/saisim/config"

// A keyPlace is the place of a numeric field in the key.
type keyPlace struct {
	word, shift uint8  // an IPv6 address occupies this word and the next
	need        uint32 // parser flags that are set if the packet has the field
}

// keyPlaces returns the places of the fields that occupy bits of the key.
func keyPlaces() [config.FieldIPType]keyPlace {
	return [...]keyPlace{
		config.FieldDstMAC:         {0, 16, 0},
		config.FieldEtherType:      {0, 0, flagEthernet2},
		config.FieldSrcMAC:         {1, 16, 0},
		config.FieldOuterPriority:  {1, 13, 0},
		config.FieldOuterCFI:       {1, 12, 0},
		config.FieldOuterVLAN:      {1, 0, 0},
		config.FieldIPProtocol:     {2, 32, flagIP},
		config.FieldIPv6NextHeader: {2, 32, flagIPv6},
		config.FieldDSCP:           {2, 26, flagIP},
		config.FieldECN:            {2, 24, flagIP},
		config.FieldTOS:            {2, 24, flagIP},
		config.FieldTTL:            {2, 16, flagIP},
		config.FieldTCPFlags:       {2, 8, flagTCP},
		config.FieldIPFlags:        {2, 0, flagIPv4},
		config.FieldL4SrcPort:      {3, 48, flagL4},
		config.FieldL4DstPort:      {3, 32, flagL4},
		config.FieldICMPType:       {3, 24, flagICMP},
		config.FieldICMPCode:       {3, 16, flagICMP},
		config.FieldICMPv6Type:     {3, 24, flagICMPv6},
		config.FieldICMPv6Code:     {3, 16, flagICMPv6},
		config.FieldIPID:           {3, 0, flagIPv4},
		config.FieldSrcIP:          {5, 0, flagIPv4},
		config.FieldDstIP:          {7, 0, flagIPv4},
		config.FieldSrcIPv6:        {4, 0, flagIPv6},
		config.FieldDstIPv6:        {6, 0, flagIPv6},
		config.FieldInnerPriority:  {8, 61, flagTwoTags},
		config.FieldInnerCFI:       {8, 60, flagTwoTags},
		config.FieldInnerVLAN:      {8, 48, flagTwoTags},
		config.FieldFlowLabel:      {8, 16, flagIPv6},
		config.FieldTC:             {8, 0, 0},
		config.FieldMeta:           {9, 32, 0},
		config.FieldFlowMonID:      {9, 0, flagIPv6},
	}
}

// flags adds a match on parser flags: all flags in want must be set, and all flags in not must be clear.
func (r *aclRule) flags(want, not uint32) {
	r.want(flagsWord, uint64(want)<<40, uint64(want|not)<<40)
}

// want adds a match on bits of a word. If it contradicts an earlier match, the rule never matches.
func (r *aclRule) want(word uint8, value, mask uint64) {
	value &= mask
	if (r.value[word]^value)&r.mask[word]&mask != 0 {
		r.never = true
	}
	r.value[word] |= value
	r.mask[word] |= mask
}

// addMatch adds a match of a row to the rule.
func (c *acl) addMatch(r *aclRule, m *config.ACLMatch) {
	switch m.Field {
	case config.FieldInPorts:
		c.addPorts(&r.in, &r.inLAG, r, m.Of)
	case config.FieldOutPorts:
		c.addPorts(&r.out, &r.outLAG, r, m.Of)
	case config.FieldRanges:
		for _, id := range m.Of {
			bit := uint64(1) << at[config.ACLRange](c.core, id).Index
			r.want(10, bit, bit)
		}
	case config.FieldHasTag:
		if m.Value[1] != 0 {
			r.flags(flagTagged, 0)
		} else {
			r.flags(0, flagTagged)
		}
	case config.FieldIPType, config.FieldFragment, config.FieldTags, config.FieldTailstamp:
		r.flags(parserFlags(m.Field, m.Value[1]))
	default:
		r.addBits(m)
	}
}

// addBits adds a match on a field that occupies bits of the key.
func (r *aclRule) addBits(m *config.ACLMatch) {
	p := keyPlaces()[m.Field]
	r.flags(p.need, 0)
	if m.Field.Bits() == 128 {
		r.want(p.word, m.Value[0], m.Mask[0])
		r.want(p.word+1, m.Value[1], m.Mask[1])
		return
	}
	if m.Field == config.FieldFlowMonID {
		r.want(p.word, hasAltMark, hasAltMark)
	}
	r.want(p.word, m.Value[1]<<p.shift, m.Mask[1]<<p.shift)
}

// parserFlags translates a field that is a combination of parser flags: want must be set, not must be clear.
func parserFlags(f config.ACLField, value uint64) (want, not uint32) {
	type flags struct{ want, not uint32 }
	var of flags
	switch f {
	case config.FieldIPType:
		of = [...]flags{
			config.IPAny: {}, config.IP: {flagIP, 0}, config.NonIP: {0, flagIP},
			config.IPv4: {flagIPv4, 0}, config.NonIPv4: {0, flagIPv4},
			config.IPv6: {flagIPv6, 0}, config.NonIPv6: {0, flagIPv6},
			config.ARP: {flagARP, 0}, config.ARPRequest: {flagARPRequest, 0}, config.ARPReply: {flagARPReply, 0},
		}[value]
	case config.FieldFragment:
		of = [...]flags{
			config.AnyFragment: {flagFragment, 0}, config.NoFragment: {flagIP, flagFragment},
			config.NoFragmentOrHead: {flagIP, flagTail}, config.HeadFragment: {flagHead, 0},
			config.NonHeadFragment: {flagTail, 0},
		}[value]
	case config.FieldTags:
		of = [...]flags{
			config.NoTags: {0, flagTagged}, config.OneTag: {flagTagged, flagTwoTags}, config.TwoTags: {flagTwoTags, 0},
		}[value]
	case config.FieldTailstamp:
		of = flags{flagTailstamp, 0}
	}
	return of.want, of.not
}

// addPorts adds a match on the ingress or egress port: one of several ports, or the members of a LAG. If several fields
// name ports, all must hold.
func (c *acl) addPorts(set **portSet, in **lag, r *aclRule, ids []config.ID) {
	if len(ids) == 1 {
		if l := at[*lag](c.core, ids[0]); l != nil {
			r.never = r.never || *in != nil && *in != l // a port is in one LAG only, so nothing matches both
			*in = l
			return
		}
	}
	ports := &portSet{}
	for _, id := range ids {
		ports.add(at[*port](c.core, id).id)
	}
	if *set != nil {
		for i := range ports {
			ports[i] &= (*set)[i]
		}
	}
	*set = ports
}
