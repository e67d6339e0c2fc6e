package cost

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse/bigquery"
	"github.com/corehour/corehour/regression/query"
	"github.com/corehour/corehour/test/fake"
	"github.com/corehour/corehour/test/fixture"
	"github.com/corehour/corehour/test/fixture/remote"
)

// A table can grow between two queries. Here the first row of a service arrives between the query of the bills and the
// query of the costs.
func TestCompute_ServiceAppearsBetweenQueries(t *testing.T) {
	fixture.SkipRaced(t)
	var items []methodspan.Item
	for i := range 2 {
		p := fixture.NewProcess("1", "a", fixture.Start)
		p.Resource.Service = fmt.Sprint("shop", i)
		p.Counts("a.B", fixture.Start, time.Minute, 10)
		for range 10 {
			p.Call("a.B", methodspan.CallerEntry, fixture.Start, time.Millisecond, time.Millisecond, 1, 1)
		}
		p.Beat(fixture.Start, time.Minute, time.Second, true)
		items = append(items, p.Item())
	}
	s, address := remote.Serve(t, fixture.Write(t, items))
	answer := s.Query
	hidden := "shop1"
	s.Query = func(q fake.Query) (*fake.Result, error) {
		r, err := answer(q)
		if err == nil && !q.DryRun && strings.Contains(q.Text, "paid_ns") {
			i := slices.IndexFunc(r.Fields, func(f bigquery.Field) bool { return f.Name == "service" })
			r.Rows = slices.DeleteFunc(r.Rows, func(row []any) bool { return strings.HasPrefix(row[i].(string), hidden) })
		}
		return r, err
	}
	w, err := query.Open(t.Context(), address, query.Window{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for _, by := range [][]Dimension{nil, {ByCaller}, {ByService, ByVersion}} {
		r, err := Compute(t.Context(), w, Options{By: by})
		if err != nil || len(r.Services) != 2 || r.Services[0].ProcessCoreHours == nil || r.Services[1].ProcessCoreHours != nil || !(r.Services[1].AttributedCoreHours > 0) {
			t.Errorf("by %v: %v %+v", by, err, r)
		}
	}
	hidden = "shop"
	if r, err := Compute(t.Context(), w, Options{}); err != nil || len(r.Services) != 0 {
		t.Errorf("without any bill: %v %+v", err, r)
	}
}
