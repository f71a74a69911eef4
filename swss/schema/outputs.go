package schema

import (
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// Tables of CONFIG_DB with the destinations to which the switch sends by itself. mgmtd reads them, and reports the
// state of each row in TAMTAM_OUTPUT.
const (
	CfgSyslogServer    = "SYSLOG_SERVER"
	CfgTelemetryClient = "TELEMETRY_CLIENT"
)

// SyslogServer is a row of SYSLOG_SERVER.
type SyslogServer struct {
	Address  string // IP address or host name of the server
	Port     uint16
	Protocol string // udp or tcp
	Source   string // source address of messages; "" if not given
	Severity string // the least severity that is sent
}

// SyslogSeverities returns the words for a severity, the most severe last. none means that nothing is sent.
func SyslogSeverities() []string {
	return []string{"debug", "info", "notice", "warn", "error", "crit", "none"}
}

func (s *SyslogServer) layout() layout {
	return layout{
		table: CfgSyslogServer,
		key:   called("an address or a host's name", isHost, &s.Address),
		fields: []field{
			number("port", 1, 1<<16-1, 514, &s.Port, "Where it listens."),
			word("protocol", "udp", []string{"udp", "tcp"}, &s.Protocol, "RFC 5426, or RFC 6587 with octet counting."),
			own("source", "an address", "What is sent from; without it, whatever the host takes.", func(r *reader) {
				if s.Source = r.text("source"); s.Source == "" {
					return
				}
				from, err := netip.ParseAddr(s.Source)
				if to, bad := netip.ParseAddr(s.Address); err != nil || bad == nil && to.Is4() != from.Is4() {
					r.bad("source", s.Source, "an address of the family of "+s.Address)
				}
			}, func() string { return s.Source }),
			word("severity", "info", SyslogSeverities(), &s.Severity, "What is less severe is not sent."),
			unsupported("vrf", "default", "default: there is one VRF for the management", "There is one."),
			unsupported("filter", "", noFilter, "Nothing is filtered by its text."),
			unsupported("filter_regex", "", noFilter, "Nothing is filtered by its text."),
		},
	}
}

const noFilter = "no filter: what is sent depends on severity alone"

// isHost reports whether a text is an address, or can be a host's name.
func isHost(s string) bool {
	if _, err := netip.ParseAddr(s); err == nil {
		return true
	}
	if s == "" || len(s) > 253 {
		return false
	}
	for label := range strings.SplitSeq(strings.TrimSuffix(s, "."), ".") {
		ok := label != "" && len(label) <= 63 && label[0] != '-' && label[len(label)-1] != '-'
		for i := range len(label) {
			c := label[i] | 0x20
			ok = ok && (c >= 'a' && c <= 'z' || digit(label[i]) || label[i] == '-' || label[i] == '_')
		}
		if !ok {
			return false
		}
	}
	return true
}

// Keys of TELEMETRY_CLIENT: that of the global row, and the prefixes of the others.
const (
	TelemetryGlobalKey    = "Global"
	destinationPrefix     = "DestinationGroup_"
	subscriptionPrefix    = "Subscription_"
	mostDestinations      = 16
	mostSubscriptionPaths = 256
)

// TelemetryGlobal is the row TELEMETRY_CLIENT|Global.
type TelemetryGlobal struct {
	Source string        // source address of connections; "" if not given
	Retry  time.Duration // initial interval of attempts to connect to a collector
}

func (g *TelemetryGlobal) layout() layout {
	return layout{table: CfgTelemetryClient, key: only(TelemetryGlobalKey), fields: []field{
		unsupported("src_ip", "", "nothing: the host's address is taken", "The host's address is taken."),
		duration("retry_interval", time.Second, 1, 3600, 30*time.Second, &g.Retry,
			"Of Global: seconds before a collector is called again, at first; then longer, by and by."),
		unsupported("encoding", "JSON_IETF", "JSON_IETF", "Of Global: how values are encoded."),
		unsupported("unidirectional", "true", "true: what collectors answer means nothing",
			"Of Global: what collectors answer means nothing."),
	}}
}

// TelemetryDestinations is a row TELEMETRY_CLIENT|DestinationGroup_NAME.
type TelemetryDestinations struct {
	Name      string
	Addresses []string // HOST:PORT
	Protocol  string   // name of the called service; a suffix s means over TLS
}

func (d *TelemetryDestinations) layout() layout {
	return layout{
		table: CfgTelemetryClient, key: prefixed(destinationPrefix, &d.Name),
		fields: []field{
			inOrder("dst_addr", "addresses HOST:PORT", &d.Addresses, isHostPort,
				"Of DestinationGroup_NAME: the collectors, of which the first that answers is called."),
			word("protocol", "sonics", []string{"sonics", "sonic", "nokias", "nokia"}, &d.Protocol,
				"Of DestinationGroup_NAME, tamtam's own: SONiC's service or Nokia's, which gnmic has; those with s by TLS."),
		},
		check: func(r *reader) {
			r.needs("dst_addr", "addresses HOST:PORT")
			if len(d.Addresses) > mostDestinations {
				r.bad("dst_addr", strconv.Itoa(len(d.Addresses))+" addresses", "at most "+strconv.Itoa(mostDestinations))
			}
		},
	}
}

// Report types of a subscription.
const (
	ReportPeriodic = "periodic"
	ReportStream   = "stream"
	ReportOnce     = "once"
)

// TelemetrySubscription is a row TELEMETRY_CLIENT|Subscription_NAME.
type TelemetrySubscription struct {
	Name     string
	Group    string // a group of destinations
	Report   string
	Interval time.Duration
	Database string // database that contains the tables in Paths; "" if Paths are gNMI paths
	Paths    []string
}

func (s *TelemetrySubscription) layout() layout {
	return layout{
		table: CfgTelemetryClient, key: prefixed(subscriptionPrefix, &s.Name),
		fields: []field{
			name("dst_group", "", &s.Group, "Of Subscription_NAME: the NAME of its destinations."),
			word("report_type", ReportStream, []string{ReportPeriodic, ReportStream, ReportOnce}, &s.Report,
				"Of Subscription_NAME: every interval; counters every interval and the rest on change; or once."),
			duration("report_interval", time.Millisecond, 100, 86_400_000, 5*time.Second, &s.Interval,
				"Of Subscription_NAME: milliseconds."),
			word("path_target", "", []string{"COUNTERS_DB", "APPL_DB", "STATE_DB", "CONFIG_DB", "OC_YANG"}, &s.Database,
				"Of Subscription_NAME: the database that the paths name tables of; OC_YANG, or nothing: paths of gNMI."),
			inOrder("paths", "paths", &s.Paths, func(p string) bool { return p != "" && len(p) <= 1024 },
				"Of Subscription_NAME: TABLE or TABLE/KEY of a database, or paths as /interfaces/interface[name=*]/state."),
		},
		check: func(r *reader) {
			if len(s.Paths) > mostSubscriptionPaths {
				r.bad("paths", strconv.Itoa(len(s.Paths))+" paths", "at most "+strconv.Itoa(mostSubscriptionPaths))
			}
		},
	}
}

// inOrder returns a field with elements separated by commas, whose order matters.
func inOrder(name, form string, at *[]string, valid func(string) bool, words string) field {
	return own(name, form, words, func(r *reader) {
		*at = r.list(name)
		for _, e := range *at {
			if !valid(e) {
				r.bad(name, e, form)
			}
		}
	}, func() string { return strings.Join(*at, ",") })
}

// prefixed returns a key that consists of a prefix and a name.
func prefixed(prefix string, at *string) key {
	return key{
		form: prefix + "NAME", want: prefix + " and a name",
		read: func(r *reader, text string) {
			n, ok := strings.CutPrefix(text, prefix)
			if !ok || !ValidName(n) {
				r.bad("", text, prefix+" and a name")
			}
			*at = n
		},
	}
}

func isHostPort(s string) bool {
	host, port, err := net.SplitHostPort(s)
	n, bad := strconv.ParseUint(port, 10, 16)
	return err == nil && bad == nil && n > 0 && isHost(host)
}

// ParseTelemetryClient parses a row of TELEMETRY_CLIENT: a [TelemetryGlobal], a [TelemetryDestinations] or a
// [TelemetrySubscription], depending on its key.
func ParseTelemetryClient(key string, f map[string]string) (Row, error) {
	switch {
	case strings.HasPrefix(key, destinationPrefix):
		return parse[TelemetryDestinations](key, f)
	case strings.HasPrefix(key, subscriptionPrefix):
		return parse[TelemetrySubscription](key, f)
	}
	return parse[TelemetryGlobal](key, f)
}

// outputTables returns the tables of outputs.
func outputTables() []Table {
	var fields []Field
	for _, l := range []layout{
		new(TelemetryGlobal).layout(), new(TelemetryDestinations).layout(), new(TelemetrySubscription).layout(),
	} {
		fields = append(fields, l.described()...)
	}
	return []Table{
		of(Table{Config: CfgSyslogServer, Words: "A syslog server to which the switch sends its events."}, SyslogServer{}),
		{
			Config: CfgTelemetryClient, Words: "gNMI data that the switch sends to collectors by dial-out, as in SONiC.",
			Key: "Global, DestinationGroup_NAME or Subscription_NAME", Fields: fields, Parse: ParseTelemetryClient,
		},
	}
}
