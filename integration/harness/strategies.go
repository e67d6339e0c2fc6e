package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// strategies is an answer of Jaeger's remote sampling protocol.
type strategies struct {
	Operation struct {
		Default      float64 `json:"defaultSamplingProbability"`
		PerOperation []struct {
			Operation     string `json:"operation"`
			Probabilistic struct {
				Rate float64 `json:"samplingRate"`
			} `json:"probabilisticSampling"`
		} `json:"perOperationStrategies"`
	} `json:"operationSampling"`
}

// Strategies polls like a stock SDK does, and returns the rates by operation.
func (c *Collector) Strategies(ctx context.Context, service string) (map[string]float64, error) {
	answer, err := get(ctx, "http://"+c.Rates+"/sampling?service="+url.QueryEscape(service))
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", answer.Status, text)
	}
	var s strategies
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, fmt.Errorf("%w: %s", err, text)
	}
	byName := map[string]float64{}
	for _, o := range s.Operation.PerOperation {
		byName[o.Operation] = o.Probabilistic.Rate
	}
	return byName, nil
}
