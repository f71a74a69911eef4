package auth

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
)

// A Web is an HTTP server behind a [Door]. A connection becomes known by its first request.
type Web struct {
	doors  []*Door
	server *http.Server
	secure bool
}

// NewWeb listens at an address, "HOST:PORT", and answers only once Serve runs. If the server has a TLSConfig, clients
// must use TLS.
func NewWeb(addr string, server *http.Server) (*Web, error) {
	ls, err := Listen(addr)
	if err != nil {
		return nil, err
	}
	w := &Web{server: server, secure: server.TLSConfig != nil} // net/http sets one itself later
	for _, l := range ls {
		w.doors = append(w.doors, NewDoor(l))
	}
	server.ConnState = func(c net.Conn, state http.ConnState) {
		if t, ok := c.(*tls.Conn); ok {
			c = t.NetConn()
		}
		if state == http.StateActive && !w.doors[0].Know(c) { // its first request has arrived
			c.Close()
		}
	}
	return w, nil
}

// Addr returns the address on which the server listens, with the port that the system chose.
func (w *Web) Addr() string { return w.doors[0].Addr().String() }

// URL returns the address for a browser.
func (w *Web) URL() string {
	if w.secure {
		return "https://" + w.Addr() + "/"
	}
	return "http://" + w.Addr() + "/"
}

// Serve answers until ctx ends. The contexts of requests derive from ctx.
func (w *Web) Serve(ctx context.Context) error {
	w.server.BaseContext = func(net.Listener) context.Context { return ctx }
	stop := context.AfterFunc(ctx, func() { w.server.Close() })
	defer stop()
	ended := make(chan error, len(w.doors))
	for _, door := range w.doors {
		go func() { ended <- w.serveAt(door) }()
	}
	var errs []error
	for range w.doors {
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			errs = append(errs, err)
			w.server.Close()
		}
	}
	return errors.Join(errs...)
}

func (w *Web) serveAt(l net.Listener) error {
	if w.secure {
		return w.server.ServeTLS(l, "", "")
	}
	return w.server.Serve(l)
}

// Close stops listening, if Serve has not run.
func (w *Web) Close() {
	for _, door := range w.doors {
		door.Close()
	}
}
