package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tamtam/collector/topology"
	"tamtam/fleet/dial"
	"tamtam/internal/command"
	"tamtam/lab/experiments"
)

// A topologyFlags describes the source of the topology.
type topologyFlags struct {
	dial         dial.Options
	file         string
	targets, ids []string
	clab         topology.Containerlab
}

// flags adds the flags of the topology's source. what describes the use of the topology by the command.
func (p *topologyFlags) flags(cmd *cobra.Command, what string) {
	f := cmd.Flags()
	f.StringVar(&p.file, "topology", "",
		what+"topology `FILE` of tamtam, containerlab or the lab, or the name of an experiment")
	f.StringArrayVar(&p.targets, "target", nil,
		"gNMI server of a switch, [NAME=]HOST:PORT or [NAME=]unix:/PATH (may be repeated); "+
			"without --topology, its LLDP neighbours are used")
	f.StringArrayVar(&p.ids, "id", nil, "NAME=ID: switch id of a switch in the topology (may be repeated)")
	f.IntVar(&p.clab.Step, "lanes", 4,
		"containerlab: lanes of each port; with 4, eth1, eth2, ... of a switch are Ethernet0, Ethernet4, ...")
	f.IntVar(&p.clab.Port, "gnmi-port", 8080, "containerlab: port of the gNMI servers")
	f.BoolVar(&p.dial.Insecure, "insecure", false, "connect to the switches without TLS")
	f.BoolVar(&p.dial.SkipVerify, "skip-verify", false, "use TLS, but accept any certificate of a switch")
	f.StringVar(&p.dial.CAFile, "tls-ca", "", "CA of the switches' certificates, PEM (default: the CAs of the system)")
	f.StringVar(&p.dial.CertFile, "tls-cert", "", "client certificate, PEM")
	f.StringVar(&p.dial.KeyFile, "tls-key", "", "key of --tls-cert, PEM")
	f.StringVarP(&p.dial.User, "user", "u", "", "user name")
	f.StringVarP(&p.dial.Password, "password", "p", "", "password")
}

func (p *topologyFlags) none() bool { return p.file == "" && len(p.targets) == 0 }

// open reads the topology, and prints its notes to standard error.
func (p *topologyFlags) open(cmd *cobra.Command) (*topology.Topology, error) {
	t, err := p.read(cmd)
	if err != nil {
		return nil, err
	}
	for _, note := range t.Notes {
		fmt.Fprintf(cmd.ErrOrStderr(), "tamtam: topology: %s\n", note)
	}
	return t, nil
}

func (p *topologyFlags) read(cmd *cobra.Command) (*topology.Topology, error) {
	if p.clab.Step < 1 || p.clab.Step > 64 || p.clab.Port < 1 || p.clab.Port > 65535 {
		return nil, usagef("--lanes %d, --gnmi-port %d: want 1 to 64 and 1 to 65535", p.clab.Step, p.clab.Port)
	}
	if p.file == "" {
		t, err := dial.Hear(cmd.Context(), p.targets, p.dial)
		if err != nil {
			return nil, err
		}
		return t, p.setIDs(t)
	}
	t, err := experiments.Network(p.file, p.clab)
	if errors.Is(err, experiments.ErrUnknown) {
		return nil, command.Usage(err)
	}
	if err != nil {
		return nil, err
	}
	for _, text := range p.targets {
		name, target, ok := strings.Cut(text, "=")
		if !ok {
			return nil, usagef("--target %q: want NAME=HOST:PORT of a switch of the topology", text)
		}
		if err := t.ChangeSwitch(name, func(n *topology.Node) error { n.Target = target; return nil }); err != nil {
			return nil, usagef("--target %q: %v", text, err)
		}
	}
	return t, p.setIDs(t)
}

func (p *topologyFlags) setIDs(t *topology.Topology) error {
	for _, text := range p.ids {
		name, number, _ := strings.Cut(text, "=")
		err := t.ChangeSwitch(name, func(n *topology.Node) error {
			id, err := strconv.ParseUint(number, 10, 32)
			if err != nil || id == 0 {
				return fmt.Errorf("id is %q, want 1 to 4294967295", number)
			}
			n.ID = uint32(id)
			return nil
		})
		if err != nil {
			return usagef("--id %q: %v", text, err)
		}
	}
	return t.Check()
}

