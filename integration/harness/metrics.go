package harness

import (
	"context"
	"fmt"
	"net/http"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Metrics is the result of one scrape.
type Metrics map[string]*dto.MetricFamily

// Scrape reads the collector's own metrics.
func (c *Collector) Scrape(ctx context.Context) (Metrics, error) {
	answer, err := get(ctx, "http://"+c.Metrics+"/metrics")
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("scraping %s: %s", c.Metrics, answer.Status)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(answer.Body)
	if err != nil {
		return nil, err
	}
	return families, nil
}

// Sum adds the values of a metric over all series with the labels, given as name, value, name,
// value. A missing metric is zero: a counter appears with its first event.
func (m Metrics) Sum(name string, labels ...string) float64 {
	family := m[name]
	if family == nil {
		return 0
	}
	total := 0.0
	for _, metric := range family.GetMetric() {
		if !hasLabels(metric, labels) {
			continue
		}
		switch {
		case metric.Counter != nil:
			total += metric.Counter.GetValue()
		case metric.Gauge != nil:
			total += metric.Gauge.GetValue()
		case metric.Untyped != nil:
			total += metric.Untyped.GetValue()
		}
	}
	return total
}

func hasLabels(metric *dto.Metric, labels []string) bool {
	for i := 0; i+1 < len(labels); i += 2 {
		found := false
		for _, pair := range metric.GetLabel() {
			found = found || pair.GetName() == labels[i] && pair.GetValue() == labels[i+1]
		}
		if !found {
			return false
		}
	}
	return true
}
