package metrics

import (
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Path is the path of the metrics.
const Path = "/metrics"

// mostRequests bounds the concurrent requests; others get 503.
const mostRequests = 4

// Handler serves the families of a collector.
func Handler(c *Collector) http.Handler {
	reg := prometheus.NewRegistry()
	reg.MustRegister(c)
	mux := http.NewServeMux()
	mux.Handle("GET "+Path, promhttp.HandlerFor(reg, promhttp.HandlerOpts{
		ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: mostRequests,
	}))
	return mux
}

// Server returns an HTTP server for the families of a collector, with bounds on the duration of a request.
func Server(c *Collector) *http.Server {
	return &http.Server{
		Handler: Handler(c), ReadTimeout: 5 * time.Second, WriteTimeout: 2 * lookLimit, IdleTimeout: time.Minute,
		MaxHeaderBytes: 16 << 10,
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
