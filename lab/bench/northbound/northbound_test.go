package northbound

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"tamtam/device/daemons"
	"tamtam/mgmt"
	"tamtam/swss"
)

// TestMain can also run as mgmtd, for the test that starts it as a process.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 || os.Args[1] != "mgmtd" {
		os.Exit(m.Run())
	}
	if err := mgmtd(os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func mgmtd(args []string) error {
	var addr string
	var cfg mgmt.Config
	f := flag.NewFlagSet("mgmtd", flag.ContinueOnError)
	f.StringVar(&addr, "redis", "", "")
	f.StringVar(&cfg.Addr, "gnmi", "", "")
	f.StringVar(&cfg.Dir, "data", "", "")
	f.BoolVar(&cfg.Insecure, "insecure", false, "")
	if err := f.Parse(args); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	var err error
	if cfg.Redis, err = swss.Open(ctx, addr); err != nil {
		return err
	}
	defer cfg.Redis.Close()
	return daemons.RunMgmt(ctx, cfg, daemons.Addresses{}, daemons.Common{})
}

// All figures exist, and none is 0.
func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing for the race detector")
	}
	results, err := Run(t.Context(), Config{Mgmtd: []string{os.Args[0], "mgmtd"}, Sessions: 30, Changing: 5, Events: 4})
	if err != nil {
		t.Fatal(err)
	}
	if len(results) != 10 {
		t.Errorf("%d results: %v", len(results), results)
	}
	for _, r := range results {
		if r.Value <= 0 {
			t.Errorf("%s: %g %s", r.Name, r.Value, r.Unit)
		}
	}
}
