package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tamtam/device"
	"tamtam/device/daemons"
	"tamtam/device/logs"
	"tamtam/device/sender"
	"tamtam/host/fpmsyncd"
	"tamtam/internal/command"
	"tamtam/mgmt"
	"tamtam/mgmt/access"
	"tamtam/mgmt/outputs"
	"tamtam/mgmt/outputs/alertmanager"
	"tamtam/mgmt/outputs/otlp"
	"tamtam/mgmt/outputs/syslog"
	"tamtam/swss"
)

// Addresses of the gNMI server: only on this machine by default, and on all addresses if a login is required. Health
// checks use the first.
const (
	gnmiAddress = "localhost:8080"
	gnmiForAll  = ":8080"
)

// A northbound holds the flags of the gNMI server, which up and mgmtd share.
type northbound struct {
	gnmi, rest, metrics, http, data, cert, key, clientCA, users, roles, audit string

	insecure, noLogin, firstLogin, metricsOpen bool

	otlp, syslog, alerts []string

	otlpPeriod time.Duration
	sendCA     string
}

func (n *northbound) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&n.gnmi, "gnmi", "",
		"address of the gNMI server (default: "+gnmiAddress+"; with --users or --tls-client-ca "+gnmiForAll+", for all)")
	f.StringVar(&n.rest, "rest", "", "address of the RESTCONF server (default: none)")
	f.StringVar(&n.metrics, "metrics", "", "address of metrics for Prometheus, with the same users (default: none)")
	f.BoolVar(&n.metricsOpen, "metrics-open", false,
		"let every client of --metrics read the metrics, without login and TLS")
	f.StringVar(&n.http, "http", "", "address of the switch's page for browsers, with the same users (default: none)")
	f.StringVar(&n.data, "data", device.DataDir(), "directory for the generated certificates and the CLI's socket")
	f.StringVar(&n.cert, "tls-cert", "", "server certificate, PEM (default: a generated one in the data directory)")
	f.StringVar(&n.key, "tls-key", "", "key of --tls-cert, PEM")
	f.StringVar(&n.clientCA, "tls-client-ca", "", "CA of client certificates, PEM: clients must have one (mTLS)")
	f.StringVar(&n.users, "users", os.Getenv("TAMTAM_USERS"),
		"`FILE` of NAME:PASSWORD:ROLE lines, written by tamtam users: clients must log in (default from TAMTAM_USERS)")
	f.StringVar(&n.roles, "roles", "",
		"`FILE` of ROLE none|read|write PATH lines: rights of roles, beyond the built-in ones")
	f.StringVar(&n.audit, "audit", "",
		"append each change and each refused request, with its user, to this `FILE` as JSON")
	f.BoolVar(&n.noLogin, "no-login", false,
		"let every client be admin, even if other hosts can reach the address; without it, such an address needs a login")
	f.BoolVar(&n.firstLogin, "first-login", os.Getenv("TAMTAM_FIRST_LOGIN") != "",
		"if the file of --users does not exist, create it with a user admin, and print the password once "+
			"(default from TAMTAM_FIRST_LOGIN)")
	f.StringArrayVar(&n.otlp, "otlp", nil,
		"send metrics to an OpenTelemetry collector: grpc, grpcs, http or https://HOST[:PORT] (may be repeated)")
	f.DurationVar(&n.otlpPeriod, "otlp-period", sender.DefaultPeriod, "time between two sends of --otlp, 1s or more")
	f.StringArrayVar(&n.syslog, "syslog", nil,
		"send changes of status to a syslog server: udp, tcp or tls://HOST[:PORT] (may be repeated); "+
			"also SYSLOG_SERVER of CONFIG_DB")
	f.StringArrayVar(&n.alerts, "alertmanager", nil,
		"send alarms to Prometheus' Alertmanager: http or https://HOST[:PORT][/PREFIX] (may be repeated)")
	f.StringVar(&n.sendCA, "send-ca", "",
		"CA of the servers to which --otlp, --syslog and --alertmanager send by TLS, PEM (default: the CAs of the host)")
	f.BoolVar(&n.insecure, "insecure", false, "serve gNMI and RESTCONF without TLS")
}