// graphs returns the graphs of all flow groups that the switches of the topology mark, and that topology.
func (p *topologyFlags) graphs(cmd *cobra.Command) (f dial.File, t *topology.Topology, notes []string, err error) {
	if t, err = p.open(cmd); err != nil {
		return f, nil, nil, err
	}
	if f, notes, err = dial.Monitored(cmd.Context(), t, p.dial); err != nil {
		return f, nil, nil, err
	}
	for _, note := range notes {
		fmt.Fprintf(cmd.ErrOrStderr(), "tamtam: %s\n", note)
	}
	if len(f.Graphs) == 0 {
		return f, nil, nil, dial.ErrNoGraphs
	}
	return f, t, notes, nil
}

func newCollectGraphs() *cobra.Command {
	var p topologyFlags
	c := &cobra.Command{
		Use:   "graphs",
		Short: "Print the monitored graph of each flow group, from a topology and the sessions of its switches",
		Long: `Read the alternate-marking sessions of the switches in --topology or --target, and print the graphs that
tamtam collect makes of them. The output is a file for --paths of tamtam collect and tamtam-collectd.

If a flow group has no graph, a message on standard error names it with the reason, and the exit code
is 1.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if p.none() {
				return usagef("want --topology or --target")
			}
			f, _, notes, err := p.graphs(cmd)
			if err == nil {
				err = f.Write(cmd.OutOrStdout())
			}
			if err == nil && len(notes) > 0 {
				err = fmt.Errorf("%d flow groups have no graph", len(notes))
			}
			return err
		},
	}
	p.flags(c, "")
	return c
}

func newCollectTopology() *cobra.Command {
	var p topologyFlags
	var format string
	c := &cobra.Command{
		Use:   "topology [FILE|EXPERIMENT]",
		Short: "Print the network: switches, hosts and links, from a file or by LLDP",
		Long: `Print the topology as the collector uses it. It comes from FILE, from an experiment of the lab, or from
the LLDP neighbours of the switches in --target. The output is a file for --topology:

  switches:
  - {name: leaf1, target: "10.0.0.1:8080", id: 1}
  hosts:
  - {name: client}
  links:
  - {a: "leaf1:Ethernet0", b: client}

FILE may also be a topology of containerlab. The label tamtam of a node is its kind: switch or host.
Without the label, a node of kind linux is a switch if its image is called tamtam, or if it binds
/etc/tamtam/startup. Otherwise it is a host. A bridge has an unknown kind, and all other nodes are
switches. eth1, eth2, eth3 of a switch are Ethernet0, Ethernet4, Ethernet8: see --lanes. Links that
lead out of the topology are omitted, with a message.

With LLDP, a link must be reported by both ends. If one end reports nothing or another neighbour, the
link is omitted. A neighbour that is not in --target has an unknown kind. A message on standard error
reports each of these cases, and the exit code is then 1.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			asJSON := format == "json"
			if !asJSON && format != "yaml" {
				return usagef("--format %q: want yaml or json", format)
			}
			if len(args) == 1 && p.file != "" {
				return usagef("%s and --topology %s: want one of them", args[0], p.file)
			}
			if len(args) == 1 {
				p.file = args[0]
			}
			if p.none() {
				return usagef("want a topology file, an experiment of the lab, or --target")
			}
			t, err := p.open(cmd)
			if err != nil {
				return err
			}
			if asJSON {
				err = json.NewEncoder(cmd.OutOrStdout()).Encode(t)
			} else {
				err = t.Write(cmd.OutOrStdout())
			}
			if err == nil && p.file == "" && len(t.Notes) > 0 {
				err = fmt.Errorf("the LLDP neighbours of the switches leave %d parts of the topology uncertain", len(t.Notes))
			}
			return err
		},
	}
	p.flags(c, "same as FILE: ")
	c.Flags().StringVar(&format, "format", "yaml", "yaml or json")
	return c
}
