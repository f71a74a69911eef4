package chaos

import (
	"context"
	"strings"
	"sync"
	"testing"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"tamtam/device"
	"tamtam/device/daemons"
	"tamtam/device/devicetest"
	"tamtam/internal/racetest"
	"tamtam/mgmt"
	"tamtam/swss"
	"tamtam/swss/schema"
)

// A front is an mgmtd of a liveSwitch, with a client.
type front struct {
	plant  *liveSwitch
	addr   string
	client gpb.GNMIClient
	stop   func()
}

func (p *liveSwitch) front() *front {
	p.Helper()
	r := p.server.Open()
	s, err := mgmt.NewServer(mgmt.Config{Redis: r, Addr: "127.0.0.1:0", Insecure: true})
	if err != nil {
		p.Fatal(err)
	}
	conn, err := grpc.NewClient("passthrough:///"+s.Addr(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		p.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- daemons.ServeMgmt(ctx, r, s, nil, daemons.Addresses{}, daemons.Common{}) }()
	f := &front{plant: p, addr: s.Addr(), client: gpb.NewGNMIClient(conn)}
	f.stop = sync.OnceFunc(func() {
		conn.Close()
		cancel()
		if err := <-done; err != nil {
			p.Errorf("mgmtd ended: %v", err)
		}
	})
	p.Cleanup(f.stop)
	return f
}

// health returns the result of `tamtam health mgmtd`.
func (f *front) health() error {
	_, err := daemons.Health(f.plant.Context(), daemons.Question{Name: "mgmtd", Addr: f.plant.server.Addr, GNMI: f.addr,
		Timeout: patience})
	return err
}

// ready waits until the health of mgmtd is ok.
func (f *front) ready() {
	f.plant.Helper()
	f.plant.until("mgmtd is ready", func() bool { return f.health() == nil })
}

// unready waits until the health of mgmtd has a reason.
func (f *front) unready(why string) {
	f.plant.Helper()
	f.plant.until("mgmtd says: "+why, func() bool {
		err := f.health()
		return err != nil && strings.Contains(err.Error(), why)
	})
}

// get requests the configured sampling rate of sampler a. It returns "" if there is none.
func (f *front) get() (string, error) {
	path := &gpb.Path{Elem: []*gpb.PathElem{{Name: "tam"}, {Name: "samplers"},
		{Name: "sampler", Key: map[string]string{"name": "a"}}, {Name: "config"}, {Name: "sampling-rate"}}}
	got, err := f.client.Get(f.plant.Context(), &gpb.GetRequest{Path: []*gpb.Path{path}, Encoding: gpb.Encoding_JSON_IETF})
	if status.Code(err) == codes.NotFound {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return string(got.Notification[0].Update[0].Val.GetJsonIetfVal()), nil
}

// refuses waits until Get is rejected for a reason.
func (f *front) refuses(why string) {
	f.plant.Helper()
	f.plant.until("gNMI refuses: "+why, func() bool {
		_, err := f.get()
		return status.Code(err) == codes.Unavailable && strings.Contains(err.Error(), why)
	})
}

// alarm waits for an alarm.
func (f *front) alarm(id, text string) {
	f.plant.Helper()
	f.plant.until("alarm "+id+": "+text, func() bool {
		return strings.Contains(f.plant.row(swss.StateDB, schema.StateAlarm, id)[schema.AlarmText], text)
	})
}

// sampler writes the sampling rate.
func (p *liveSwitch) sampler(rate string) {
	p.Helper()
	p.load(device.ConfigDB{schema.CfgTAMSampler: {"a": {"sampling-rate": rate}}})
}

// mgmtd reports any fault of the databases, and raises an alarm if the alarm can be written. It becomes ready again by
// itself. It then serves the content of the databases.
func TestMgmtdLosesDatabases(t *testing.T) {
	racetest.Live(t)
	t.Parallel()
	for _, tt := range []struct {
		name string
		f    func(p *liveSwitch, f *front)
		rate string // expected rate afterwards
	}{
		{"killed without persistence", func(p *liveSwitch, f *front) {
			p.server.Kill()
			if rate, err := f.get(); status.Code(err) != codes.Unavailable ||
				!strings.Contains(err.Error(), "Redis does not answer") {
				p.Errorf("without Redis gNMI says %q, %v", rate, err)
			}
			p.server.Start()
			f.alarm("Redis-restarted", "Redis was started again")
			f.alarm("CONFIG_DB-emptied", "CONFIG_DB is empty")
		}, ""},
		{"all emptied", func(p *liveSwitch, f *front) {
			p.redis.DB(swss.ConfigDB).Client().FlushAll(p.Context())
			f.alarm("CONFIG_DB-emptied", "CONFIG_DB")
		}, ""},
		{"ASIC_DB emptied", func(p *liveSwitch, f *front) {
			p.flush(swss.ASICDB)
			f.alarm("ASIC_DB-emptied", "ASIC_DB was emptied")
		}, "1"},
		{"STATE_DB emptied", func(p *liveSwitch, f *front) {
			p.flush(swss.StateDB)
			f.alarm("STATE_DB-emptied", "STATE_DB was emptied")
		}, "1"},
		{"read-only", func(p *liveSwitch, f *front) {
			p.readOnly(true)
			f.unready("Redis is read-only")
			p.readOnly(false)
		}, "1"},
		{"full", func(p *liveSwitch, f *front) {
			p.set("maxmemory", "1")
			f.unready("Redis is out of memory")
			p.set("maxmemory", "0")
		}, "1"},
		{"of another", func(p *liveSwitch, f *front) {
			second := p.front()
			f.refuses("is of another mgmtd")
			second.ready()
			if rate, err := second.get(); err != nil || rate != "1" {
				p.Errorf("the second says %s, %v", rate, err)
			}
			second.stop()
			p.until("the first serves again", func() bool { _, err := f.get(); return err == nil })
		}, "1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := bareplant(t)
			f := p.front()
			p.sampler("1")
			f.ready()
			tt.f(p, f)
			f.ready()
			if rate, err := f.get(); err != nil || rate != tt.rate {
				t.Errorf("gNMI says %q, %v; want %q", rate, err, tt.rate)
			}
			p.sampler("2")
			p.until("what is written is served", func() bool { rate, err := f.get(); return err == nil && rate == "2" })
		})
	}
}

// readOnly makes Redis a replica without a master, and undoes that.
func (p *liveSwitch) readOnly(on bool) {
	p.Helper()
	host, port := "no", "one"
	if on {
		host, port = "127.0.0.1", "1"
	}
	devicetest.NoError(p.T, p.redis.DB(swss.ConfigDB).Client().SlaveOf(p.Context(), host, port).Err())
}
