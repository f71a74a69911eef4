package schema

import (
	"strings"
	"testing"
)

// A row that no daemon reads is refused with the text that its status would have. A row at the limit is read.
func TestCheckSize(t *testing.T) {
	const most = 100
	for _, tt := range []struct {
		name, table, key, value string
		want                    string // "" means that it is read
	}{
		{"at both limits", CfgTAMTailStamp, strings.Repeat("k", 255), strings.Repeat("v", most-len("f")), ""},
		{"a byte too many", CfgTAMTailStamp, "s", strings.Repeat("v", most),
			"TAM_TAILSTAMPING_TABLE|s: the row has 101 bytes: want at most 100"},
		{"a long key", CfgACLRule, "TAM|" + strings.Repeat("k", 252), "", ": the key has 256 bytes: want at most 255"},
		{"a table of others", "X509_TABLE", strings.Repeat("k", 500), strings.Repeat("v", 500), ""},
	} {
		err := CheckSize(tt.table, tt.key, map[string]string{"f": tt.value}, most)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}
