package main

import (
	"cmp"
	"os"

	"github.com/spf13/cobra"

	"tamtam/fleet/jetstream"
)

// accessFlags hold the flags by which processes of the log authenticate each other.
type accessFlags struct{ access jetstream.Access }

func (f *accessFlags) flags(c *cobra.Command) {
	s := c.Flags()
	s.StringVar(&f.access.User, "nats-user", "", "user of the log; required if other hosts can reach the server")
	s.StringVar(&f.access.Password, "nats-password", "",
		"password of --nats-user; TAMTAM_NATS_PASSWORD in the environment is safer")
	s.StringVar(&f.access.CertFile, "nats-tls-cert", "",
		"certificate of the server in this process, PEM; required if other hosts can reach the server")
	s.StringVar(&f.access.KeyFile, "nats-tls-key", "", "key of --nats-tls-cert, PEM")
	s.StringVar(&f.access.CAFile, "nats-tls-ca", "",
		"CA of the servers' certificates, PEM (default: the CAs of the system)")
}

// checkAccess reads the password from the environment, and checks the flags against the addresses of the log.
func (f *accessFlags) checkAccess(listens, connects []string) error {
	if f.access.User != "" {
		f.access.Password = cmp.Or(f.access.Password, os.Getenv("TAMTAM_NATS_PASSWORD"))
	}
	if err := f.access.Check(listens, connects); err != nil {
		return usagef("the log (--nats, --listen, --cluster; --nats-user, --nats-password, --nats-tls-...): %w", err)
	}
	return nil
}
