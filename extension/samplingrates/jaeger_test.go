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

func TestJaeger_Strategies(t *testing.T) {
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
			response := responseOf(c.table)
			st := newStrategy(&response)
			body, err := json.Marshal(response)
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

// A trace has the rate that was the newest served to its service when it began.
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

func TestServedRate_Bounded(t *testing.T) {
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
	for _, service := range []string{"b", "a", "c", "d"} { // b is the one that asked least recently of those that do not send
		r.source.set(service, operations(rates.Operation{Name: "x", P: 0.5}))
		r.get("/sampling?service=" + service)
	}
	for service, want := range map[string]bool{"a": true, "b": false, "c": true, "d": true} {
		_, ok := r.server.ServedRate(rates.Target{Service: service}, "x", at(9))
		assert.Equal(t, want, ok, service)
	}
	assert.Equal(t, map[string]int64{"services": 1, "tables": 2}, r.counted("overflow"))
	assert.EqualValues(t, 5, r.counted("table_size")["tables"])
}

// Polls for unknown services do not evict a service that sends spans, or one that polls from another address.
func TestServedRate_InventedServicesEvictNothing(t *testing.T) {
	r := start(t, testConfig(nil))
	r.source.set("shop", operations(rates.Operation{Name: "x", P: 0.1}))
	r.get("/sampling?service=shop")
	of := func(service string) (float64, bool) {
		return r.server.ServedRate(rates.Target{Service: service}, "x", r.server.now().Add(time.Hour))
	}
	_, ok := of("shop")
	require.True(t, ok)
	r.get("/sampling?service=shop")
	for i := range 1100 {
		r.get(fmt.Sprintf("/sampling?service=invented%d", i))
	}
	got, ok := of("shop")
	require.True(t, ok)
	require.Equal(t, 0.1, got)

	s := newServed(10, 4)
	response := newStrategy(&strategyResponse{})
	s.remember("quiet", "10.0.0.1", time.Unix(1, 0), "1", response)
	for i := range 1000 {
		s.remember(fmt.Sprint(i), "10.0.0.2", time.Unix(2, 0), "1", response)
	}
	_, ok = s.asked.Peek("quiet")
	require.True(t, ok)
}

// The remembered tables are bounded by bytes, for any number of operations, and are small if only rates change.
func TestServedRate_BytesBounded(t *testing.T) {
	tableOf := func(name string, revision int) *strategy {
		table := &rates.Table{}
		for i := range maxOperations {
			table.Operations = append(table.Operations, rates.Operation{Name: fmt.Sprintf("%s/item/%d", name, i), P: 1 / float64(2+revision)})
		}
		response := responseOf(table)
		return newStrategy(&response)
	}
	check := func(s *servedHistory) {
		t.Helper()
		tables, bytes := 0, 0
		require.Zero(t, s.sends.Len())
		for _, h := range s.asked.All {
			bytes += h.weight()
			tables += len(h.tables)
			for i := range h.tables {
				bytes += h.tables[i].weight()
				require.Equal(t, i == 0 || &h.tables[i].strategy.names[0] != &h.tables[i-1].strategy.names[0], h.tables[i].names)
			}
		}
		require.Equal(t, tables, s.tables)
		require.Equal(t, bytes, s.bytes)
		require.LessOrEqual(t, s.bytes, s.maxBytes)
	}
	at := func(second int) time.Time { return time.Unix(int64(second), 0) }

	s := newServed(1000, 64)
	before := heap()
	for service := range 20 {
		for revision := range 70 {
			s.remember(fmt.Sprint(service), "", at(revision), fmt.Sprint(revision), tableOf("GET ", revision))
		}
	}
	check(s)
	_, tables := s.sizes()
	assert.EqualValues(t, 20*64, tables, "all have room")
	assert.Less(t, heap()-before, 6<<20)
	for second, want := range map[int]float64{5: 0, 6: 1 / 8.0, 30: 1 / 32.0, 100: 1 / 71.0} {
		got, _ := s.rate("3", "GET /item/17", at(second))
		assert.Equal(t, want, got, second)
	}

	s.maxBytes = 512 << 10
	var goneServices, goneTables int64
	for revision := range 100 { // names of its own each time
		services, tables := s.remember("other", "", at(revision), fmt.Sprint(revision), tableOf(fmt.Sprint("GET ", revision), revision))
		goneServices, goneTables = goneServices+services, goneTables+tables
		check(s)
	}
	assert.EqualValues(t, 20, goneServices, "those that asked least recently")
	assert.Greater(t, goneTables, int64(20*63))
	got, ok := s.rate("other", "GET 99/item/17", at(99))
	assert.True(t, ok)
	assert.Equal(t, 1/101.0, got)

	s.maxBytes = 1
	s.remember("large", "", at(1), "1", tableOf("GET ", 1))
	_, ok = s.rate("large", "x", at(1))
	assert.True(t, ok, "the newest table is always known")
}
