package ledger

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

const (
	maxScrape    = 16 << 20
	maxSeries    = 200
	askCollector = 10 * time.Second
)

// lossWords occur in the names of the collector's counters of losses.
var lossWords = []string{
	"lost", "unknown", "damaged", "dead_letters", "dropped", "refused", "failed", "duplicate", "forgotten", "skipped", "faults",
}

// Collector reads the counters of losses from a collector's Prometheus endpoint. A base URL means its /metrics path.
func Collector(ctx context.Context, address string) (map[string]float64, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("--collector: want a URL like http://localhost:8888/metrics, found %q", address)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/metrics"
	}
	ctx, cancel := context.WithTimeout(ctx, askCollector)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("--collector: %w", err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("--collector: %w", err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("--collector: %s answered %s; want its Prometheus metrics", u.Redacted(), answer.Status)
	}
	return losses(io.LimitReader(answer.Body, maxScrape))
}

// losses reads counters of losses from the text exposition format.
func losses(r io.Reader) (map[string]float64, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(r)
	if err != nil {
		return nil, fmt.Errorf("--collector: no Prometheus metrics: %w", err)
	}
	out := map[string]float64{}
	for name, family := range families {
		name = strings.TrimSuffix(name, "_total")
		if !strings.HasPrefix(name, "otelcol_") || !slices.ContainsFunc(lossWords, func(w string) bool { return strings.Contains(name, w) }) {
			continue
		}
		for _, m := range family.GetMetric() {
			var v float64
			switch family.GetType() {
			case dto.MetricType_COUNTER:
				v = m.GetCounter().GetValue()
			case dto.MetricType_GAUGE:
				v = m.GetGauge().GetValue()
			default:
				v = m.GetUntyped().GetValue()
			}
			if math.IsNaN(v) || math.IsInf(v, 0) {
				continue // no count, and JSON cannot represent it
			}
			key := name
			for _, l := range m.GetLabel() {
				if l.GetName() == "reason" || l.GetName() == "what" {
					key += fmt.Sprintf("{%s=%q}", l.GetName(), l.GetValue())
				}
			}
			if _, ok := out[key]; ok || len(out) < maxSeries {
				out[key] += v
			}
		}
	}
	return out, nil
}
