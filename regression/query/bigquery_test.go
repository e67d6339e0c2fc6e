package query_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/warehouse/bigquery"
	"github.com/corehour/corehour/regression/query"
	"github.com/corehour/corehour/test/fixture"
	"github.com/corehour/corehour/test/fixture/remote"
)

func shops(t *testing.T) string {
	t.Helper()
	first := fixture.Shop{Seed: 1, Version: "1", Instances: []string{"a", "b"}, Start: fixture.Start, Minutes: 12, Requests: 4,
		Rate: map[string]float64{fixture.Total: 0.5, fixture.Rate: 0.3}}
	second := first
	second.Seed, second.Version, second.Start = 2, "2", fixture.Start.Add(12*time.Minute)
	items, _ := first.Run()
	more, _ := second.Run()
	p := fixture.NewProcess("1", "c", fixture.Start)
	p.Resource.Environment = "" // unknown: a value like any other
	p.Counts("a.B", p.Start, time.Minute, 7)
	p.Call("a.B", "", p.Start, time.Second, -1, 0.5, 0)
	p.Beat(p.Start, time.Minute, time.Second, true)
	return fixture.Write(t, items, more, append(items[:0:0], p.Item()))
}

// Every query returns the same results from files and from BigQuery.
func TestBigQuery_EqualsFiles(t *testing.T) {
	root := shops(t)
	s, address := remote.Serve(t, root)
	var asked atomic.Int64
	s.OnREST = func(string, string) int {
		if asked.Add(1)%5 == 0 {
			return http.StatusServiceUnavailable
		}
		return 0
	}
	window := query.Window{From: fixture.Start, To: fixture.Start.Add(time.Hour)}
	shop := query.Service{Namespace: "store", Name: "shop", Environment: "production"}
	filter := query.Filter{Service: "shop", Environment: "production"}
	compared := []query.Compared{
		{Service: shop, Side: query.SideBase, Version: "1", Window: window, TimeBucket: time.Minute},
		{Service: shop, Side: query.SideHead, Version: "2", Window: window, TimeBucket: time.Minute},
	}
	chosen := []query.MethodName{{Service: shop, Class: "shop/tax", Method: "Rate"}, {Service: query.Service{Namespace: "store", Name: "shop"}, Class: "a", Method: "B"}}
	ask := query.ProfileQuery{Metric: query.CPU, Window: window, TimeBucket: time.Minute, Filter: filter}
	wall := ask
	wall.Metric, wall.Filter = query.Wall, query.Filter{}
	sides := ask
	sides.Compared = compared
	warm := sides
	warm.WarmUp = 3 * time.Minute
	type answers map[string]any
	all := func(root string) answers {
		t.Helper()
		var notices bytes.Buffer
		ctx := context.Background()
		w, err := query.Open(ctx, root, window, query.WithNotices(&notices))
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		out := answers{}
		put := func(name string, v any, err error) {
			if err != nil {
				t.Errorf("%s: %s: %v", root, name, err)
			}
			out[name] = v
		}
		for name, a := range map[string]query.ProfileQuery{"cpu": ask, "wall": wall, "sides": sides, "warm-up": warm} {
			methods, edges, err := w.Profiles(ctx, a)
			put("profiles "+name, methods, err)
			put("edges "+name, edges, err)
		}
		history, err := w.History(ctx, wall, 10*time.Minute, chosen)
		put("history", history, err)
		spread, err := w.Distribution(ctx, wall, chosen)
		put("distribution", spread, err)
		nothing, err := w.Distribution(ctx, wall, nil)
		put("distribution of nothing", nothing, err)
		cost := query.CostQuery{Window: window, Filter: filter, TimeBucket: time.Minute, Group: []string{"service", "version"}}
		costs, err := w.Costs(ctx, cost)
		put("costs", costs, err)
		cost.Price = func(query.Place) float64 { return 0.5 }
		cost.Owners = func(c query.Class) string { return "owner of " + c.Class }
		cost.Group = []string{"owner"}
		costs, err = w.Costs(ctx, cost)
		put("costs by owner", costs, err)
		bills, err := w.Bills(ctx, cost)
		put("bills", bills, err)
		spreads, err := w.Spreads(ctx, window, query.Filter{})
		put("spreads", spreads, err)
		services, err := w.Services(ctx)
		put("services", services, err)
		runs, err := w.Runs(ctx, window, query.Filter{})
		put("runs", runs, err)
		for _, metric := range []query.Metric{query.CPU, query.Wall} {
			var days []query.MethodDay
			err := w.Days(ctx, metric, window, query.Filter{}, func(d *query.MethodDay) error {
				days = append(days, *d)
				return nil
			})
			put("days by "+string(metric), days, err)
		}
		accounts, err := w.Accounts(ctx, window, query.Filter{}, false)
		put("accounts", accounts, err)
		stats, err := w.ProcessStats(ctx, window, query.Filter{})
		put("stats of processes", stats, err)
		duplicates, err := w.Duplicates(ctx, query.Filter{})
		put("duplicates", duplicates, err)
		excess, err := w.MeasuredAboveCounted(ctx, query.Window{}, query.Filter{}, false)
		put("measured above counted", excess, err)
		stocks, err := w.Stocks(ctx, window, query.Filter{})
		put("stocks", stocks, err)
		table, err := w.User(ctx, "SELECT class, SUM(w * cpu_ns) AS cpu, COUNT(*) AS n FROM method_cost GROUP BY class ORDER BY class; -- all; of them\n", 2)
		put("user", table, err)
		if strings.HasPrefix(root, "bigquery") != strings.Contains(notices.String(), "BigQuery: profile reads up to 123 MB") {
			t.Errorf("%s: notices %q", root, notices.String())
		}
		return out
	}
	files, theirs := all(root), all(address)
	for name, want := range files {
		if got := theirs[name]; !alike(t, want, got) {
			t.Errorf("%s: BigQuery says\n%+v\nthe files\n%+v", name, got, want)
		}
		if v := reflect.ValueOf(want); v.Kind() == reflect.Slice && v.Len() == 0 && name != "duplicates" && name != "measured above counted" && name != "distribution of nothing" {
			t.Errorf("%s: no rows, nothing is shown", name)
		}
	}
}

