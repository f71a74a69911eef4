package web

import (
	"net/http"
	"time"
)

// Server returns an HTTP server for a page, with bounds on time and memory per client. Streams of changes set their own
// write deadlines.
func Server(h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 20 * time.Second,
		WriteTimeout: renderTime + 20*time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10,
	}
}
