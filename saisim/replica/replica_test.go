package replica

import (
	"net/netip"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
)

type inner struct {
	n    int
	back *outer
}

type shared struct{ n int }

type counter interface{ count() }

func (i *inner) count() { i.n++ }

type outer struct {
	first  inner
	middle *int // points into the slice
	list   []int
	rest   []int // in the array of list, overlapping it
	tail   []inner
	again  []inner // in the array of tail
	byName map[string]*inner
	byPtr  map[*inner]netip.Addr
	some   any
	iface  counter
	f      func()
	empty  shared
	fixed  *shared
	value  any // no pointer
	many   [5000]*inner
	atomic atomic.Pointer[shared]
	none   *struct{}
	loop   []any
}

func newOuter() *outer {
	o := &outer{list: []int{1, 2, 3, 4, 5, 6}, byName: map[string]*inner{}, f: func() {}, fixed: &shared{7},
		empty: shared{9}}
	o.first.n, o.first.back = 1, o
	o.middle = &o.list[2]
	o.list, o.rest = o.list[:4:4], o.list[2:]
	o.tail = make([]inner, 8)
	o.tail[3].back = o
	o.tail, o.again = o.tail[1:5:5], o.tail[2:]
	o.byName["first"], o.byName["tail"] = &o.first, &o.tail[0]
	o.byPtr = map[*inner]netip.Addr{&o.first: netip.MustParseAddr("fe80::1%eth0")}
	o.some, o.iface, o.value = &o.again[5], &o.first, struct{ p *int }{o.middle}
	o.many[4999] = &o.tail[1]
	o.atomic.Store(&shared{3})
	o.loop = append(o.loop, o, 5, "five")
	return o
}

var options = Options{Shared: []reflect.Type{reflect.TypeFor[shared]()}}

func TestOf(t *testing.T) {
	o := newOuter()
	n, err := Of(o, options)
	if err != nil {
		t.Fatal(err)
	}
	if n == o || n.first.back != n || n.middle != &n.list[2] || n.middle != &n.rest[0] || n.byName["first"] != &n.first ||
		n.byName["tail"] != &n.tail[0] || n.some != any(&n.again[5]) || n.iface != counter(&n.first) ||
		n.many[4999] != &n.tail[1] ||
		n.many[4999] != &n.again[0] || n.loop[0] != any(n) || n.value.(struct{ p *int }).p != n.middle ||
		n.tail[2].back != n {
		t.Errorf("not all that is in the copy points into the copy: %+v", n.first)
	}
	if n.f != nil || n.fixed != o.fixed || n.atomic.Load() != o.atomic.Load() || n.byPtr[&n.first] != o.byPtr[&o.first] {
		t.Errorf("function, what is shared, atomic pointer, handle: %v %p %p %v", n.f == nil, n.fixed, n.atomic.Load(),
			n.byPtr)
	}
	n.iface.count()
	n.list[2], n.again[5].n, n.byName["new"] = 100, 8, nil
	if o.first.n != 1 || o.list[2] != 3 || o.again[5].n != 0 || len(o.byName) != 2 || n.rest[0] != 100 ||
		*n.middle != 100 {
		t.Errorf("what the copy does is seen: %d %d %d %d, or not by itself: %d %d", o.first.n, o.list[2], o.again[5].n,
			len(o.byName), n.rest[0], *n.middle)
	}
}

func TestZero(t *testing.T) {
	o := newOuter()
	n, err := Of(o, Options{Zero: []reflect.Type{reflect.TypeFor[shared](), reflect.TypeFor[counter]()}})
	if err != nil || n.empty != (shared{}) || n.iface != nil || *n.fixed != (shared{}) || o.empty.n != 9 ||
		o.iface == nil {
		t.Errorf("%v: empty %v, interface %v, fixed %v", err, n.empty, n.iface, n.fixed)
	}
}

func TestChannel(t *testing.T) {
	x := struct{ a []chan int }{make([]chan int, 2)}
	if _, err := Of(&x, Options{}); err != nil {
		t.Error("nil channels:", err)
	}
	x.a[1] = make(chan int)
	if _, err := Of(&x, Options{}); err == nil || !strings.Contains(err.Error(), "a channel, chan int") {
		t.Error("a channel:", err)
	}
}

// A witness reports any kind of change. If nothing has changed, it reports no change.
func TestWitness(t *testing.T) {
	for what, change := range map[string]func(*outer){
		"nothing": func(*outer) {}, "a number": func(o *outer) { o.many[4999].n++ },
		"in a slice": func(o *outer) { o.rest[3]++ },
		"a pointer":  func(o *outer) { o.middle = &o.list[1] }, "a member more": func(o *outer) { o.byName["x"] = nil },
		"another member":                   func(o *outer) { o.byName["first"] = o.byName["tail"] },
		"behind a pointer in an interface": func(o *outer) { o.some.(*inner).n++ },
	} {
		o := newOuter()
		w, err := Watch(o)
		if err != nil {
			t.Fatal(err)
		}
		change(o)
		if (w.Changed() == "") != (what == "nothing") {
			t.Errorf("%s: changed %q", what, w.Changed())
		}
	}
}