// alike compares numbers to nine digits, whatever their types.
func alike(t *testing.T, a, b any) bool {
	t.Helper()
	var plain [2]any
	for i, v := range []any{a, b} {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &plain[i]); err != nil {
			t.Fatal(err)
		}
	}
	return same(plain[0], plain[1])
}

func same(a, b any) bool {
	switch a := a.(type) {
	case float64:
		b, ok := b.(float64)
		return ok && math.Abs(a-b) <= 1e-9*math.Max(math.Abs(a), math.Abs(b))
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !same(a[i], b[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for k := range a {
			if !same(a[k], b[k]) {
				return false
			}
		}
		return true
	}
	return a == b
}

func TestBigQuery_BytesBounded(t *testing.T) {
	_, address := remote.Serve(t, shops(t))
	_, err := query.Open(t.Context(), address+"&max_bytes_billed=1000", query.Window{})
	if !errors.Is(err, bigquery.ErrQueryTooLarge) || !strings.Contains(err.Error(), "reads 123 MB, after 0 B of 1 kB") {
		t.Error(err)
	}
	w, err := query.Open(t.Context(), address+"&max_bytes_billed=300000000", query.Window{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := w.Services(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := w.Services(t.Context()); !errors.Is(err, bigquery.ErrQueryTooLarge) {
		t.Errorf("the third query: %v", err)
	}
}

func TestUserStatement_ReadOnly(t *testing.T) {
	_, address := remote.Serve(t, shops(t))
	w, err := query.Open(t.Context(), address, query.Window{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for _, text := range []string{"DROP TABLE method_calls", "SELECT 1; SELECT 2", "INSERT INTO method_calls SELECT * FROM method_calls", "SELECT @nonsense", ""} {
		if _, err := w.User(t.Context(), text, 1); err == nil {
			t.Errorf("%q is run", text)
		}
	}
}

func TestOpen_InvalidAddress(t *testing.T) {
	for address, want := range map[string]string{
		"bigquery://":                                    "the project must be the id",
		"bigquery://my-project":                          "the dataset must be letters",
		"bigquery://my-project/a.b":                      "the dataset must be letters",
		"bigquery://my-project/d?nonsense=":              "unknown option",
		"bigquery://my-project/d?max_bytes_billed=1GB":   "max_bytes_billed must be a number",
		"bigquery://my-project/d?api=ftp://x":            "the endpoint of BigQuery",
		"bigquery://my-project/d?api=http://x&billing=X": "billing",
		"azblob://bucket":                                "there is no reader for azblob://",
	} {
		if _, err := query.Open(t.Context(), address, query.Window{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", address, err, want)
		}
	}
	if _, err := query.ParseBigQuery("bigquery://my-project/d?billing=other-project&max_bytes_billed=5"); err != nil {
		t.Error(err)
	}
}

func TestOpen_NoRows(t *testing.T) {
	_, address := remote.Serve(t, shops(t))
	_, err := query.Open(t.Context(), address, query.Window{From: fixture.Start.Add(1000 * time.Hour)})
	if !errors.Is(err, query.ErrNoData) {
		t.Error(err)
	}
}
