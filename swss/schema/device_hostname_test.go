package schema

import (
	"strings"
	"testing"
)

// A hostname that is not valid is reported like each other field, and the row's other fields are read.
func TestHostname(t *testing.T) {
	for name, valid := range map[string]bool{
		"leaf1": true, "a.b-c_d1.": true, "": true, "two words": false, "a\u202eb": false, "-a": false, "a-": false,
		".": false, strings.Repeat("a", 64): false, strings.Repeat("a.", 127) + "a": false,
	} {
		row := map[string]string{"hostname": name, "mac": "02:00:00:00:00:01"}
		got, err := ParseDeviceMetadata(MetadataKey, row)
		if (err == nil) != valid || got.MAC.IsZero() || valid && got.Hostname != name || !valid && got.Hostname != "" {
			t.Errorf("%q: %+v, %v", name, got, err)
		}
		parts := UnappliedParts(CfgDeviceMetadata, MetadataKey, row)
		if !valid && (len(parts) != 1 ||
			parts[0].Kind != UnappliedInvalid || !strings.Contains(parts[0].Reason, "hostname")) {
			t.Errorf("%q: unapplied %+v", name, parts)
		}
	}
}
