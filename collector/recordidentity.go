package collector

import (
	"slices"
	"strings"

	"tamtam/tam/record"
)

// identityJSON is one identity.
type identityJSON struct {
	Kind string `json:"kind"`
	Is   string `json:"is"`
}

// identitiesJSON holds the identities of entries that a packet hit, and of its queue. Some may be left out.
type identitiesJSON struct {
	Identities        []identityJSON `json:"identities,omitempty"`
	IdentitiesLeftOut bool           `json:"identities_left_out,omitempty"`
}

// decisive lists the kinds of entries that influence the path of a packet.
var decisive = []record.IdentityKind{
	record.IdentityRule, record.IdentityEntry, record.IdentityEgressRule, record.IdentityEgressEntry, record.IdentityRoute,
	record.IdentityNextHop, record.IdentityFDB,
}

// name returns the displayed name of an identity.
func (p *DecodedPacket) name(x record.Identity) string {
	if x.Kind == record.IdentityRule || x.Kind == record.IdentityEgressRule {
		if name := p.names[string(x.Value)]; name != "" {
			return name
		}
	}
	return x.Text()
}

func (p *DecodedPacket) identities() (list []identityJSON) {
	for _, x := range p.Found {
		list = append(list, identityJSON{x.Kind.String(), p.name(x)})
	}
	return list
}

// by returns a text of the identities of some kinds, or of all if kinds is nil.
func (p *DecodedPacket) by(kinds []record.IdentityKind) string {
	var list []string
	for _, x := range p.Found {
		if kinds == nil || slices.Contains(kinds, x.Kind) {
			list = append(list, strings.ReplaceAll(x.Kind.String(), "_", " ")+" "+p.name(x))
		}
	}
	return strings.Join(list, ", ")
}

// met returns by as a suffix of a line.
func (p *DecodedPacket) met() string {
	text := p.by(nil)
	if text != "" {
		text = "; by " + text
	}
	if p.NoRoom {
		text += "; some identities are left out"
	}
	return text
}
