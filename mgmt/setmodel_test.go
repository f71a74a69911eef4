package mgmt

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"tamtam/internal/randtest"
	"tamtam/mgmt/tree"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/status"
)

// A leaves is the tree as the specification sees it: values of leaves by their paths.
type leaves map[string]string

// required reports whether a path is that of a leaf which its entry needs.
func required(path string) bool {
	return strings.HasSuffix(path, "/sampling-rate") || strings.HasSuffix(path, "/output-queue")
}

// noQueue is the name of a queue that the switch does not have.
const noQueue = "4"

// A write is one operation on the tree: a path, and a value with the leaves that it sets. bad is true if no server may
// accept it.
type write struct {
	path, value string
	sets        leaves
	bad         bool
}

// without returns the tree without the leaves at and below a path. A wildcard stands for any key.
func (t leaves) without(path string) leaves {
	out := maps.Clone(t)
	maps.DeleteFunc(out, func(leaf, _ string) bool {
		head, tail, wild := strings.Cut(path, "*")
		if !wild {
			return path == "/" || leaf == path || strings.HasPrefix(leaf, path+"/")
		}
		rest, in := strings.CutPrefix(leaf, head)
		_, below, _ := strings.Cut(rest, "]")
		return in && strings.HasPrefix("]"+below, tail)
	})
	return out
}

// someWrite returns a random write.
func someWrite(r *rand.Rand) write {
	port := port(fmt.Sprintf("Ethernet%d", 4*r.IntN(2)))
	rate, mtu, length := fmt.Sprint(1+r.IntN(9)), fmt.Sprint(1500+r.IntN(9)), fmt.Sprint(8+r.IntN(9))
	ip := fmt.Sprintf("10.0.%d.1", r.IntN(2))
	entry := sampler([]string{"a", "b"}[r.IntN(2)])
	at := port + "/subinterfaces/subinterface[index=0]/ipv4/addresses/address[ip=" + ip + "]"
	address := `{"ip":"` + ip + `","config":{"ip":"` + ip + `","prefix-length":` + length + `}}`
	if r.IntN(3) == 0 {
		return someQoS(r)
	}
	switch r.IntN(10) {
	case 0:
		return write{path: entry, value: `{"config":{"sampling-rate":` + rate + `}}`,
			sets: leaves{entry + "/config/sampling-rate": rate}}
	case 1:
		return write{path: samplerList, value: `{"sampler":[{"name":"a","config":{"sampling-rate":` + rate + `}}]}`,
			sets: leaves{sampler("a") + "/config/sampling-rate": rate}}
	case 2:
		return write{path: port + "/config", value: `{"mtu":` + mtu + `}`, sets: leaves{port + "/config/mtu": mtu}}
	case 3:
		return write{path: port + "/config/description", value: `"` + mtu + `"`,
			sets: leaves{port + "/config/description": mtu}}
	case 4:
		return write{path: port, value: `{"config":{"mtu":` + mtu + `}}`, sets: leaves{port + "/config/mtu": mtu}}
	case 5:
		return write{path: port, value: `{"config":{"description":"d"},"subinterfaces":{"subinterface":[{"index":0,
			"config":{"index":0},"ipv4":{"addresses":{"address":[` + address + `]}}}]}}`,
			sets: leaves{port + "/config/description": "d", at + "/config/prefix-length": length}}
	case 6:
		return write{path: at, value: address, sets: leaves{at + "/config/prefix-length": length}}
	case 7:
		return write{path: "/interfaces", value: `{"interface":[{"name":"Ethernet0","config":{"mtu":` + mtu + `}}]}`,
			sets: leaves{portE0 + "/config/mtu": mtu}}
	case 8:
		if r.IntN(3) > 0 {
			return someWrite(r)
		}
		return write{path: entry + "/config/sampling-rate", value: "0", bad: true}
	}
	if r.IntN(3) > 0 {
		return someWrite(r)
	}
	return write{path: port + "/state/mtu", value: "1500", bad: true}
}

// someQoS returns a random write of classes, queues and schedulers.
func someQoS(r *rand.Rand) write {
	n, weight := fmt.Sprint(1+r.IntN(2)), fmt.Sprint(1+r.IntN(100))
	policy := "/qos/scheduler-policies/scheduler-policy[name=" + []string{"a", "b"}[r.IntN(2)] + "]"
	scheduler := policy + "/schedulers/scheduler[sequence=1]"
	input := scheduler + "/inputs/input[id=" + n + "]"
	value := `{"id":"` + n + `","config":{"id":"` + n + `","weight":` + weight + `}}`
	sets := leaves{input + "/config/weight": weight}
	group, queue := "/qos/forwarding-groups/forwarding-group[name="+fmt.Sprint(3+r.IntN(2))+"]", fmt.Sprint(r.IntN(4))
	switch r.IntN(9) {
	case 0:
		return write{path: input, value: value, sets: sets}
	case 1:
		return write{path: scheduler, value: `{"inputs":{"input":[` + value + `]}}`, sets: sets}
	case 2:
		return write{path: policy, value: `{"schedulers":{"scheduler":[{"sequence":1,"inputs":{"input":[` + value + `]}}]}}`,
			sets: sets}
	case 3:
		return write{path: input + "/config/weight", value: weight, sets: sets}
	case 4:
		return write{path: group, value: `{"config":{"output-queue":"` + queue + `"}}`,
			sets: leaves{group + "/config/output-queue": queue}}
	case 5: // the values of DSCP of a class are always the same
		dscp := map[string]string{"1": "8", "2": "16"}[n]
		w := write{path: "/qos/classifiers", sets: leaves{}}
		var both []string
		for _, family := range []string{"ipv4", "ipv6"} {
			name := "m_" + family
			term := "/qos/classifiers/classifier[name=" + name + "]/terms/term[id=" + n + "]"
			w.sets[term+"/conditions/"+family+"/config/dscp-set"] = dscp
			both = append(both, `{"name":"`+name+`","terms":{"term":[{"id":"`+n+`","conditions":{"`+family+
				`":{"config":{"dscp-set":[`+dscp+`]}}}}]}}`)
		}
		w.value = `{"classifier":[` + strings.Join(both, ",") + `]}`
		return w
	}
	if r.IntN(3) > 0 {
		return someQoS(r)
	}
	return []write{
		{path: input + "/config/weight", value: "101", bad: true},
		{path: group + "/config/output-queue", value: `"` + noQueue + `"`,
			sets: leaves{group + "/config/output-queue": noQueue}},
		{path: scheduler + "/inputs/input[id=x]", value: `{"config":{"weight":1}}`, bad: true},
	}[r.IntN(3)]
}

