package main

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"strings"
	"testing"
	"time"

	"tamtam/internal/netns/netnstest"
	"tamtam/tam/sflow"
)

// sFlow datagrams that pass an interface to the sFlow port of another host are read there. Datagrams to other ports are
// not read.
func TestCollectSFlowFromInterface(t *testing.T) {
	if !netnstest.Own(t) {
		return
	}
	veths(t, [2]string{"wire", "tap"})
	var out, errOut bytes.Buffer
	done := make(chan int, 1)
	go func() {
		args := []string{"collect", "sflow", "--interface", "tap", "--count", "1"}
		done <- run(t.Context(), args, strings.NewReader(""), &out, &errOut)
	}()
	frame := func(port uint16, index uint32) []byte {
		d := sflow.Datagram{Agent: netip.MustParseAddr("192.0.2.1"), Sequence: 1, Samples: []sflow.Sample{
			&sflow.CounterSample{Sequence: 1, Source: sflow.Source{Index: index}},
		}}
		f := frameOf(t, netip.MustParseAddrPort("192.0.2.1:5000"), string(d.Append(nil)))
		binary.BigEndian.PutUint16(f[36:], port)
		return f
	}
	wire, code := openHost(t, "wire"), -1
	for code < 0 { // sent again until it is read, since the interface may not be open yet
		wire.send(frame(6344, 8))
		wire.send(frame(6343, 7))
		select {
		case code = <-done:
		case <-time.After(50 * time.Millisecond):
		}
	}
	if code != 0 || !strings.HasPrefix(out.String(), "192.0.2.1/0 datagram 1 counters source=7 sequence=1") {
		t.Errorf("exit %d, %s%s", code, out.String(), errOut.String())
	}
}
