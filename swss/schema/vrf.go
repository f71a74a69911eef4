package schema

import (
	"cmp"
	"net/netip"
	"strings"
)

// VRFPrefix begins the name of each VRF but the default one.
const VRFPrefix = "Vrf"

// DefaultVRF is SONiC's name of the VRF that always exists. In parsed rows its name is "".
const DefaultVRF = "default"

// VRF is a row of VRF and of APPL_DB VRF_TABLE: a virtual router besides the default one.
type VRF struct{ Name string }

const vrfWords = "Vrf and 1 to 12 letters, digits, - or _"

func (v *VRF) layout() layout {
	return layout{
		table: CfgVRF, open: true,
		key: key{form: "VrfNAME", at: &v.Name, valid: IsVRFName, want: vrfWords},
		fields: []field{
			unsupported("fallback", "false", "false: a packet without a route in its VRF is dropped",
				"Whether packets without a route use the default VRF."),
			unsupported("vni", "0", "0: the switch has no VXLAN", "The VNI of the VRF."),
		},
	}
}

// IsVRFName reports whether a VRF besides the default one can have this name. Like SONiC's, it is also that of a Linux
// device.
func IsVRFName(name string) bool {
	rest, ok := strings.CutPrefix(name, VRFPrefix)
	return ok && rest != "" && len(rest) <= 12 &&
		strings.Trim(rest, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") == ""
}

// VRFName returns the name of a VRF of a parsed row, as SONiC has it.
func VRFName(vrf string) string { return cmp.Or(vrf, DefaultVRF) }

// vrf reads the name of a VRF, "" for the default one.
func (r *reader) vrf(field, name string) string {
	switch {
	case name == "", name == DefaultVRF:
	case IsVRFName(name):
		return name
	default:
		r.bad(field, name, "default, or "+vrfWords)
	}
	return ""
}

// vrfField returns a field with the name of a VRF. It is "" for the default one.
func vrfField(name string, at *string, words string) field {
	return own(name, "default or a VRF", words, func(r *reader) {
		v, _ := r.value(name)
		*at = r.vrf(name, v)
	}, func() string { return *at }).to(CfgVRF).ifSet()
}

// A Dest is a prefix in a VRF.
type Dest struct {
	VRF    string // "" is the default one
	Prefix netip.Prefix
}

// Compare compares by VRF and prefix.
func (d Dest) Compare(e Dest) int {
	return cmp.Or(CompareNames(d.VRF, e.VRF), d.Prefix.Compare(e.Prefix))
}

// String returns the prefix, and its VRF if that is not the default one.
func (d Dest) String() string {
	if d.VRF == "" {
		return d.Prefix.String()
	}
	return d.Prefix.String() + " in " + d.VRF
}

// Key returns the key of ROUTE_TABLE. Like FRR's fpmsyncd it omits the length of host routes.
func (d Dest) Key() string {
	if d.VRF == "" {
		return RouteKey(d.Prefix)
	}
	return d.VRF + ":" + RouteKey(d.Prefix)
}

// cutVRF separates the VRF at the beginning of a key.
func cutVRF(key, separator string) (vrf, rest string) {
	if vrf, rest, ok := strings.Cut(key, separator); ok && (vrf == DefaultVRF || strings.HasPrefix(vrf, VRFPrefix)) {
		return vrf, rest
	}
	return "", key
}
