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

// Refused converts an error of mgmt to a refusal of the page; nil stays nil.
func Refused(err error) error {
	if err == nil {
		return nil
	}
	return &web.Refusal{Code: auth.LookStatus(err), Why: status.Convert(err).Message()}
}

// Misdirected returns the refusal for a request to a page without login, if the requested host name is not a name of
// this machine. Such a page is for this machine only. Without the refusal, a web page of another server could let its
// own host name resolve to this machine and read the page (DNS rebinding).
func Misdirected() error {
	return &web.Refusal{Code: http.StatusMisdirectedRequest,
		Why: "this page is asked for by the name localhost, or by an address, since it asks for no login"}
}

// OfThisMachine reports whether the requested HOST or HOST:PORT names this machine or is an address.
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
