package tree

import (
	"fmt"
	"strings"
	"testing"

	"tamtam/swss/swsstest"

	"github.com/openconfig/goyang/pkg/yang"
	"github.com/openconfig/ygot/ytypes"
)

// The prepared string checks agree with ygot's checks of the type, errors included.
func TestStringLimits(t *testing.T) {
	m, err := New(swsstest.Start(t), nil)
	if err == nil {
		t.Error("a tree without tables is accepted")
	}
	texts := []string{"", "a", "Ethernet0", "10.0.0.1", "10.0.0.0/8", "::1/64", "2001:db8::1", "00:11:22:33:44:55",
		"7", "-1", "x y", "é", "a\n", strings.Repeat("x", 300)}
	limited, refused := 0, 0
	var check func(n *Node, typ *yang.YangType)
	check = func(n *Node, typ *yang.YangType) {
		for _, m := range typ.Type {
			check(n, m)
		}
		if typ.Kind != yang.Ystring {
			return
		}
		for _, text := range texts {
			got, want := n.strings[typ].check(text), ytypes.ValidateStringRestrictions(typ, text)
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("%s, %q: %v, want %v", n.Path, text, got, want)
			}
			if want != nil {
				refused++
			}
		}
		if n.strings[typ] != nil {
			limited++
		}
	}
	for _, g := range m.Lists {
		for _, n := range g.Leaves {
			check(n, n.Type)
		}
	}
	if limited == 0 || refused == 0 {
		t.Errorf("%d types are limited, %d texts refused", limited, refused)
	}
}
