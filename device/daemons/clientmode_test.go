package daemons

import "testing"

// syncd serves the modes of SONiC's orchagent, in SONiC's words.
func TestClientModes(t *testing.T) {
	for _, c := range []struct {
		mode  string
		zmq   *ZMQEndpoints
		async bool
		valid bool
	}{
		{"redis_sync", nil, false, true},
		{"redis_async", nil, true, true},
		{"zmq_sync", &ZMQEndpoints{"tcp://127.0.0.1:5555", "tcp://127.0.0.1:5556"}, false, true},
		{"zmq_sync=tcp://127.0.0.1:5555,ipc:///run/n", &ZMQEndpoints{"tcp://127.0.0.1:5555", "ipc:///run/n"}, false, true},
		{"zmq_sync=ipc:///run/n", nil, false, false},
		{"zmq_sync=udp://1,ipc:///run/n", nil, false, false},
		{"redis_sync=1", nil, false, false},
		{"async", nil, false, false},
		{"", nil, false, false},
	} {
		zmq, async, err := ParseClientMode(c.mode)
		if (err == nil) != c.valid || async != c.async || (zmq == nil) != (c.zmq == nil) || zmq != nil && *zmq != *c.zmq {
			t.Errorf("%q: %v, %t, %v", c.mode, zmq, async, err)
		}
	}
}
