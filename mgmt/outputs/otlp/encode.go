package otlp

import (
	"math"
	"strings"
	"time"

	"tamtam/mgmt/metrics"

	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	otel "go.opentelemetry.io/proto/slim/otlp/metrics/v1"
	resource "go.opentelemetry.io/proto/slim/otlp/resource/v1"
	"google.golang.org/protobuf/proto"
)

// A Resource identifies the switch of the metrics.
type Resource struct {
	Host     string // the switch's name
	SwitchID string // as in the switch's stamps; empty if it has none
	Version  string // version of tamtam
}

// Encode returns an ExportMetricsServiceRequest of families that were read at the time now. Counters become cumulative,
// monotonic Sums with their start time; all others become Gauges.
func Encode(r Resource, all []metrics.Family, now time.Time) ([]byte, error) {
	scope := &otel.ScopeMetrics{Scope: &common.InstrumentationScope{Name: "tamtam", Version: r.Version}}
	for _, f := range all {
		if len(f.Points) > 0 {
			scope.Metrics = append(scope.Metrics, metric(f, uint64(now.UnixNano())))
		}
	}
	return proto.Marshal(&otel.MetricsData{ResourceMetrics: []*otel.ResourceMetrics{{
		Resource: &resource.Resource{Attributes: r.attributes()}, ScopeMetrics: []*otel.ScopeMetrics{scope},
	}}})
}

func (r Resource) attributes() (list []*common.KeyValue) {
	for _, kv := range [...][2]string{
		{"service.name", "tamtam"}, {"service.instance.id", r.Host}, {"service.version", r.Version},
		{"host.name", r.Host}, {"tamtam.switch.id", r.SwitchID},
	} {
		if kv[1] != "" {
			list = append(list, attribute(kv[0], kv[1]))
		}
	}
	return list
}

func attribute(key, value string) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: &common.AnyValue{
		Value: &common.AnyValue_StringValue{StringValue: strings.ToValidUTF8(value, "?")},
	}}
}

// Name returns a family's name in OpenTelemetry. Its translation to Prometheus, with unit and _total, is the name that
// the switch itself exports to Prometheus.
func Name(f metrics.Family) string {
	return strings.TrimSuffix(strings.Replace(f.Name, "_", ".", 1), "_total")
}

func metric(f metrics.Family, now uint64) *otel.Metric {
	m := &otel.Metric{Name: Name(f), Description: f.Help, Unit: f.Unit}
	points := make([]*otel.NumberDataPoint, len(f.Points))
	for i, p := range f.Points {
		d := &otel.NumberDataPoint{TimeUnixNano: now}
		for j, label := range f.Labels {
			d.Attributes = append(d.Attributes, attribute(label, p.Labels[j]))
		}
		if f.Kind == metrics.Counter {
			d.StartTimeUnixNano = uint64(p.Start.UnixNano())
		}
		if f.Kind == metrics.Counter && p.Count <= math.MaxInt64 {
			d.Value = &otel.NumberDataPoint_AsInt{AsInt: int64(p.Count)}
		} else {
			d.Value = &otel.NumberDataPoint_AsDouble{AsDouble: p.Value}
		}
		points[i] = d
	}
	if f.Kind == metrics.Counter {
		m.Data = &otel.Metric_Sum{Sum: &otel.Sum{
			DataPoints: points, IsMonotonic: true,
			AggregationTemporality: otel.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE,
		}}
	} else {
		m.Data = &otel.Metric_Gauge{Gauge: &otel.Gauge{DataPoints: points}}
	}
	return m
}
