package kit

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// Config contains the switch that a Shell connects to, and the options of the connection.
type Config struct {
	// Target is HOST:PORT of the gNMI server, or unix:/PATH of its socket.
	Target string

	// Insecure selects cleartext. It excludes every TLS field below. A unix socket uses cleartext unless a TLS field is
	// set.
	Insecure bool
	// SkipVerify selects TLS without verifying the server.
	SkipVerify bool
	// CAFile contains PEM certificates of CAs that may sign the server's certificate. Empty means the system's CAs.
	CAFile string
	// CertFile and KeyFile are the client's own PEM certificate and key.
	CertFile, KeyFile string
	// ServerName is expected in the server's certificate. Empty means the host of Target.
	ServerName string

	// User and Password are sent with every request if User is set.
	User, Password string

	// Timeout bounds each request; 0 means 10 s.
	Timeout time.Duration

	// In is the input that Run reads. When it is a terminal, Run edits lines.
	In io.Reader
	// Out receives the output of show commands. Err receives warnings and, from Run, errors.
	Out, Err io.Writer

	// Echo makes the output of a script look like a session at a terminal, with prompt and line before the output of a
	// command. Errors are printed, and the script continues.
	Echo bool

	// TechSupport packs diagnostic data of the switch into an archive, and returns its name. It is nil if this machine
	// is not the switch.
	TechSupport func(ctx context.Context) (string, error)

	// HistoryFile contains the interactive lines of earlier sessions. Empty means that lines are not stored.
	HistoryFile string
	// Version is the version of this program, for `show version`.
	Version string
}

// usesTLS reports whether a TLS field is set.
func (c *Config) usesTLS() bool {
	return c.SkipVerify || c.CAFile+c.CertFile+c.KeyFile+c.ServerName != ""
}

// Check returns an error for the first invalid field. If all are valid, it sets the defaults of empty fields.
func (c *Config) Check() error {
	unix := strings.HasPrefix(c.Target, "unix:")
	_, _, err := net.SplitHostPort(c.Target)
	switch {
	case c.Target == "":
		return errors.New("target is empty: want HOST:PORT or unix:/PATH")
	case !unix && err != nil:
		return fmt.Errorf("target %q: want HOST:PORT or unix:/PATH: %w", c.Target, err)
	case c.Insecure && c.usesTLS():
		return errors.New("insecure (cleartext) excludes skip-verify, CA, certificate, key and server name (TLS): " +
			"give one or the other")
	case c.SkipVerify && c.CAFile != "":
		return errors.New("skip-verify (believe any server) excludes a CA file (believe only its certificates)")
	case (c.CertFile == "") != (c.KeyFile == ""):
		return errors.New("a client certificate and its key belong together: give both")
	case c.Timeout < 0:
		return fmt.Errorf("timeout is %s: want more than 0", c.Timeout)
	case c.User == "" && c.Password != "":
		return errors.New("a password needs a user")
	}
	if unix && !c.usesTLS() {
		c.Insecure = true
	}
	c.complete()
	return nil
}

// complete sets the defaults of empty fields.
func (c *Config) complete() {
	c.Timeout = cmp.Or(c.Timeout, 10*time.Second)
	if c.In == nil {
		c.In = strings.NewReader("")
	}
	if c.Out == nil {
		c.Out = io.Discard
	}
	if c.Err == nil {
		c.Err = io.Discard
	}
}

// credentials reads the TLS files.
func (c *Config) credentials() (credentials.TransportCredentials, error) {
	if c.Insecure {
		return insecure.NewCredentials(), nil
	}
	conf := &tls.Config{
		MinVersion:         tls.VersionTLS12,
		ServerName:         c.ServerName,
		InsecureSkipVerify: c.SkipVerify,
	}
	if c.CAFile != "" {
		pem, err := os.ReadFile(c.CAFile)
		if err != nil {
			return nil, fmt.Errorf("CA file: %w", err)
		}
		conf.RootCAs = x509.NewCertPool()
		if !conf.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("CA file %s: no PEM certificate in it", c.CAFile)
		}
	}
	if c.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("client certificate %s with key %s: %w", c.CertFile, c.KeyFile, err)
		}
		conf.Certificates = []tls.Certificate{pair}
	}
	return credentials.NewTLS(conf), nil
}
