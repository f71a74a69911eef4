package web

import (
	"net/http"
	"time"
)

// Server is an HTTP server for a page, with bounds on what clients can make it wait for and hold. Listeners of changes
// set their own time for writing.
func Server(h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 20 * time.Second,
		WriteTimeout: renderTime + 20*time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10,
	}
}
