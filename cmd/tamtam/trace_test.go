package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tamtam/collector/capture"
)

// What is wrong with a packet to be traced is said before anybody is asked.
func TestTraceRefusals(t *testing.T) {
	file := filepath.Join(t.TempDir(), "in.pcap")
	w, err := capture.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{60, 1500} {
		if err := w.Write(time.Unix(1, 0), make([]byte, 60), n); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{}, exitUsage, "arg"},
		{[]string{"Ethernet0", "src", "10.0.0.1 | count"}, exitUsage, "want a port, and fields"},
		{[]string{"Ethernet0", "ttl", "1", "--pcap", file}, exitUsage, "want the port alone"},
		{[]string{"Ethernet0", "--pcap", file, "--packet", "0"}, exitUsage, "want 1 or more"},
		{[]string{"Ethernet0", "--pcap", file, "--packet", "3"}, exitFailed, "has no packet 3"},
		{[]string{"Ethernet0", "--pcap", file, "--packet", "2"}, exitFailed, "was cut to 60 bytes of 1500"},
		{[]string{"Ethernet0", "--pcap", file, "--target", "127.0.0.1:1", "--insecure"}, exitFailed,
			"No answer from the gNMI server"},
	} {
		var out, errs bytes.Buffer
		if code := run(t.Context(), append([]string{"trace"}, tt.args...), nil, &out, &errs); code != tt.code ||
			!strings.Contains(errs.String(), tt.want) {
			t.Errorf("%v: exit %d, want %d: %s, want %q", tt.args, code, tt.code, errs.String(), tt.want)
		}
	}
}
