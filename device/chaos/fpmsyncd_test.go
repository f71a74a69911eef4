package chaos

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"slices"
	"strings"
	"testing"

	"tamtam/device/daemons"
	"tamtam/device/devicetest"
	"tamtam/internal/racetest"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// A zebra is a client of fpmsyncd.
type zebra struct {
	*liveSwitch
	addr      net.Addr
	listening <-chan net.Addr // fpmsyncd's address at each start
}

// startFPMSyncd starts fpmsyncd beside the other daemons, if any, of a liveSwitch.
func startFPMSyncd(p *liveSwitch) (z *zebra, stop func()) {
	r, listening := p.server.Open(), make(chan net.Addr, 16)
	z = &zebra{liveSwitch: p, listening: listening}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		cfg := daemons.FPMConfig{Listen: "127.0.0.1:0", Listening: func(a net.Addr) { listening <- a }}
		ended <- daemons.RunFPMSyncd(ctx, r, cfg, daemons.Common{})
	}()
	z.addr = <-listening
	return z, func() {
		cancel()
		if err := <-ended; err != nil {
			p.Errorf("fpmsyncd ended: %v", err)
		}
	}
}

// connect opens a connection and sends messages.
func (z *zebra) connect(say ...[]byte) net.Conn {
	z.Helper()
	c, err := net.Dial("tcp", z.addr.String())
	if err != nil {
		z.Fatal(err)
	}
	if _, err := c.Write(slices.Concat(say...)); err != nil {
		z.Fatal(err)
	}
	return c
}

// fpmFrame returns a message that adds or deletes a BGP route to 10.N.0.0/16 that drops.
func fpmFrame(n byte, gone bool) []byte {
	m := []byte{1, 1, 0, 40} // header of FPM
	kind := uint16(24)
	if gone {
		kind = 25
	}
	m = binary.NativeEndian.AppendUint16(binary.NativeEndian.AppendUint32(m, 36), kind)
	m = append(m, make([]byte, 10)...)
	m = append(m, 2, 16, 0, 0, 254, 186, 0, 6, 0, 0, 0, 0)
	m = binary.NativeEndian.AppendUint16(binary.NativeEndian.AppendUint16(m, 8), 1)
	return append(m, 10, n, 0, 0)
}

// says waits until fpmsyncd reports a state that contains part.
func (z *zebra) says(part string) {
	z.Helper()
	z.saysOf("fpmsyncd", part)
}

// saysOf waits until a daemon reports a state that contains part.
func (p *liveSwitch) saysOf(name, part string) {
	p.Helper()
	p.until(name+" says "+part, func() bool {
		state, heard, err := daemons.ReadState(p.Context(), p.redis, name)
		return err == nil && heard && strings.Contains(state.State+" "+state.Reason, part)
	})
}

// Routes from zebra reach the chip and leave it. fpmsyncd serves one zebra at a time. It is ready while a zebra is
// connected and every message was valid. After a requested end, it does not count as missing.
func TestFPMSyncd(t *testing.T) {
	racetest.Live(t)
	p := startPlant(t)
	p.load(devicetest.TwoPorts())
	z, stop := startFPMSyncd(p)
	z.says("waiting zebra is not connected")
	conn := z.connect(fpmFrame(1, false), fpmFrame(2, false))
	z.says("ready")
	inASIC := func(n string) bool {
		keys, err := p.redis.DB(swss.ASICDB).AllKeys(t.Context())
		return err == nil && slices.ContainsFunc(keys, func(k string) bool {
			return strings.Contains(k, `"dest":"10.`+n+`.0.0/16"`)
		})
	}
	p.until("the routes are in the ASIC", func() bool { return inASIC("1") && inASIC("2") })
	for range 2 { // fpmsyncd returns both routes to zebra, with NLM_F_REQUEST and RTM_F_OFFLOAD
		answer := make([]byte, len(fpmFrame(1, false)))
		if _, err := io.ReadFull(conn, answer); err != nil {
			t.Fatal(err)
		}
		want := fpmFrame(answer[len(answer)-3], false)
		binary.NativeEndian.PutUint16(want[10:], 1)
		binary.NativeEndian.PutUint32(want[28:], 0x4000)
		if !slices.Equal(answer, want) {
			t.Errorf("zebra was answered % x, want % x", answer, want)
		}
	}
	if _, err := conn.Write(fpmFrame(1, true)); err != nil {
		t.Fatal(err)
	}
	p.until("a route has left it", func() bool { return !inASIC("1") && inASIC("2") })

	second := z.connect()
	if _, err := io.ReadAll(second); err != nil && !strings.Contains(err.Error(), "reset") {
		t.Errorf("a second zebra: %v, want the end", err)
	}
	bad := fpmFrame(3, false)
	bad[4] = 99 // wrong length of the message in the frame
	if _, err := conn.Write(append(bad, fpmFrame(4, false)...)); err != nil {
		t.Fatal(err)
	}
	z.says("waiting 1 messages of zebra's were not understood: a message of 99 bytes, want 16 to 36")
	p.until("what comes behind it is taken", func() bool { return inASIC("4") })
	if _, err := conn.Write([]byte("GET / HTTP/1.1\r\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(conn); err != nil && !strings.Contains(err.Error(), "reset") {
		t.Errorf("what is no FPM: %v, want the end", err)
	}
	z.says("waiting zebra is not connected; the 2 routes that it sent stay")

	answer, err := daemons.Health(t.Context(), daemons.Question{Name: "fpmsyncd", Addr: p.server.Addr, Live: true,
		Timeout: patience})
	if err != nil || !strings.HasPrefix(answer, "ok, not ready: zebra is not connected") {
		t.Errorf("health %q, %v", answer, err)
	}
	if here, err := daemons.BesideHere(t.Context(), p.redis); err != nil || !slices.Equal(here, []string{"fpmsyncd"}) {
		t.Errorf("beside the others work %q, %v", here, err)
	}
	stop()
	if here, err := daemons.BesideHere(t.Context(), p.redis); err != nil || len(here) > 0 {
		t.Errorf("after the end, beside the others work %q, %v", here, err)
	}
}

// zebra's routes are not lost with the database: zebra connects again and sends all routes.
func TestFPMSyncdBeginsAnew(t *testing.T) {
	racetest.Live(t)
	p := bareplant(t)
	z, stop := startFPMSyncd(p)
	defer stop()
	conn := z.connect(fpmFrame(1, false))
	z.says("ready")
	pending := func(n string) bool {
		keys, err := p.redis.DB(swss.ApplDB).AllKeys(t.Context())
		return err == nil && slices.Contains(keys, "_"+schema.AppRoute+":10."+n+".0.0/16")
	}
	p.until("the route is queued", func() bool { return pending("1") })
	devicetest.NoError(t, p.redis.DB(swss.ApplDB).Client().FlushDB(t.Context()).Err())
	if _, err := io.Copy(io.Discard, conn); err != nil && !strings.Contains(err.Error(), "reset") {
		t.Errorf("the life of fpmsyncd: %v, want its end", err)
	}
	z.addr = <-z.listening
	z.connect(fpmFrame(2, false))
	p.until("what it tells then is queued", func() bool { return pending("2") })
}
