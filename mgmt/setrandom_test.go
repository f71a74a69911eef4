package mgmt

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tamtam/internal/randtest"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/status"
)

// A piece is one operation of a random Set. It holds the operation as requested, the beginning of its error (empty if
// it is valid), and the corrected operation.
type piece struct {
	op          gpb.UpdateResult_Operation
	path, value string
	want        string
	right       [2]string // path and value; an empty path omits the operation
}

// pieces returns operations on separate objects, numbered i. Pieces of one kind depend on each other: an error in one
// piece suppresses errors in others.
func pieces(r *rand.Rand, i int) []piece {
	const change = gpb.UpdateResult_UPDATE
	op := change
	if r.IntN(2) == 0 {
		op = gpb.UpdateResult_REPLACE
	}
	n := func(format string) string { return fmt.Sprintf(format, i) }
	x, f := sampler(n("x%d")), flowgroup(n("f%d"))
	session := piece{op: op, path: tailstamp(n("s%d")) + "/config", value: n(`{"flowgroup":"f%d"}`)}
	group := [2]string{f + "/config", n(`{"id":%d}`)}
	wrong := func(path, value, want string, right ...string) piece {
		p := piece{op: op, path: path, value: value, want: want}
		copy(p.right[:], right)
		return p
	}
	switch r.IntN(11) {
	case 0:
		return []piece{{op: op, path: x + "/config", value: `{"sampling-rate":5}`}}
	case 1:
		return []piece{
			wrong(x+"/config", `{"sampling-rate":0}`, x+`/config/sampling-rate: "0" is`, x+"/config", `{"sampling-rate":1}`),
		}
	case 2:
		want := x + "/config/sampling-rate: is missing"
		if op == gpb.UpdateResult_REPLACE {
			want = x + ": {} has no key"
		}
		return []piece{wrong(x, `{}`, want, x, `{"config":{"sampling-rate":1}}`)}
	case 3:
		no := x + `/config/rate: /tam/samplers/sampler/config has no node "rate"`
		return []piece{wrong(x+"/config/rate", `5`, no, x+"/config/sampling-rate", `5`)}
	case 4:
		return []piece{session, {op: op, path: group[0], value: group[1]}}
	case 5:
		return []piece{session, wrong(group[0], n(`{"id":"%d"}`), f+"/config/id: ", group[:]...)}
	case 6:
		no := f + `/confg: /tam/flowgroups/flowgroup has no node "confg"`
		return []piece{session, wrong(f+"/confg", group[1], no, group[:]...)}
	case 7:
		bad := n("/tam/flowgrups/flowgroup[name=f%d]/config")
		return []piece{session, wrong(bad, group[1], bad+`: /tam has no node "flowgrups"`, group[:]...)}
	case 8:
		return []piece{session, wrong(f, `{"config":`, f+": bad JSON", group[:]...)}
	case 9:
		session.want = tailstamp(n("s%d")) + n("/config/flowgroup: there is no flowgroup f%d")
		return []piece{session}
	}
	port := port(n("Ethernet%d"))
	return []piece{
		wrong(port+"/config", `{"mtu":1500}`, port+": cannot be created"),
		{op: gpb.UpdateResult_DELETE, path: n("/tam/x%d"), want: n("/tam/x%d: /tam has no node")},
	}
}

// setOf returns a Set, and the errors that it must report, in order.
func setOf(all []piece) (*gpb.SetRequest, []string) {
	req := &gpb.SetRequest{}
	var want []string
	inOrder := []gpb.UpdateResult_Operation{gpb.UpdateResult_DELETE, gpb.UpdateResult_REPLACE, gpb.UpdateResult_UPDATE}
	for _, op := range inOrder {
		for _, p := range all {
			if p.op != op {
				continue
			}
			switch op {
			case gpb.UpdateResult_DELETE:
				req.Delete = append(req.Delete, path(p.path))
			case gpb.UpdateResult_REPLACE:
				req.Replace = append(req.Replace, update(p.path, p.value))
			default:
				req.Update = append(req.Update, update(p.path, p.value))
			}
			if p.want != "" {
				want = append(want, p.want)
			}
		}
	}
	return req, want
}

// A Set reports exactly the errors of its operations, whatever their order. Once corrected, it succeeds.
func TestRandomSets(t *testing.T) {
	randtest.Run(t, randtest.Cases{Seed: 1, Count: 60, Short: 5}, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 1))
		b := newBed(t, nil)
		b.rows(someSwitch())
		var all []piece
		for i := range 1 + r.IntN(25) {
			all = append(all, pieces(r, i+100)...)
		}
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		req, want := setOf(all)
		before := b.config()
		_, err := b.server.Set(b.ctx, req)
		if more := len(want) - mostErrors; more > 0 {
			want = append(want[:mostErrors], fmt.Sprintf("and %d more", more))
		}
		got := strings.Split(status.Convert(err).Message(), "\n")
		if err == nil {
			got = nil
		}
		if !slices.EqualFunc(got, want, strings.HasPrefix) || err != nil && b.config() != before {
			t.Errorf("%v\nerrors are\n%s\nwant\n%s", req, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		var mended []piece
		for _, p := range all {
			switch {
			case p.want == "":
				mended = append(mended, p)
			case p.right[0] != "":
				mended = append(mended, piece{op: p.op, path: p.right[0], value: p.right[1]})
			}
		}
		req, _ = setOf(mended)
		if _, err := b.server.Set(b.ctx, req); err != nil {
			t.Errorf("%v\nmended: %v", req, err)
		}
	})
}
