package main

import (
	"fmt"
	"net"
	"os"

	"github.com/spf13/cobra"

	"tamtam/device"
	"tamtam/internal/command"
	"tamtam/mgmt"
	"tamtam/mgmt/auth"
	"tamtam/mgmt/web/door"
)

// A pageFlags holds the address of a page that is not a switch's own page, and its access flags.
type pageFlags struct {
	flag                     string
	addr, users, roles, data string
	cert, key, clientCA      string
	noLogin                  bool
}

func (d *pageFlags) flags(c *cobra.Command, flag, addr string) {
	d.flag = flag
	f := c.Flags()
	f.StringVar(&d.addr, flag, addr, "address of the page, HOST:PORT; it uses TLS if --users or --tls-client-ca is given")
	f.StringVar(&d.users, "users", os.Getenv("TAMTAM_USERS"),
		"`FILE` of NAME:PASSWORD:ROLE lines, written by tamtam users: users must log in (default from TAMTAM_USERS)")
	f.StringVar(&d.roles, "roles", "",
		"`FILE` of ROLE none|read|write PATH lines: rights of roles, beyond the built-in ones")
	f.StringVar(&d.data, "data", device.DataDir(), "directory for the generated certificate of --users")
	f.StringVar(&d.cert, "tls-cert", "", "server certificate, PEM (default with --users: a generated one)")
	f.StringVar(&d.key, "tls-key", "", "key of --tls-cert, PEM")
	f.StringVar(&d.clientCA, "tls-client-ca", "", "CA of client certificates, PEM: clients must have one (mTLS)")
	f.BoolVar(&d.noLogin, "no-login", false,
		"let every client see the page, even if other hosts can reach the address; without it, such an address needs a login")
}

// config returns the configuration from the flags.
func (d *pageFlags) config() door.Config {
	return door.Config{Addr: d.addr, Mgmt: mgmt.Config{UsersFile: d.users, RolesFile: d.roles, Dir: d.data,
		CertFile: d.cert, KeyFile: d.key, ClientCAFile: d.clientCA, NoLogin: d.noLogin}}
}

// check refuses an address that other machines reach without a login.
func (d *pageFlags) check() error {
	if _, _, err := net.SplitHostPort(d.addr); err != nil {
		return usagef("--%s %q: want HOST:PORT, such as %s", d.flag, d.addr, pageAddress)
	}
	if d.users == "" && d.clientCA == "" && !d.noLogin && !auth.Local(d.addr) {
		return usagef("--%s %s can be reached by other hosts, and every client could see the page: create a user "+
			"(tamtam users set NAME --users FILE) and serve with --users FILE, require certificates "+
			"with --tls-client-ca, listen on localhost, or give --no-login", d.flag, d.addr)
	}
	if err := d.config().Check(); err != nil {
		return command.Usage(err)
	}
	return nil
}

// listen opens the address.
func (d *pageFlags) listen(cmd *cobra.Command) (*door.Door, error) {
	cfg := d.config()
	cfg.Mgmt.Logger = logger(cmd)
	l, err := door.Listen(cfg)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", d.flag, err)
	}
	return l, nil
}
