package main

import (
	_ "embed"
	"os"

	"github.com/spf13/cobra"

	"tamtam/lab"
	"tamtam/lab/demo"
)

// The demo's switch, and real traffic between two hosts over a cable (scripts/record-demo.sh).
var (
	//go:embed demo/config_db.json
	demoConfig []byte
	//go:embed demo/client.pcap
	demoClient []byte
	//go:embed demo/server.pcap
	demoServer []byte
)

func newDemo() *cobra.Command {
	var out string
	var door pageFlags
	c := &cobra.Command{
		Use:   "demo",
		Short: "Show every feature, with real traffic through two switches",
		Long: `Send captured traffic of two real hosts through two switches with every feature, and print the
measurements. Headings that begin with "==" introduce the parts: configuration, report of each switch,
latency per hop, loss of a link, and paths through tables. The captures are in --out.

With --http, a leaf-spine network with every feature runs instead. Its page is served until an
interrupt, as by ` + "`tamtam lab serve --http ADDRESS`.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if door.addr != "" && out != "" {
				return usagef("--out %s and --http %s: with --http there are no captures: want one of them", out, door.addr)
			}
			if door.addr != "" {
				return door.serveExperiment(cmd, shownExperiment, nil, lab.Options{})
			}
			if out == "" {
				dir, err := os.MkdirTemp("", "tamtam-demo-")
				if err != nil {
					return err
				}
				out = dir
			}
			return demo.Run(cmd.Context(), cmd.OutOrStdout(), demo.Demo{
				Config: demoConfig, Client: demoClient, Server: demoServer, Dir: out, Log: logger(cmd)})
		},
	}
	c.Flags().StringVar(&out, "out", "", "directory for the captures (default: a new temporary directory)")
	door.flags(c, "http", "")
	return c
}
