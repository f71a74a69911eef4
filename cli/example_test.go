package cli_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"tamtam/cli"
	"tamtam/cli/kit"
	"tamtam/mgmt"
	"tamtam/swss"
)

// A session configures a switch over gNMI, and shows the configuration as commands that restore it.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	socket, stop, err := northbound(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer stop()

	shell, err := cli.New(kit.Config{Target: "unix:" + socket, Out: os.Stdout})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer shell.Close()
	for _, line := range []string{
		"configure terminal",
		"tam",
		"switch-id 2020",
		"collector c1 ip 192.0.2.9 port 4739",
		"flow-group web dst-l4-port 80 protocol tcp",
		"flow-group web dst-l4-port eighty",
		"do show running-configuration tam | include collector|flow-group",
	} {
		if err := shell.Exec(ctx, line); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(shell.Prompt())
	// Output:
	// %Error: "eighty" is not a port or a range of ports such as 80 or 8000-8100
	//   flow-group web dst-l4-port eighty
	//                              ^
	//  collector c1 ip 192.0.2.9 port 4739 protocol UDP
	//  flow-group web id 1 protocol 6 dst-l4-port 80 priority 100
	// sonic(config-tam)#
}

// northbound starts a gNMI server on its own Redis, as mgmtd does on a switch. No other daemon runs.
func northbound(ctx context.Context) (socket string, stop func(), err error) {
	redis, err := swss.OpenEmbedded()
	if err != nil {
		return "", nil, err
	}
	dir, err := os.MkdirTemp("", "cli")
	if err != nil {
		return "", nil, err
	}
	socket = filepath.Join(dir, "gnmi")
	server, err := mgmt.NewServer(mgmt.Config{Redis: redis, Socket: socket})
	if err != nil {
		return "", nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx) }()
	return socket, func() {
		cancel()
		<-done
		redis.Close()
		os.RemoveAll(dir)
	}, nil
}
