package auth

import (
	"net"
	"net/netip"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// The number of concurrent calls of one source is bounded, whatever their kind. Other sources are not affected.
func TestCallsOfOneSource(t *testing.T) {
	var c calls
	var leaves []func()
	for _, tt := range []struct {
		lasts bool
		most  int
	}{{false, maxCallsOf}, {true, maxSubscribeOf}} {
		for i := range tt.most + 1 {
			leave, err := c.enter(net.TCPAddrFromAddrPort(netip.MustParseAddrPort("192.0.2.1:7")), tt.lasts)
			if (err != nil) != (i == tt.most) || err != nil && status.Code(err) != codes.ResourceExhausted {
				t.Fatalf("%d of %d: %v", i+1, tt.most, err)
			}
			if err == nil {
				leaves = append(leaves, leave)
			}
		}
		if leave, err := c.enter(net.TCPAddrFromAddrPort(netip.MustParseAddrPort("192.0.2.2:7")), tt.lasts); err != nil {
			t.Error(err)
		} else {
			leave()
		}
	}
	for _, leave := range leaves {
		leave()
	}
	if len(c.of) != 0 {
		t.Errorf("%d sources are remembered", len(c.of))
	}
}