// groupNorthbound puts the flags of a northbound under headings, except --data.
func groupNorthbound(c *cobra.Command) {
	command.Group(c, "Servers", "gnmi", "rest", "http", "metrics", "metrics-open", "insecure", "tls-cert", "tls-key")
	command.Group(c, "Users", "users", "roles", "first-login", "no-login", "tls-client-ca", "audit")
	command.Group(c, "What the switch sends", "otlp", "otlp-period", "syslog", "alertmanager", "send-ca")
}

func (n *northbound) config(cmd *cobra.Command) (mgmt.Config, error) {
	cfg := mgmt.Config{
		Addr: n.gnmi, Dir: n.data, CertFile: n.cert, KeyFile: n.key, ClientCAFile: n.clientCA, UsersFile: n.users,
		RolesFile: n.roles, Insecure: n.insecure, NoLogin: n.noLogin, Socket: device.SocketPath(n.data), Logger: logger(cmd),
		Keep: n.data, Host: device.Machine(command.Version()),
	}
	if cfg.Addr == "" {
		cfg.Addr = gnmiAddress
		if n.users != "" || n.clientCA != "" || n.noLogin {
			cfg.Addr = gnmiForAll
		}
	}
	if err := cmp.Or(n.apart(cfg.Addr), n.mayListen()); err != nil {
		return cfg, err
	}
	if n.firstLogin && n.users != "" {
		if err := printFirstLogin(cmd, n.users); err != nil {
			return cfg, err
		}
	}
	if n.audit != "" { // it is open as long as the process runs
		f, err := logs.OpenFile(n.audit)
		if err != nil {
			return cfg, fmt.Errorf("--audit: %w", err)
		}
		cfg.Audit = logs.JSON.Handler(f, slog.LevelInfo)
	}
	return cfg, nil
}

// mayListen refuses addresses that other machines can reach if no login is required.
func (n *northbound) mayListen() error {
	cfg := mgmt.Config{UsersFile: n.users, ClientCAFile: n.clientCA, NoLogin: n.noLogin}
	for flag, addr := range map[string]string{"--gnmi": n.gnmi, "--rest": n.rest, "--http": n.http} {
		if err := cfg.MayListen(addr); addr != "" && err != nil {
			return usagef("%s %w", flag, err)
		}
	}
	return nil
}

// apart refuses a page's address that is invalid, or that another server of this process uses.
func (n *northbound) apart(gnmi string) error {
	if n.http == "" {
		return nil
	}
	host, port, err := net.SplitHostPort(n.http)
	if _, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil {
		return usagef("--http %q: want HOST:PORT, such as %s", n.http, pageAddress)
	}
	for _, other := range [][2]string{{"--gnmi", gnmi}, {"--rest", n.rest}, {"--metrics", n.metrics}} {
		h, p, err := net.SplitHostPort(other[1])
		if err != nil || p != port || port == "0" || !overlap(host, h) {
			continue
		}
		return usagef("--http %s: %s has port %s already, at %s; want another port, such as %s", n.http, other[0], port,
			other[1], pageAddress)
	}
	return nil
}

// overlap reports whether two listening hosts have an address in common, as far as their names show.
func overlap(a, b string) bool {
	all := []string{"", "0.0.0.0", "::"}
	local := []string{"localhost", "127.0.0.1", "::1"}
	switch {
	case a == b, slices.Contains(all, a), slices.Contains(all, b):
		return true
	case a == "localhost":
		return slices.Contains(local, b)
	}
	return b == "localhost" && slices.Contains(local, a)
}

// printFirstLogin creates the file of users if it does not exist, and prints the password of its one user. The password
// cannot be read later.
func printFirstLogin(cmd *cobra.Command, file string) error {
	password, err := access.First(file)
	if err != nil {
		return fmt.Errorf("--first-login: %w", err)
	}
	if password != "" {
		fmt.Fprintf(cmd.ErrOrStderr(), "tamtam: created the user admin, password %s (printed only once; its hash is in %s; "+
			"`tamtam users` changes it)\n", password, file)
	}
	return nil
}

