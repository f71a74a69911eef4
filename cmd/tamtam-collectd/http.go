package main

import (
	"net"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"tamtam/device"
	"tamtam/fleet/collectd"
	"tamtam/mgmt"
	"tamtam/mgmt/auth"
	"tamtam/mgmt/web/door"
)

// httpFlags hold the addresses of the page and the metrics, and their access rights.
type httpFlags struct {
	http               string
	open               bool
	users, roles       string
	httpData, httpCert string
	httpKey, clientCA  string
}

func (f *httpFlags) flags(c *cobra.Command) {
	s := c.Flags()
	s.StringVar(&f.http, "http", "127.0.0.1:8480",
		"HOST:PORT of the page and of /metrics; it uses TLS with --users or --http-tls-client-ca; none: no server")
	s.BoolVar(&f.open, "open", false,
		"let every client read everything, even if other hosts can reach --http; without it, such an address needs a login")
	s.StringVar(&f.users, "users", os.Getenv("TAMTAM_USERS"),
		"`FILE` of NAME:PASSWORD:ROLE lines, written by tamtam users: users of the page must log in "+
			"(default from TAMTAM_USERS)")
	s.StringVar(&f.roles, "roles", "",
		"`FILE` of ROLE none|read|write PATH lines: rights of roles, beyond the built-in ones")
	s.StringVar(&f.httpData, "http-data", filepath.Join(device.DataDir(), "collectd"),
		"directory for the generated certificate of --http")
	s.StringVar(&f.httpCert, "http-tls-cert", "",
		"server certificate of --http, PEM (default with --users: a generated one)")
	s.StringVar(&f.httpKey, "http-tls-key", "", "key of --http-tls-cert, PEM")
	s.StringVar(&f.clientCA, "http-tls-client-ca", "", "CA of client certificates, PEM: clients must have one (mTLS)")
}

// config returns the configuration from the flags.
func (f *httpFlags) config() door.Config {
	return door.Config{Addr: f.http, Mgmt: mgmt.Config{UsersFile: f.users, RolesFile: f.roles, Dir: f.httpData,
		CertFile: f.httpCert, KeyFile: f.httpKey, ClientCAFile: f.clientCA, NoLogin: f.open}}
}

func (f *httpFlags) checkHTTP(serves bool) error {
	if f.http == "none" {
		if serves {
			return usagef("--http none: want HOST:PORT for role %s", collectd.RoleServe)
		}
		return nil
	}
	_, port, err := net.SplitHostPort(f.http)
	if _, numberErr := strconv.ParseUint(port, 10, 16); err != nil || numberErr != nil {
		return usagef("--http %q: want HOST:PORT, or none", f.http)
	}
	if !f.open && f.users == "" && f.clientCA == "" && !auth.Local(f.http) {
		return usagef("--http %q: other hosts may reach it and read everything: want 127.0.0.1:%s, --users FILE, "+
			"--http-tls-client-ca FILE, or --open", f.http,
			port)
	}
	if err := f.config().Check(); err != nil {
		return usagef("--http %s: %w", f.http, err)
	}
	return nil
}
