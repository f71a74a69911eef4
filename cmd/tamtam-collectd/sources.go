package main

import (
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tamtam/fleet/collectd"
	"tamtam/fleet/dial"
)

// sourceFlags describe the sources to read.
type sourceFlags struct {
	*collectd.Sources
	names map[string]string
	gnmi  gnmiFlags
}

func (f *sourceFlags) flags(c *cobra.Command) {
	s := c.Flags()
	s.StringSliceVar(&f.Interfaces, "interface", nil, "interfaces from which stamps and reports are read, also in ERSPAN")
	s.StringSliceVar(&f.Captures, "pcap", nil,
		"capture files that are read like interfaces, together, and once for each log")
	s.StringVar(&f.IPFIX, "ipfix", "", "HOST:PORT for reports of drops as IPFIX over UDP")
	s.StringVar(&f.SFlow, "sflow", "", "HOST:PORT for reports of drops as sFlow")
	s.BoolVar(&f.Records, "records", false, "also read copies of records from --interface and --pcap, in UDP and ERSPAN")
	s.StringVar(&f.RecordUDP, "record-udp", "", "HOST:PORT for copies of records over UDP")
	s.StringToStringVar(&f.names, "name", nil, "name of the switch whose reports have this source address: ADDRESS=NAME")
	s.StringVar(&f.Host, "host", "",
		"name of this host in the names of its sources; must stay equal (default: the hostname)")
	f.gnmi.flags(c, f.Sources)
}

// check checks the flags against the role.
func (f *sourceFlags) check(reads bool) error {
	if err := f.gnmi.check(f.Sources, reads); err != nil {
		return err
	}
	given := len(f.Interfaces) > 0 || len(f.Captures) > 0 || f.IPFIX != "" || f.SFlow != "" || f.Records ||
		f.RecordUDP != ""
	if !reads && given {
		return usagef("--interface, --pcap, --ipfix, --sflow, --records, --record-udp: only role %s reads",
			collectd.RoleIngest)
	}
	if err := f.checkSockets(); err != nil {
		return err
	}
	if f.Host != "" && !dial.ValidName(f.Host) {
		return usagef("--host %q: want up to 100 printable characters without spaces and |:,+", f.Host)
	}
	if f.Records && len(f.Interfaces)+len(f.Captures) == 0 {
		return usagef("--records: neither --interface nor --pcap is given to read them from: want one, or --record-udp")
	}
	// Names of the other sources; interfaces and captures must have different names.
	seen := map[string]bool{"ipfix": true, "sflow": true, "record-udp": true, "captures": true}
	for _, name := range slices.Concat(f.Interfaces, f.Captures) {
		if seen[name] {
			return usagef("--interface or --pcap %q: want each once, and not ipfix, sflow, record-udp or captures", name)
		}
		seen[name] = true
	}
	return f.checkNames()
}

// checkSockets checks that the addresses for datagrams are HOST:PORT, and records them.
func (f *sourceFlags) checkSockets() error {
	for _, flag := range []struct{ name, address string }{
		{"ipfix", f.IPFIX}, {"sflow", f.SFlow}, {"record-udp", f.RecordUDP},
	} {
		if flag.address == "" {
			continue
		}
		at, err := net.ResolveUDPAddr("udp", flag.address)
		if err != nil {
			return usagef("--%s %q: want HOST:PORT (%w)", flag.name, flag.address, err)
		}
		f.Sockets = append(f.Sockets, socketOf(at))
	}
	return nil
}

// socketOf returns the address at which a socket listens. Without an IP it is the unspecified address.
func socketOf(a *net.UDPAddr) netip.AddrPort {
	if a.IP == nil {
		return netip.AddrPortFrom(netip.IPv6Unspecified(), uint16(a.Port))
	}
	return a.AddrPort()
}

func (f *sourceFlags) checkNames() error {
	f.Names = map[netip.Addr]string{}
	for address, name := range f.names {
		a, err := netip.ParseAddr(address)
		if err != nil || name == "" || strings.ContainsAny(name, " \t\n") {
			return usagef("--name %s=%s: want ADDRESS=NAME, such as 10.0.0.1=leaf1", address, name)
		}
		f.Names[a.Unmap()] = name
	}
	return nil
}
