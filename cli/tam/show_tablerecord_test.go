package tam

import (
	"strings"
	"testing"

	"tamtam/cli/kit"
)

// readable is a plan of a small number of tables.
const readable = `{"id":305419896,"program":"demo","pipeline":"switch","phv":"16+8","mode":"exec+hit",
 "algorithm":"greedy","stages":24,"stages_why":"the chip's",
"must_record":["chip.acl"],"recorded":[{"table":"ingress.b","bits":1,"container":1,"stage":2,"hit":3},
 {"table":"chip.acl","bits":2,"container":0,"stage":6,"ran":10,"hit":11},
{"table":"chip.fdb","bits":1,"container":0,"stage":11,"ran":9}],"entropy":2.25,"entropy_equation2":2.5,"bound":2.75,
 "optimal":false,"entropy_full":3.1234567,
"recovery":0.6180339887,"sets":1234,"solves":5,"seconds":0,"probabilities_from":"uniform","graph":{"pipeline":"switch",
 "init":"ingress.b","placed":true,"stages":24,"version":18446744073709551615,
"nodes":[{"id":"ingress.b","kind":"table"},{"id":"b.gate","kind":"cond"},{"id":"chip.acl","kind":"table"},
 {"id":"chip.fdb","kind":"table"}],
"edges":[["ingress.b","chip.acl","hit"],["ingress.b","chip.acl","miss"],["chip.acl","EXIT","a<b"]]}}`

// A plan may be any content of a database. Its readable parts are shown.
func FuzzTableRecordPlan(f *testing.F) {
	for _, text := range []string{
		readable, `{`, `[]`, `{}`, `{"recorded":[{}],"graph":7}`,
		`{"recorded":{"table":"a","bits":-1},"optimal":"true","id":"x"}`,
		`{"entropy":1e999,"entropy_full":0,"bound":null,"recovery":[1],"recorded":[{"table":"\u001b[2J\n",` +
			`"container":"00000000000000000000001","stage":1e9}]}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		plan, err := readPlan(text)
		if err != nil {
			return
		}
		var p kit.Printout
		writeRecordPlan(&p, plan, true)
		if strings.ContainsFunc(p.String(), func(r rune) bool { return r < ' ' && r != '\n' }) {
			t.Errorf("control characters in\n%q", p.String())
		}
	})
}
