package door

import (
	"net"
	"net/http"
	"net/netip"
	"strings"

	"tamtam/mgmt/auth"
	"tamtam/mgmt/web"

	"google.golang.org/grpc/status"
)

// Refused is how somebody is told that he is not let in, by the code of an error of mgmt; nil of nil.
func Refused(err error) error {
	if err == nil {
		return nil
	}
	return &web.Refusal{Code: auth.LookStatus(err), Why: status.Convert(err).Message()}
}

// Misdirected is how somebody is told that a page which asks for no login is this machine's alone. Else a page from
// elsewhere could have its name mean this machine, and read what it shows.
func Misdirected() error {
	return &web.Refusal{Code: http.StatusMisdirectedRequest,
		Why: "this page is asked for by the name localhost, or by an address, since it asks for no login"}
}

// OfThisMachine says of what a client asks for, HOST or HOST:PORT, that it names this machine or is an address.
func OfThisMachine(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	if n := len(host); n > 1 && host[0] == '[' && host[n-1] == ']' {
		host = host[1 : n-1]
	}
	_, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil
}
