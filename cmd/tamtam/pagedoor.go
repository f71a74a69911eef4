package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"

	"github.com/spf13/cobra"

	"tamtam/collectord/page"
	"tamtam/mgmt"
)

// A pageDoor holds the flags of who may see a page that no switch serves, and where.
type pageDoor struct {
	flag, addr, users string
	noLogin           bool
}

func (d *pageDoor) flags(c *cobra.Command, flag, addr string) {
	d.flag = flag
	f := c.Flags()
	f.StringVar(&d.addr, flag, addr, "address of the page, HOST:PORT, without TLS")
	f.StringVar(&d.users, "users", os.Getenv("TAMTAM_USERS"),
		"file of NAME:PASSWORD:ROLE lines, which `tamtam users` writes: who looks must log in (default from TAMTAM_USERS)")
	f.BoolVar(&d.noLogin, "no-login", false,
		"let whoever can connect look, though others can reach the address; else that is refused")
}

// check refuses an address that others reach without a login.
func (d *pageDoor) check() error {
	if _, _, err := net.SplitHostPort(d.addr); err != nil {
		return usagef("--%s %q: want HOST:PORT, such as %s", d.flag, d.addr, pageAddress)
	}
	if d.users == "" && !d.noLogin && !mgmt.Local(d.addr) {
		return usagef("--%s %s can be reached by others, and whoever can connect could look: make a login (tamtam users "+
			"set NAME --users FILE) and serve with --users FILE, listen on localhost, or say --no-login", d.flag, d.addr)
	}
	return nil
}

// A pageServer is a page's listeners.
type pageServer struct {
	listeners []net.Listener
	logins    *mgmt.Logins
}

// listen opens the address.
func (d *pageDoor) listen() (*pageServer, error) {
	logins, err := mgmt.NewLogins(d.users)
	if err != nil {
		return nil, fmt.Errorf("--users: %w", err)
	}
	s := &pageServer{logins: logins}
	ls, err := mgmt.Listen(d.addr)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", d.flag, err)
	}
	for _, l := range ls {
		s.listeners = append(s.listeners, mgmt.NewDoor(l))
	}
	return s, nil
}

func (s *pageServer) close() {
	for _, l := range s.listeners {
		l.Close()
	}
}

// url is where a browser finds the page.
func (s *pageServer) url() string { return "http://" + s.listeners[0].Addr().String() + "/" }

// enter lets those in who have shown a login, if there are users.
func (s *pageServer) enter(r *http.Request) (context.Context, func(), error) {
	name, password, _ := r.BasicAuth()
	if err := s.logins.Check(name, password); err != nil {
		return nil, nil, &page.Refusal{Code: http.StatusUnauthorized, Why: err.Error()}
	}
	return r.Context(), func() {}, nil
}

// serve answers until ctx ends.
func (s *pageServer) serve(ctx context.Context, p http.Handler) error {
	server := page.Server(p)
	server.BaseContext = func(net.Listener) context.Context { return ctx }
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	ended := make(chan error, len(s.listeners))
	for _, l := range s.listeners {
		go func() { ended <- server.Serve(l) }()
	}
	var errs []error
	for range s.listeners {
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			errs = append(errs, err)
			server.Close()
		}
	}
	return errors.Join(errs...)
}