// addresses returns the other northbound addresses, and the targets to which it sends.
func (n *northbound) addresses() (at daemons.Addresses, err error) {
	at = daemons.Addresses{Metrics: n.metrics, MetricsOpen: n.metricsOpen, REST: n.rest, Page: n.http,
		Version: command.Version(), Send: sender.Flags{Period: n.otlpPeriod}}
	if n.otlpPeriod < time.Second {
		return at, usagef("--otlp-period %s: want 1s at least", n.otlpPeriod)
	}
	if at.Send.OTLP, err = targets("--otlp", n.otlp, otlp.Schemes()); err != nil {
		return at, err
	}
	if at.Send.Syslog, err = targets("--syslog", n.syslog, syslog.Schemes()); err != nil {
		return at, err
	}
	if at.Send.Alerts, err = targets("--alertmanager", n.alerts, alertmanager.Schemes()); err != nil {
		return at, err
	}
	if n.sendCA == "" {
		return at, nil
	}
	text, err := os.ReadFile(n.sendCA)
	if err != nil {
		return at, err
	}
	conf := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: x509.NewCertPool()}
	if !conf.RootCAs.AppendCertsFromPEM(text) {
		return at, fmt.Errorf("%s: no certificate in it: want PEM", n.sendCA)
	}
	at.Send.TLS = conf
	return at, nil
}

func targets(flag string, texts []string, schemes map[string]outputs.Scheme) (list []outputs.Target, err error) {
	for _, text := range texts {
		t, err := outputs.ParseTarget(text, schemes)
		if err != nil {
			return nil, usagef("%s %w", flag, err)
		}
		list = append(list, t)
	}
	return list, nil
}

const oracleUsage = "number of flows of each FlyMon task that the simulated chip also counts exactly, " +
	"to compare with the estimates"

const hftUsage = "send high-frequency telemetry to " + daemons.StreamReaders +
	"; netlink: the group of generic netlink that SONiC's countersyncd reads (may be repeated)"

// parseStreams parses the readers of high-frequency telemetry.
func parseStreams(texts []string) (list []daemons.StreamReader, err error) {
	for _, text := range texts {
		r, err := daemons.ParseStreamReader(text)
		if err != nil {
			return nil, usagef("--hft %w", err)
		}
		if slices.Contains(list, r) {
			return nil, usagef("--hft %s: twice, and each record is sent once", r)
		}
		list = append(list, r)
	}
	return list, nil
}

const keepLinksUsage = "at the end, leave the interfaces up that the switch has set up, " +
	"so that no peer notices a restart"

// parseChip parses the flags that describe the chip.
func parseChip(profile string, ports []string, oracle int) (c daemons.ChipConfig, err error) {
	const most = 1 << 24
	if oracle < 0 || oracle > most {
		return c, usagef("--oracle %d: want 0 to %d", oracle, most)
	}
	c.Oracle = oracle
	if c.Profile, err = parseProfile(profile); err != nil {
		return c, err
	}
	c.Wires, err = parseWires(ports)
	return c, err
}

// maxIfName is the maximum length of an interface name in Linux, in bytes.
const maxIfName = 15

func parseWires(ports []string) (map[string]string, error) {
	wires, used := map[string]string{}, map[string]string{}
	for _, s := range ports {
		port, ifname, ok := strings.Cut(s, "=")
		if !ok || port == "" || ifname == "" {
			return nil, usagef("--port %q: want PORT=INTERFACE, as in Ethernet0=eth1", s)
		}
		if old, twice := wires[port]; twice {
			return nil, usagef("--port %q: %s is wired to %s already", s, port, old)
		}
		if other, twice := used[ifname]; twice {
			return nil, usagef("--port %q: %s is wired to %s already, and would receive each frame twice", s, other, ifname)
		}
		if len(ifname) > maxIfName || strings.ContainsAny(ifname, "/: \t\n\v\f\r\x00") || ifname == "." || ifname == ".." {
			return nil, usagef("--port %q: %q is not a valid name of an interface: want up to %d bytes, without space, / and :",
				s, ifname, maxIfName)
		}
		wires[port], used[ifname] = ifname, port
	}
	return wires, nil
}

