package metrics

import (
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Path is where the metrics are.
const Path = "/metrics"

// mostRequests bounds how many are answered at a time; others are told to come again.
const mostRequests = 4

// Handler answers with what a collector collects.
func Handler(c *Collector) http.Handler {
	reg := prometheus.NewRegistry()
	reg.MustRegister(c)
	mux := http.NewServeMux()
	mux.Handle("GET "+Path, promhttp.HandlerFor(reg, promhttp.HandlerOpts{
		ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: mostRequests,
	}))
	return mux
}

// Server returns an HTTP server that answers with what a collector collects, with bounds on how long a request takes.
func Server(c *Collector) *http.Server {
	return &http.Server{
		Handler: Handler(c), ReadTimeout: 5 * time.Second, WriteTimeout: 2 * lookLimit, IdleTimeout: time.Minute,
		MaxHeaderBytes: 16 << 10,
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
