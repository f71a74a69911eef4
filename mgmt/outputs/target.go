package outputs

import (
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// A Target is the receiver of an output.
type Target struct {
	Scheme string
	Host   string // a name or an address, without brackets
	Port   string
	Path   string // empty, or begins with /
}

// A Scheme is a transport, the first word of a target's URL.
type Scheme struct {
	Port string // the default port; empty if a port is mandatory
	Path bool   // a path is allowed
}

// Address returns HOST:PORT.
func (t Target) Address() string { return net.JoinHostPort(t.Host, t.Port) }

// String returns the target as a URL.
func (t Target) String() string { return t.Scheme + "://" + t.Address() + t.Path }

// ParseTarget parses SCHEME://HOST[:PORT][/PATH].
func ParseTarget(text string, schemes map[string]Scheme) (t Target, err error) {
	forms := make([]string, 0, len(schemes))
	for _, name := range slices.Sorted(maps.Keys(schemes)) {
		forms = append(forms, name+"://")
	}
	bad := func(why string) (Target, error) {
		return Target{}, fmt.Errorf("%.200q: %s: want %s and HOST:PORT", text, why, strings.Join(forms, ", "))
	}
	u, err := url.Parse(text)
	if err != nil || strings.ContainsAny(text, " \t\r\n\x00") {
		return bad("no URL")
	}
	s, ok := schemes[u.Scheme]
	if !ok {
		return bad("no way to send")
	}
	if why := wrongParts(u, s); why != "" {
		return bad(why)
	}
	t = Target{Scheme: u.Scheme, Host: u.Hostname(), Port: u.Port(), Path: strings.TrimRight(u.EscapedPath(), "/")}
	if t.Port == "" {
		if t.Port = s.Port; t.Port == "" {
			return bad("no port")
		}
	}
	if n, err := strconv.ParseUint(t.Port, 10, 16); err != nil || n == 0 {
		return bad("port " + t.Port + ": want 1 to 65535")
	}
	return t, nil
}

// wrongParts returns why a URL is not a valid target, or "".
func wrongParts(u *url.URL, s Scheme) string {
	switch {
	case u.Host == "" || u.Hostname() == "":
		return "no host"
	case u.Host[0] != '[' && strings.Count(u.Host, ":") > 1:
		return "an IPv6 address wants brackets"
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || u.RawFragment != "":
		return "more than a host and a path"
	case u.Path != "" && !s.Path:
		return "there is no path here"
	case len(u.Hostname()) > 253 || len(u.Path) > 1024 || strings.ContainsAny(u.Hostname(), "[]/%?#@"):
		return "no host"
	}
	return ""
}
