package samplingrates

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/corehour/corehour/internal/rates"
	"github.com/corehour/corehour/internal/shares"
)

// maxOperations is the maximum number of operations that Jaeger's Go sampler looks up by name; all others get the
// default probability.
const maxOperations = 256

// The answer in Jaeger's remote sampling protocol, sampling.proto as JSON. There
// is no lower bound: spans kept by one would be kept with an unknown probability.
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

// serveSampling answers a stock SDK, which sends only its service, and remembers the answer.
func (s *server) serveSampling(x *exchange) requestResult {
	q, err := samplingParameters.parse(x.request.URL.RawQuery)
	if err != nil {
		return x.bad(err)
	}
	a := s.sampling(x.request.Context(), q.target)
	if a == nil {
		return x.unavailable()
	}
	return x.send(a)
}

// sampling returns the answer to a service, over HTTP and gRPC alike, and remembers it.
// It returns nil where there are no rates.
func (s *server) sampling(ctx context.Context, target rates.Target) *answer {
	from := s.get()
	if from == nil {
		return nil
	}
	table, _ := from.source.Rates(target)
	if table == nil {
		return nil
	}
	key := answerKey{endpoint: endpointSampling, service: target.Service}
	a, gone := s.answers.answerFor(key, table.Revision, func(a *answer) ([]byte, error) {
		response := responseOf(table)
		a.strategy = newStrategy(&response)
		a.message = response.message()
		return json.Marshal(response)
	})
	s.telemetry.overflowed(ctx, tableAnswers, gone)
	if a.err == nil {
		services, tables := s.served.remember(target.Service, shares.SenderOf(ctx), s.now(), table.Revision, a.strategy)
		s.telemetry.overflowed(ctx, tableServices, services)
		s.telemetry.overflowed(ctx, tableTables, tables)
	}
	return a
}

// responseOf returns the response for a table.
func responseOf(table *rates.Table) strategyResponse {
	otherwise := 1.0
	switch {
	case table.Default.Mode == "off":
		otherwise = 0
	case table.Default.P != nil:
		otherwise = probability(*table.Default.P)
	}
	operations := make([]perOperation, 0, min(len(table.Operations), maxOperations))
	seen := make(map[string]bool)
	for _, o := range table.Operations { // the busiest first
		if len(operations) == maxOperations {
			break
		}
		if !seen[o.Name] {
			seen[o.Name] = true
			operations = append(operations, perOperation{o.Name, probabilistic{probability(o.P)}})
		}
	}
	return strategyResponse{
		StrategyType:  "PROBABILISTIC", // of clients that know no operations
		Probabilistic: probabilistic{otherwise},
		Operation:     operationSampling{Default: otherwise, PerOperation: operations},
	}
}

// probability clamps to 0 and 1: one client refuses a whole answer for a number outside.
func probability(p float64) float64 {
	if math.IsNaN(p) {
		return 1
	}
	return min(max(p, 0), 1)
}

// strategy is the set of rates served to a stock SDK. Many are remembered, so it is two lists instead of a map.
type strategy struct {
	otherwise     float64
	names         []string // of operations, sorted
	probabilities []float64
}

func newStrategy(response *strategyResponse) *strategy {
	all := slices.SortedFunc(slices.Values(response.Operation.PerOperation), func(a, b perOperation) int {
		return strings.Compare(a.Operation, b.Operation)
	})
	st := &strategy{otherwise: response.Operation.Default, names: make([]string, len(all)), probabilities: make([]float64, len(all))}
	for i, o := range all {
		st.names[i], st.probabilities[i] = o.Operation, o.Probabilistic.SamplingRate
	}
	return st
}

// probability of a trace whose first span has this name.
func (st *strategy) probability(operation string) float64 {
	if at, ok := slices.BinarySearch(st.names, operation); ok {
		return st.probabilities[at]
	}
	return st.otherwise
}

// weightOfNames returns the approximate memory of the names, in bytes.
func (st *strategy) weightOfNames() int {
	n := 16 * len(st.names)
	for _, name := range st.names {
		n += len(name)
	}
	return n
}