func newRun() *cobra.Command {
	c := &cobra.Command{Use: "run tammgrd|orchagent|syncd|mgmtd|hostd|sflowd|fpmsyncd|hostifd",
		Short: "Run one daemon of a switch, on an external Redis",
		RunE: func(*cobra.Command, []string) error {
			return usagef("want a daemon: tammgrd, orchagent, syncd, mgmtd, hostd, sflowd, fpmsyncd or hostifd")
		}}
	c.AddCommand(
		newRunTammgrd(),
		newDaemon("orchagent", "Run the orchs: from APPL_DB to SAI calls in ASIC_DB", daemons.RunOrchagent),
		newRunSyncd(), newRunMgmtd(), newRunHostd(), newRunSFlowd(), newRunFPMSyncd(), newRunHostIfd(),
		newRunRedis(), newRunPorts())
	return c
}

func newRunTammgrd() *cobra.Command {
	c := newDaemon("tammgrd", "Run the managers: from CONFIG_DB to APPL_DB", daemons.RunManagers)
	c.Long = `Run all managers in one daemon. They write the valid rows of CONFIG_DB to APPL_DB, and the status
of each row to STATE_DB.

The daemon does the work of these daemons of SONiC: tammgrd, portmgrd, teammgrd (without LACP),
vlanmgrd, intfmgrd, nbrmgrd, buffermgrd, coppmgrd, sflowmgrd, and bgpcfgd for static routes.`
	return c
}

func newRunHostd() *cobra.Command {
	return newAttached("hostd", "Run the switch as a host: ARP, neighbour discovery, ICMP", "cpu-port",
		"the chip's CPU port", daemons.RunHostd)
}

func newRunSFlowd() *cobra.Command {
	return newAttached("sflowd", "Run the sFlow agent: samples, drops and counters to collectors", "sample-port",
		"the packets that the chip samples or drops", daemons.RunSFlowd)
}

// newAttached returns the command of a daemon that is the client of one of syncd's sockets. syncd and the daemon use
// the same flag for the socket.
func newAttached(
	name, short, flag, what string,
	run func(context.Context, *swss.Redis, func() (daemons.CPULine, error), daemons.Common) error,
) *cobra.Command {
	var path string
	c := newDaemon(name, short, func(ctx context.Context, r *swss.Redis, common daemons.Common) error {
		if path == "" {
			return usagef("--%s: want the path of the socket at which syncd serves %s: the value of its --%s", flag, what, flag)
		}
		return run(ctx, r, daemons.AtSocket(path, name), common)
	})
	c.Flags().StringVar(&path, flag, "", "the Unix socket at which syncd serves "+what)
	return c
}

func newRunSyncd() *cobra.Command {
	var profile, cpu, samples, mode string
	var ports, hft []string
	var oracle int
	var keep, interfaces bool
	run := func(ctx context.Context, r *swss.Redis, common daemons.Common) error {
		chip, err := parseChip(profile, ports, oracle)
		if err == nil {
			chip.Streams, err = parseStreams(hft)
		}
		if err != nil {
			return err
		}
		if chip.ZMQ, common.Async, err = daemons.ParseClientMode(mode); err != nil {
			return usagef("--sairedis %v", err)
		}
		chip.CPUPort, chip.SamplePort, chip.KeepLinks, chip.Record = cpu, samples, keep, common.Rec
		chip.HostInterfaces = interfaces
		return daemons.RunSyncd(ctx, r, chip, common)
	}
	c := newDaemon("syncd", "Run the ASIC: from ASIC_DB to the simulated chip", run)
	c.Flags().IntVar(&oracle, "oracle", 0, oracleUsage)
	c.Flags().StringVar(&profile, "profile", "default", profileUsage())
	c.Flags().StringArrayVar(&ports, "port", nil, "PORT=INTERFACE: wire a port to a live interface (may be repeated)")
	c.Flags().BoolVar(&keep, "keep-links", false, keepLinksUsage)
	c.Flags().StringArrayVar(&hft, "hft", nil, hftUsage)
	c.Flags().BoolVar(&interfaces, "host-interfaces", false,
		"make an interface of Linux for each HOSTIF object, as SONiC's syncd does; else hostifd requests them")
	c.Flags().StringVar(&cpu, "cpu-port", "",
		"serve the chip's CPU port, for punted frames and frames to send, to one client at this Unix socket")
	c.Flags().StringVar(&samples, "sample-port", "",
		"serve the packets that the chip samples or drops to one client, sflowd, at this Unix socket")
	c.Flags().StringVar(&mode, "sairedis", "redis_sync", "the mode of the client, as in orchagent's option -z of SONiC: "+
		daemons.ClientModes+"; tamtam's own orchagent uses redis_sync")
	return c
}

