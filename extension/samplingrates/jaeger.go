package samplingrates

import (
	"encoding/json"
	"math"

	"github.com/corehour/corehour/internal/rates"
)

// maxOperations is as many as the Go sampler of Jaeger's protocol looks up by
// name; it gives all others the default probability.
const maxOperations = 256

// The answer in Jaeger's remote sampling protocol, sampling.proto as JSON. There
// is no lower bound: spans kept by one would be kept with a probability that
// nobody knows.
type (
	strategyResponse struct {
		StrategyType  string            `json:"strategyType"`
		Probabilistic probabilistic     `json:"probabilisticSampling"`
		Operation     operationSampling `json:"operationSampling"`
	}
	probabilistic struct {
		SamplingRate float64 `json:"samplingRate"`
	}
	operationSampling struct {
		Default      float64        `json:"defaultSamplingProbability"`
		LowerBound   float64        `json:"defaultLowerBoundTracesPerSecond"`
		PerOperation []perOperation `json:"perOperationStrategies"`
	}
	perOperation struct {
		Operation     string        `json:"operation"`
		Probabilistic probabilistic `json:"probabilisticSampling"`
	}
)

// serveSampling answers a stock SDK, which says no more of itself than its
// service, and remembers what it was told.
func (s *server) serveSampling(x *exchange) result {
	q, err := samplingParameters.parse(x.request.URL.RawQuery)
	if err != nil {
		return x.bad(err)
	}
	from := s.get()
	if from == nil {
		return x.unavailable()
	}
	table, _ := from.source.Rates(q.target)
	if table == nil {
		return x.unavailable()
	}
	ctx := x.request.Context()
	key := answerKey{endpoint: endpointSampling, service: q.target.Service}
	a, gone := s.answers.of(key, table.Revision, func(a *answer) ([]byte, error) {
		a.strategy = newStrategy(table)
		return json.Marshal(a.strategy.response())
	})
	s.telemetry.overflowed(ctx, tableAnswers, gone)
	if a.err == nil {
		services, tables := s.served.remember(q.target.Service, s.now(), table.Revision, a.strategy)
		s.telemetry.overflowed(ctx, tableServices, services)
		s.telemetry.overflowed(ctx, tableTables, tables)
	}
	return x.send(a)
}

// strategy is what a stock SDK does by one table.
type strategy struct {
	otherwise  float64
	operations map[string]float64
	names      []string // of operations, the busiest first
}

func newStrategy(table *rates.Table) *strategy {
	st := &strategy{otherwise: 1, operations: make(map[string]float64)}
	switch {
	case table.Default.Mode == "off":
		st.otherwise = 0
	case table.Default.P != nil:
		st.otherwise = probability(*table.Default.P)
	}
	for _, o := range table.Operations {
		if len(st.names) == maxOperations {
			break
		}
		if _, twice := st.operations[o.Name]; !twice {
			st.operations[o.Name] = probability(o.P)
			st.names = append(st.names, o.Name)
		}
	}
	return st
}

// probability keeps what is served between 0 and 1: one of the clients refuses a
// whole answer for a number outside.
func probability(p float64) float64 {
	if math.IsNaN(p) {
		return 1
	}
	return min(max(p, 0), 1)
}

func (st *strategy) response() strategyResponse {
	r := strategyResponse{
		StrategyType:  "PROBABILISTIC", // of clients that know no operations
		Probabilistic: probabilistic{st.otherwise},
		Operation:     operationSampling{Default: st.otherwise, PerOperation: make([]perOperation, 0, len(st.names))},
	}
	for _, name := range st.names {
		r.Operation.PerOperation = append(r.Operation.PerOperation, perOperation{name, probabilistic{st.operations[name]}})
	}
	return r
}

// probability of a trace whose first span has this name.
func (st *strategy) probability(operation string) float64 {
	if p, ok := st.operations[operation]; ok {
		return p
	}
	return st.otherwise
}
