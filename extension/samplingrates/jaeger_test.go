package samplingrates

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/corehour/corehour/internal/rates"
)

func operations(all ...rates.Operation) *rates.Table {
	return &rates.Table{Revision: fmt.Sprint(all), Default: rates.Rate{P: p(0.5)}, Operations: all}
}

// The fields are those of sampling.proto in JSON.
func TestJaeger(t *testing.T) {
	r := start(t, testConfig(nil))
	r.source.set("web", operations(rates.Operation{Name: "GET /", P: 0.01}, rates.Operation{Name: `"<x>`, P: 1}))
	got := r.get("/sampling?service=web")
	assert.Equal(t, 200, got.status)
	assert.Equal(t, `{"strategyType":"PROBABILISTIC","probabilisticSampling":{"samplingRate":0.5},`+
		`"operationSampling":{"defaultSamplingProbability":0.5,"defaultLowerBoundTracesPerSecond":0,"perOperationStrategies":[`+
		`{"operation":"GET /","probabilisticSampling":{"samplingRate":0.01}},`+
		`{"operation":"\"\u003cx\u003e","probabilisticSampling":{"samplingRate":1}}]}}`, got.body)
	assert.Equal(t, 400, r.get("/sampling?service=").status)
	assert.Equal(t, map[string]int64{"sampling ok": 1, "sampling bad_request": 1}, r.counted("requests"))
}

func TestStrategies(t *testing.T) {
	many := &rates.Table{Default: rates.Rate{P: p(0.5)}}
	for i := range maxOperations + 10 {
		many.Operations = append(many.Operations, rates.Operation{Name: fmt.Sprint(i), P: 0.25})
	}
	for _, c := range []struct {
		name      string
		table     *rates.Table
		otherwise float64
		listed    int
		want      map[string]float64
	}{
		{name: "nothing said", table: &rates.Table{}, otherwise: 1},
		{name: "off", table: &rates.Table{Default: rates.Rate{Mode: "off", P: p(1)}}, otherwise: 0},
		{name: "outside", table: operations(rates.Operation{Name: "a", P: 7}, rates.Operation{Name: "b", P: -1}, rates.Operation{Name: "c", P: math.NaN()}), otherwise: 0.5,
			listed: 3, want: map[string]float64{"a": 1, "b": 0, "c": 1, "d": 0.5}},
		{name: "twice", table: operations(rates.Operation{Name: "a", P: 0.1}, rates.Operation{Name: "a", P: 0.2}), otherwise: 0.5, listed: 1, want: map[string]float64{"a": 0.1}},
		{name: "more than a client looks up", table: many, otherwise: 0.5, listed: maxOperations, want: map[string]float64{"0": 0.25, "255": 0.25, "256": 0.5}},
	} {
		t.Run(c.name, func(t *testing.T) {
			st := newStrategy(c.table)
			body, err := json.Marshal(st.response())
			require.NoError(t, err)
			var said strategyResponse
			require.NoError(t, json.Unmarshal(body, &said))
			assert.Equal(t, c.otherwise, said.Operation.Default)
			assert.Len(t, said.Operation.PerOperation, c.listed)
			assert.NotContains(t, string(body), "null")
			for name, want := range c.want {
				assert.Equal(t, want, st.probability(name), name)
			}
		})
	}
}

// A trace has the rate that was the newest told to its service when it began.
func TestServedRate(t *testing.T) {
	r := start(t, testConfig(nil))
	noon := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	tell := func(second int, service string, rate float64) {
		r.source.set(service, operations(rates.Operation{Name: "GET /", P: rate}))
		r.server.now = func() time.Time { return noon.Add(time.Duration(second) * time.Second) }
		require.Equal(t, 200, r.get("/sampling?service="+service).status)
	}
	tell(0, "web", 0.1)
	tell(10, "web", 0.1) // another process, the same rates
	tell(20, "web", 0.01)
	tell(25, "off", 0)
	tell(40, "web", 0.1) // again
	for _, c := range []struct {
		service, operation string
		second             float64
		want               float64 // 0 = none
	}{
		{"web", "GET /", -1, 0},
		{"web", "GET /", 0, 0.1},
		{"web", "GET /", 19.9, 0.1},
		{"web", "GET /", 20, 0.01},
		{"web", "GET /", 39, 0.01},
		{"web", "GET /", 1e6, 0.1},
		{"web", "POST /", 30, 0.5}, // the default
		{"off", "GET /", 30, 0},    // not by this rate
		{"shop", "GET /", 30, 0},
		{"", "GET /", 30, 0},
	} {
		target := rates.Target{Namespace: "n", Service: c.service, Environment: "e", Version: "1", Instance: "a"}
		got, ok := r.server.ServedRate(target, c.operation, noon.Add(time.Duration(c.second*float64(time.Second))))
		assert.Equal(t, c.want > 0, ok, "%+v", c)
		assert.Equal(t, c.want, got, "%+v", c)
	}
	assert.Equal(t, map[string]int64{"waiting": 0, "answers": 2, "services": 2, "tables": 4}, r.counted("table_size"))
}

func TestServedRatesAreBounded(t *testing.T) {
	r := start(t, testConfig(func(c *Config) { c.Limits.MaxServices, c.Limits.RememberedTables = 2, 3 }))
	second := 0
	at := func(n int) time.Time { return time.Unix(int64(n), 0) }
	r.server.now = func() time.Time { return at(second) }
	for second = 1; second <= 5; second++ {
		r.source.set("a", operations(rates.Operation{Name: "x", P: float64(second) / 10}))
		r.get("/sampling?service=a")
	}
	for n, want := range map[int]float64{1: 0, 2: 0, 3: 0.3, 4: 0.4, 5: 0.5, 9: 0.5} {
		got, _ := r.server.ServedRate(rates.Target{Service: "a"}, "x", at(n))
		assert.Equal(t, want, got, n)
	}
	for _, service := range []string{"b", "a", "c"} { // b is the one that asked least recently
		r.source.set(service, operations(rates.Operation{Name: "x", P: 0.5}))
		r.get("/sampling?service=" + service)
	}
	for service, want := range map[string]bool{"a": true, "b": false, "c": true} {
		_, ok := r.server.ServedRate(rates.Target{Service: service}, "x", at(9))
		assert.Equal(t, want, ok, service)
	}
	assert.Equal(t, map[string]int64{"services": 1, "tables": 2}, r.counted("overflow"))
	assert.EqualValues(t, 4, r.counted("table_size")["tables"])
}
