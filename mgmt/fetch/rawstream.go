package fetch

import (
	"slices"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// Row is the path of a row, or of the field of it, that a path means.
func (p RawPath) Row(key string) *gpb.Path {
	if p.Key != "" || key == "" {
		return &gpb.Path{Elem: p.Elems}
	}
	return &gpb.Path{Elem: append(slices.Clone(p.Elems[:3]), &gpb.PathElem{Name: key})}
}
