package bigquery_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/bigquery"
	"github.com/corehour/corehour/test/fake"
)

var dataset = bigquery.Dataset{Project: "my-project", Name: "corehour"}

// noon is the clock of the tests.
var noon = time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)

func options(s *fake.Server, dir string) bigquery.Options {
	return bigquery.Options{
		Dataset: dataset, Endpoints: s.Endpoints, Directory: dir,
		Intake: warehouse.IntakeOptions{Now: func() time.Time { return noon }},
	}
}

func open(t *testing.T, o bigquery.Options) *bigquery.Writer {
	t.Helper()
	w, err := bigquery.NewWriter(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// randomItem returns an item with rows of all kinds. Every optional value is missing in some rows.
func randomItem(r *rand.Rand, id string, rows int) methodspan.Item {
	maybe := func(s string) string {
		if r.IntN(3) == 0 {
			return ""
		}
		return fmt.Sprintf("%s-%d", s, r.IntN(5))
	}
	number := func() float64 { return float64(r.IntN(1000)+1) / 8 }
	hist := func() (h methodspan.Histogram) {
		for i := range r.IntN(4) {
			h = append(h, methodspan.Bin{Bin: int32(i*3 + r.IntN(3)), N: number()})
		}
		return h
	}
	res := &methodspan.Resource{
		ServiceNamespace: maybe("ns"), Service: maybe("service"), Version: maybe("1"), Revision: maybe("rev"),
		Environment: maybe("env"), Instance: maybe("i"), Host: maybe("host"), HostID: maybe("id"), HostType: maybe("type"),
		CloudProvider: maybe("cloud"), Region: maybe("region"), CapacityType: maybe("spot"), ProcessStartNS: int64(r.IntN(2)) * 1e18,
	}
	item := methodspan.Item{ID: id}
	for i := range rows {
		start := noon.Add(-time.Duration(r.IntN(1000)) * time.Minute).UnixNano()
		row := methodspan.Row{
			Resource: res, Kind: methodspan.KindCall, Level: methodspan.LevelRaw, StartNS: start, EndNS: start + int64(r.IntN(1e9)),
			Class: maybe("class"), Method: maybe("méthode"), Signature: maybe("()"), Caller: maybe("caller"), Stack: maybe("a;b"), Group: maybe("g"),
			Calls: number(), Measured: int64(r.IntN(3)), Errors: number(),
			Stratum: maybe("tail"), Tier: maybe("tier"), Reason: maybe("reason"), WeightBasis: maybe("exact"), CPUState: maybe("exact"),
			PriceSource: maybe("list"), RequestID: maybe("request"), BatchID: id, RowSeq: int32(i),
		}
		if row.Measured > 0 {
			row.WallNS, row.WallSq, row.WallMaxNS, row.WallHist, row.P = int64(r.IntN(1e9)), number(), int64(r.IntN(1e6)), hist(), number()
			row.CPUMeasured = int64(r.IntN(2))
		}
		if row.CPUMeasured > 0 {
			row.CPUNS, row.CPUHist, row.CPUP = int64(r.IntN(1e9)), hist(), number()
		}
		if r.IntN(2) == 0 {
			usd := number()
			row.USDPerCoreHour = &usd
			row.ConfiguredRate, row.EffectiveRate = number(), number()
			row.TraceID[3], row.SpanID[7], row.ParentSpanID[0] = 7, 8, 9
		}
		if r.IntN(9) == 0 {
			row.Kind = methodspan.KindProcess
			row.Process = &methodspan.ProcessStats{Cores: number(), HostCores: float64(r.IntN(3)), CPULimit: float64(r.IntN(3)) / 2, RSSBytes: 5, CallsTotal: 6, Final: r.IntN(2) == 0,
				Stats: []methodspan.Stat{{Name: "queue", Value: number()}, {Name: "dropped", Value: 0}}}
		}
		item.Rows = append(item.Rows, row)
	}
	return item
}

// exact checks that the stored rows are exactly the rows of items, each once.
func exact(t *testing.T, s *fake.Server, items []methodspan.Item) {
	t.Helper()
	type place struct {
		batch string
		seq   int32
	}
	got := map[place]methodspan.Row{}
	for _, row := range fake.MethodRows(s.Rows(dataset)) {
		p := place{row.BatchID, row.RowSeq}
		if _, twice := got[p]; twice {
			t.Errorf("row %d of item %s is stored twice", p.seq, p.batch)
		}
		got[p] = row
	}
	n := 0
	for _, item := range items {
		for _, want := range item.Rows {
			n++
			p := place{item.ID, want.RowSeq}
			if row, ok := got[p]; !ok {
				t.Errorf("row %d of item %s is not stored", p.seq, p.batch)
			} else if !reflect.DeepEqual(row, want) {
				t.Errorf("stored\n%+v\nwant\n%+v", row, want)
			}
		}
	}
	if len(got) != n {
		t.Errorf("%d rows are stored, want %d", len(got), n)
	}
}

// persist writes like the exporter: it repeats the write with the same items until it succeeds.
func persist(t *testing.T, w *bigquery.Writer, items []methodspan.Item) warehouse.Result {
	t.Helper()
	var err error
	for range 50 {
		var res warehouse.Result
		if res, err = w.Write(context.Background(), items); err == nil {
			return res
		}
		if refused, failure := warehouse.RowErrors(err); failure == nil && len(refused) > 0 {
			return res
		}
	}
	t.Fatalf("the write never succeeds: %v", err)
	return warehouse.Result{}
}

func isUnknown(err error) bool { return errors.Is(err, warehouse.ErrUnknown) }
