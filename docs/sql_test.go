package docs_test

import (
	"math"
	"regexp"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse/table"
	"github.com/corehour/corehour/regression/query"
)

// exampleWarehouse returns a warehouse with the minute of the example in docs/background/sampling.md
// and the row of its process.
func exampleWarehouse(t *testing.T) *query.Warehouse {
	t.Helper()
	begin := time.Now().UTC().Truncate(time.Hour).Add(-time.Hour)
	shop := &methodspan.Resource{Service: "shop", Version: "1.4.2", Instance: "one", ProcessStartNS: begin.UnixNano()}
	usd := price
	row := func(kind string, second int) methodspan.Row {
		start := begin.Add(time.Duration(second) * time.Second).UnixNano()
		return methodspan.Row{
			Resource: shop, Kind: kind, Level: methodspan.LevelRaw, StartNS: start, EndNS: start + 10e6,
			Class: "shop/cart.Cart", Method: "Total", WeightBasis: methodspan.BasisExact,
		}
	}
	counts := row(methodspan.KindCounts, 0)
	counts.Calls = calls
	process := row(methodspan.KindProcess, 0)
	process.Class, process.Method = "", ""
	process.CPUMeasured, process.CPUNS = 1, 20e9
	process.Process = &methodspan.ProcessStats{Cores: 2, CallsTotal: calls, Stats: []methodspan.Stat{{Name: "queue", Value: 8192}}}
	counts.EndNS = begin.Add(time.Minute).UnixNano()
	process.EndNS = counts.EndNS
	rows := []methodspan.Row{counts, process}
	for _, g := range groups {
		for range g.records {
			call := row(methodspan.KindCall, len(rows)%60)
			call.Measured, call.CPUMeasured, call.CPUState = 1, 1, methodspan.CPUExact
			call.WallNS, call.CPUNS = 10e6, int64(g.cpuMS*1e6)
			call.P, call.CPUP = 2*g.q, 0.5
			call.USDPerCoreHour = &usd
			rows = append(rows, call)
		}
	}
	for i := range rows {
		rows[i].BatchID, rows[i].RowSeq = "a-1", int32(i)
	}
	root := t.TempDir()
	writer, err := table.NewWriter(root, table.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := writer.Write(t.Context(), []methodspan.Item{{ID: "a-1", Rows: rows}}); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	warehouse, err := query.Open(t.Context(), root, query.Window{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := warehouse.Close(); err != nil {
			t.Error(err)
		}
	})
	return warehouse
}

// TestSchemaPage_ViewComputesExample compares the view with the formulas of docs/background/sampling.md.
func TestSchemaPage_ViewComputesExample(t *testing.T) {
	var sum float64
	for _, g := range groups {
		sum += float64(g.records) / g.q
	}
	var cpuNS float64
	for _, g := range groups {
		cpuNS += calls / g.q / sum * float64(g.records) * g.cpuMS * 1e6
	}
	table, err := exampleWarehouse(t).User(t.Context(),
		"SELECT CAST(SUM(w * cpu_ns) AS DOUBLE), CAST(SUM(cost_usd) AS DOUBLE), MIN(cell) FROM method_cost WHERE kind = 'call'", 10)
	if err != nil {
		t.Fatal(err)
	}
	got := table.Rows[0]
	if x, ok := got[0].(float64); !ok || math.Abs(x/cpuNS-1) > 1e-9 {
		t.Errorf("the view says %v ns of CPU, the page's formula %v", got[0], cpuNS)
	}
	if usd := cpuNS * price / 3.6e12; math.Abs(got[1].(float64)/usd-1) > 1e-9 {
		t.Errorf("the view says %v USD, the page's formula %v", got[1], usd)
	}
	if got[2] != "minute" {
		t.Errorf("the cell is %v, the page says the minute", got[2])
	}
}

// TestSchemaPage_ExamplesRun runs every query of the page.
func TestSchemaPage_ExamplesRun(t *testing.T) {
	warehouse := exampleWarehouse(t)
	blocks := regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllStringSubmatch(pages(t)["docs/reference/schema.md"], -1)
	if len(blocks) == 0 {
		t.Fatal("the page shows no query")
	}
	for _, block := range blocks {
		table, err := warehouse.User(t.Context(), block[1], 100)
		if err != nil {
			t.Errorf("%v\n%s", err, block[1])
		} else if len(table.Rows) == 0 {
			t.Errorf("no rows from\n%s", block[1])
		}
	}
}