// after returns the tree after a Set, by the specification's words, and whether the Set is accepted.
func (t leaves) after(deletes []string, replaces, updates, unions []write) (leaves, bool) {
	now := maps.Clone(t)
	for _, d := range deletes {
		now = now.without(d)
	}
	said := leaves{}
	for _, w := range unions {
		now = now.without(w.path)
	}
	for i, w := range append(append(append([]write{}, replaces...), updates...), unions...) {
		if w.bad {
			return t, false
		}
		if i < len(replaces) {
			now = now.without(w.path)
		}
		for leaf, v := range w.sets {
			if was, is := said[leaf]; is && was != v && len(unions) > 0 {
				return t, false
			}
			said[leaf], now[leaf] = v, v
		}
	}
	for leaf, v := range now { // the tree after the Set must be valid, not each step
		if strings.HasSuffix(leaf, "/output-queue") && v == noQueue {
			return t, false
		}
	}
	return now, true
}

// tracked returns the leaves of the switch that the model has.
func (b *bed) tracked() leaves {
	b.t.Helper()
	out := leaves{}
	resp := b.mustGet(&gpb.GetRequest{Type: gpb.GetRequest_CONFIG, Encoding: asPROT,
		Path: []*gpb.Path{path(samplerList + "/sampler[name=*]"), path("/interfaces/interface[name=*]"),
			path("/qos/scheduler-policies/scheduler-policy[name=*]"), path("/qos/forwarding-groups/forwarding-group[name=*]"),
			path("/qos/classifiers/classifier[name=*]")}})
	for _, n := range resp.GetNotification() {
		for _, u := range n.GetUpdate() {
			p := tree.PathText(u.GetPath())
			v := u.GetVal().GetStringVal()
			if u.GetVal().GetStringVal() == "" {
				v = fmt.Sprint(u.GetVal().GetUintVal())
			}
			for _, item := range u.GetVal().GetLeaflistVal().GetElement() { // there is only one
				v = fmt.Sprint(item.GetUintVal())
			}
			for _, name := range []string{"/sampling-rate", "/mtu", "/description", "/prefix-length", "/weight", "/dscp-set",
				"=3]/config/output-queue", "=4]/config/output-queue"} { // other groups follow from classifiers
				if strings.HasSuffix(p, name) && !(name == "/mtu" && v == "9100") { // its default
					out[p] = v
				}
			}
		}
	}
	return out
}

// After any Set the tree is what the specification's words make of it, and a Set is accepted or refused by them. A
// refused Set changes nothing.
func TestSetsAgainstModel(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 10, Short: 2}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 3))
		b := aSwitch(t)
		b.rows(map[string]string{"CONFIG_DB PORT|Ethernet4": "lanes=4 speed=100000", "CONFIG_DB PORT|Ethernet8": "",
			queueNames: "Ethernet0:0=oid:0x1 Ethernet0:1=oid:0x2 Ethernet0:2=oid:0x3 Ethernet0:3=oid:0x4"})
		model := leaves{}
		for range 25 {
			var deletes []string
			var parts [3][]write // replaces, updates, unions
			kind := r.IntN(5)
			for range 1 + r.IntN(3) {
				w := someWrite(r)
				switch {
				case kind == 4:
					parts[2] = append(parts[2], w)
				case r.IntN(3) == 0 && !w.bad && !required(w.path):
					d := []string{w.path, w.path, sampler("*"), "/interfaces", "/"}[r.IntN(5)]
					deletes = append(deletes, d)
				default:
					i := r.IntN(2)
					parts[i] = append(parts[i], w)
				}
			}
			req := deleting(deletes...)
			for i, to := range []*[]*gpb.Update{&req.Replace, &req.Update, &req.UnionReplace} {
				for _, w := range parts[i] {
					*to = append(*to, update(w.path, w.value))
				}
			}
			want, accepted := model.after(deletes, parts[0], parts[1], parts[2])
			before := b.config()
			_, err := b.server.Set(b.ctx, req)
			code := map[bool]string{true: "OK", false: "InvalidArgument"}[accepted]
			if got := status.Code(err).String(); got != code || err != nil && b.config() != before {
				t.Fatalf("%v: code %s, want %s: %v", req, got, code, err)
			}
			if got := b.tracked(); !maps.Equal(got, want) {
				t.Fatalf("%v made of\n%v\n%v\nwant\n%v", req, model, got, want)
			}
			model = want
		}
	})
}
