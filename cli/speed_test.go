package cli

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"tamtam/mgmt/configfile"
	"tamtam/swss"
)

// cpu returns the CPU time of this process.
func cpu(t testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// fill writes a switch with n sessions in effect.
func fill(t testing.TB, r *swss.Redis, n int) {
	tables := map[swss.DBName]configfile.Rows{}
	put := func(db swss.DBName, table, key string, pairs string) {
		if tables[db] == nil {
			tables[db] = configfile.Rows{}
		}
		if tables[db][table] == nil {
			tables[db][table] = map[string]swss.FieldValues{}
		}
		tables[db][table][key] = fieldsOf(pairs)
	}
	for i := range n {
		f, s := fmt.Sprintf("f%d", i), fmt.Sprintf("s%d", i)
		rule := fmt.Sprintf("PRIORITY=100 SRC_IP=10.0.0.0/8 L4_DST_PORT=%d", i)
		put(swss.ConfigDB, "TAM_FLOWGROUP_TABLE", f, fmt.Sprintf("id=%d table-name=TAM", i+1))
		put(swss.ConfigDB, "ACL_RULE", "TAM|"+f, rule)
		put(swss.ApplDB, "ACL_RULE_TABLE", "TAM:"+f, rule)
		put(swss.ConfigDB, "TAM_TAILSTAMPING_TABLE", s, "flowgroup="+f)
		put(swss.ApplDB, "TAM_TAILSTAMPING_TABLE", s, "acl-table-name=TAM acl-rule-name="+f)
		put(swss.StateDB, "ACL_RULE_TABLE", "TAM|"+f, "status=Active")
		put(swss.StateDB, "TAM_STATE_FLOWGROUP_TABLE", f, "status=active")
		put(swss.StateDB, "TAM_STATE_TAILSTAMPING_TABLE", s, "status=active")
	}
	for db, rows := range tables {
		for table, keys := range rows {
			if err := swss.NewTable(r.DB(db), table).SetMany(t.Context(), keys); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// With ten thousand sessions, showing a single object or the summary needs little CPU time. The measured time includes
// shell, server and databases, which all run in this process. A busy machine does not exceed the limit, since it is
// several times the expected time. Reading a whole table does exceed it.
func TestTenThousandSessions(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures")
	}
	s, r := newSwitch(t)
	const n = 10000
	fill(t, r, n)
	s.do(t, "show tam summary") // counts all entries once
	const want = 50 * time.Millisecond
	for _, line := range []string{
		"show tam summary", "show tam tail-stamping sessions s77", "show tam flow-groups f77", "show tam tail-stamping",
	} {
		before := cpu(t)
		out := s.do(t, line)
		took := cpu(t) - before
		t.Logf("%-45s %8.1f ms, %d lines", line, float64(took.Microseconds())/1000, strings.Count(out, "\n"))
		if took > want {
			t.Errorf("%s: %v of computing, want at most %v", line, took, want)
		}
	}
	if out := s.do(t, "show tam summary"); !strings.Contains(out, "Sessions           : 10000\n") {
		t.Errorf("the summary:\n%s", out)
	}
}
