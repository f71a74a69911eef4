// Command sonicutils runs SONiC's utilities, which are not part of tamtam, on a switch with hosts and traffic:
//
//	unshare -mn --propagation private sonicutils -folder FOLDER -tamtam PROGRAM [-only TEXT]
//
// FOLDER has work trees of sonic-utilities and sonic-buildimage in src/, the built Python binding of sonic-swss-common
// in py/swsscommon, and optionally SONiC's YANG modules in yang/, with the bindings src/libyang-python and
// src/pyangbind. The program needs root, and the packages of Debian that sonic-utilities imports: python3-click,
// -tabulate, -natsort, -netaddr, -netifaces, -redis, -jinja2, -jsonpatch, -jsondiff, -regex, -lazy-object-proxy,
// -pyroute2 and -yaml. It mounts folders at SONiC's places in its own mount namespace.
//
// The file tools.txt lists the tools and what each must show or do. It also lists the tools that cannot work, with the
// reason. The program ends with 1 if a tool does not do what its line says.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
)

func main() {
	var o options
	flag.StringVar(&o.folder, "folder", "", "the `FOLDER` with SONiC's utilities")
	flag.StringVar(&o.tamtam, "tamtam", "", "the `PROGRAM` tamtam")
	flag.StringVar(&o.only, "only", "", "run only tools whose command contains this `TEXT`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "sonicutils:", err)
		os.Exit(1)
	}
}

// options are the options of a run.
type options struct{ folder, tamtam, only string }

// run starts the switch, sends traffic, and judges every tool.
func run(ctx context.Context, o options) error {
	tools, err := parseTools(toolsText)
	if err != nil {
		return err
	}
	b, err := newBench(ctx, o)
	if err != nil {
		return err
	}
	defer b.close()
	if err := b.start(); err != nil {
		return err
	}
	failed, without := 0, 0
	for _, t := range tools {
		if t.kind == kindAbsent {
			without++
			continue
		}
		if !strings.Contains(t.command, o.only) && t.kind != kindSetup {
			continue
		}
		if err := b.judge(t); err != nil {
			failed++
			fmt.Printf("FAIL  %s\n      %v\n", t.command, err)
			continue
		}
		fmt.Printf("ok    %s\n", t.command)
	}
	fmt.Printf("%d tools failed; %d cannot work and were not run (tools.txt has the reasons)\n", failed, without)
	if failed > 0 {
		return fmt.Errorf("%d tools failed", failed)
	}
	return nil
}
