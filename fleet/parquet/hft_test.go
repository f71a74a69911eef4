package parquet

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

const hftHead = "time_ns,exporter,domain,template,type,object,label,statistic,kind,value\n"

// The values of a stream are rows of a Parquet file, in their order and exactly.
func TestWriteHFT(t *testing.T) {
	var in, out bytes.Buffer
	var want []hftRow
	in.WriteString(hftHead)
	for i := range 3*hftBatch + 5 {
		row := hftRow{int64(i) * 1000, "192.0.2.1:4000", 7, 256, "PORT", "Eth 0,\"x\"", 1, "IF_IN_OCTETS", "counter",
			1<<64 - 1 - uint64(i)}
		want = append(want, row)
		fmt.Fprintf(&in, "%d,%s,7,256,PORT,\"Eth 0,\"\"x\"\"\",1,IF_IN_OCTETS,counter,%d\n", row.Time, row.Exporter,
			row.Value)
	}
	n, err := WriteHFT(&out, &in)
	if err != nil || n != int64(len(want)) {
		t.Fatalf("%d rows, want %d: %v", n, len(want), err)
	}
	got, err := parquet.Read[hftRow](bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%d rows, want %d: %v", len(got), len(want), err)
	}
}

// Each line that is wrong is named. The rows before it are in the file.
func TestWriteHFTRefuses(t *testing.T) {
	const good = "5,local,0,256,PORT,Ethernet0,1,IF_IN_OCTETS,counter,7\n"
	for _, c := range []struct {
		in, want string
		rows     int64
	}{
		{"", "values of high-frequency telemetry: EOF: want the lines of tamtam collect hft --format csv", 0},
		{"a,b\n", "wrong number of fields", 0},
		{strings.Replace(hftHead, "domain", "x", 1), `line 1: column 3 is "x": want domain`, 0},
		{hftHead, "", 0},
		{hftHead + good + "5,local\n", "record on line 3: wrong number of fields", 1},
		{hftHead + good + strings.Replace(good, ",7", ",-7", 1), `line 3: value "-7": want a number of 64 bits`, 1},
		{hftHead + good + strings.Replace(good, "256", "65536", 1), `line 3: template "65536": want a number of 16 bits`, 1},
		{hftHead + good + good, "", 2},
	} {
		var out bytes.Buffer
		n, err := WriteHFT(&out, strings.NewReader(c.in))
		if n != c.rows || (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %d rows, want %d: %v, want %s", c.in, n, c.rows, err, c.want)
		}
		if got, err := parquet.Read[hftRow](bytes.NewReader(out.Bytes()), int64(out.Len())); out.Len() > 0 &&
			(err != nil || int64(len(got)) != n) {
			t.Errorf("%q: a file of %d rows, want %d: %v", c.in, len(got), n, err)
		}
	}
}
