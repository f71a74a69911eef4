package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tamtam/internal/command"
)

// Values from standard input become a Parquet file, which must be a new one. Wrong input is named.
func TestHFT(t *testing.T) {
	const head = "time_ns,exporter,domain,template,type,object,label,statistic,kind,value\n"
	const value = "5,local,0,256,PORT,Ethernet0,1,IF_IN_OCTETS,counter,7\n"
	dir := t.TempDir()
	for _, c := range []struct {
		args, in string
		code     int
		want     string
	}{
		{"hft", "", command.ExitUsage, "--out is missing"},
		{"hft a", "", command.ExitUsage, `"a": this command accepts only flags`},
		{"hft --out " + dir + "/f", head + value + value, 0, dir + "/f: 2 values\n"},
		{"hft --out " + dir + "/f", head + value, command.ExitFailed, "--out: open " + dir + "/f: file exists"},
		{"hft --out " + dir + "/g", head + "x" + value, command.ExitFailed, `line 2: time_ns "x5": want a number of 63 bits`},
	} {
		var out bytes.Buffer
		code := runWith(t.Context(), strings.Fields(c.args), strings.NewReader(c.in), &out, &out)
		if code != c.code || !strings.Contains(out.String(), c.want) {
			t.Errorf("%s: exit %d, %s; want %d, %s", c.args, code, out.String(), c.code, c.want)
		}
	}
	b, err := os.ReadFile(filepath.Join(dir, "f"))
	if err != nil || !bytes.HasPrefix(b, []byte("PAR1")) || !bytes.HasSuffix(b, []byte("PAR1")) {
		t.Errorf("%d bytes that are no Parquet file: %v", len(b), err)
	}
}