func newRunFPMSyncd() *cobra.Command {
	var cfg daemons.FPMConfig
	run := func(ctx context.Context, r *swss.Redis, common daemons.Common) error {
		return daemons.RunFPMSyncd(ctx, r, cfg, common)
	}
	c := newDaemon("fpmsyncd", "Run the receiver of routes: from FRR's zebra to APPL_DB", run)
	c.Flags().StringVar(&cfg.Listen, "listen", fpmsyncd.Address,
		"HOST:PORT to which zebra connects; let no other client reach it, because it has no password")
	c.Flags().DurationVar(&cfg.Restart, "restart-time", fpmsyncd.RestartTime,
		"after zebra has connected, time until the routes that it did not send again are removed")
	return c
}

func newRunHostIfd() *cobra.Command {
	var cpu string
	run := func(ctx context.Context, r *swss.Redis, common daemons.Common) error {
		if cpu == "" {
			return usagef("--cpu-port: want the socket at which syncd serves the CPU port: the value of its --cpu-port")
		}
		return daemons.RunHostIfd(ctx, r, cpu, common)
	}
	c := newDaemon("hostifd", "Run the switch's interfaces as TAP devices of Linux, for FRR and other daemons", run)
	c.Flags().StringVar(&cpu, "cpu-port", "", "the Unix socket at which syncd serves the chip's CPU port")
	return c
}

func newRunMgmtd() *cobra.Command {
	var n northbound
	var startup, hft string
	var streams daemons.StreamReader
	var c *cobra.Command
	run := func(ctx context.Context, r *swss.Redis, common daemons.Common) error {
		cfg, err := n.config(c)
		if err != nil {
			return err
		}
		cfg.Redis, cfg.Startup = r, startup
		at, err := n.addresses()
		if err != nil {
			return err
		}
		at.Streams = streams
		return daemons.RunMgmt(ctx, cfg, at, common)
	}
	c = newDaemon("mgmtd", "Run the northbound servers: gNMI, RESTCONF, metrics and the page", run)
	n.flags(c)
	groupNorthbound(c)
	c.PreRunE = func(*cobra.Command, []string) (err error) { // before waiting for Redis
		if hft != "" {
			if streams, err = daemons.ParseStreamReader(hft); err != nil || hft == "netlink" {
				return usagef("--hft %q: want unix:PATH or udp:HOST:PORT, as a --hft of syncd", hft)
			}
		}
		return n.mayListen()
	}
	c.Flags().StringVar(&hft, "hft", "",
		"receive high-frequency telemetry for gNMI and the page at unix:PATH or udp:HOST:PORT, a --hft of syncd")
	c.Flags().StringVar(&startup, "startup", "",
		"`FILE` to which write memory saves the configuration (default: "+keptFile+" in the data directory)")
	return c
}

// newDaemon returns the command of one daemon. It waits for Redis, opens it, and runs until it is stopped.
func newDaemon(name, short string, run func(context.Context, *swss.Redis, daemons.Common) error) *cobra.Command {
	var rec string
	var place redisFlags
	var faults bool
	c := &cobra.Command{
		Use:   name,
		Short: short,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if place.embedded() {
				return usagef("--redis embedded: the other daemons must reach the Redis, too: want HOST:PORT or unix:PATH")
			}
			common := daemons.Common{Log: logger(cmd), AllowFaults: faults}
			if rec != "" {
				f, err := os.OpenFile(rec, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
				if err != nil {
					return err
				}
				defer f.Close()
				common.Rec = f
			}
			r, err := place.open(cmd)
			if err != nil {
				return err
			}
			return errors.Join(run(cmd.Context(), r, common), r.Close())
		},
	}
	f := c.Flags()
	place.usual(c)
	f.BoolVar(&faults, "allow-faults", false, allowFaultsUsage)
	f.StringVar(&rec, "record", "",
		"append every task and SAI call to this `FILE`, in the form of SONiC's swss.rec and sairedis.rec")
	return c
}
