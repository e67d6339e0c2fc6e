package query_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/bigquery"
	"github.com/corehour/corehour/regression/query"
	"github.com/corehour/corehour/test/fake"
	"github.com/corehour/corehour/test/fixture"
	"github.com/corehour/corehour/test/fixture/remote"
)

// loadJob loads rows by one job; each row ended the given time (ago) before now.
func loadJob(t *testing.T, s *fake.Server, now time.Time, id string, ago ...time.Duration) {
	t.Helper()
	s.Now = func() time.Time { return now }
	l, err := bigquery.NewLoader(t.Context(), bigquery.Options{Dataset: remote.Dataset, Endpoints: s.Endpoints, Directory: t.TempDir(),
		Intake: warehouse.IntakeOptions{Now: s.Now}}, bigquery.LoadOptions{Bucket: fake.Bucket, Interval: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	item := methodspan.Item{ID: id}
	for i, d := range ago {
		end := now.Add(-d).UnixNano()
		item.Rows = append(item.Rows, methodspan.Row{Kind: methodspan.KindCounts, Level: methodspan.LevelRaw, StartNS: end, EndNS: end, RowSeq: int32(i)})
	}
	_, err = l.Write(t.Context(), []methodspan.Item{item})
	if err := errors.Join(err, l.Round(t.Context(), true), l.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestFreshness_LoadJobs(t *testing.T) {
	s, address := remote.Serve(t, shops(t))
	ask := func(window query.Window, filter query.Filter) query.Freshness {
		t.Helper()
		w, err := query.Open(t.Context(), address, query.Window{})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		fresh, err := w.Freshness(t.Context(), window, filter)
		if err != nil {
			t.Fatal(err)
		}
		return fresh
	}
	if f := ask(query.Window{}, query.Filter{}); f.Known || !strings.Contains(f.Note, "no load job since") || !strings.Contains(f.Note, "oldest_unflushed_age") {
		t.Errorf("%+v", f)
	}
	minutes := func(n int, d time.Duration) (list []time.Duration) {
		for range n {
			list = append(list, d)
		}
		return list
	}
	day := fixture.Start
	// A thousand rows in two jobs; 2 of them are older than the reported P99.
	loadJob(t, s, day.Add(10*time.Minute), "a", append(minutes(599, 3*time.Minute), 9*time.Minute)...)
	loadJob(t, s, day.Add(20*time.Minute), "b", append(minutes(399, 5*time.Minute), 19*time.Minute)...)
	s.OnLoad = func(int) *bigquery.JobError { return nil }
	window := query.Window{From: day, To: day.Add(time.Hour)}
	if f := ask(window, query.Filter{}); !f.Known || f.P99 != 5*time.Minute || !strings.HasPrefix(f.Note, "2 load jobs since ") || !strings.HasSuffix(f.Note, "UTC, 0 of them failed") {
		t.Errorf("%+v", f)
	}
	if f := ask(query.Window{From: day, To: day.Add(-50 * time.Minute)}, query.Filter{}); !f.Known || f.P99 != 3*time.Minute {
		t.Errorf("of the first job: %+v", f)
	}
	if f := ask(window, query.Filter{Service: "shop"}); f.Known || !strings.Contains(f.Note, "ask without --service") {
		t.Errorf("%+v", f)
	}
	s.OnREST = func(method, path string) int {
		if method == http.MethodGet && strings.HasSuffix(path, "/jobs") {
			return http.StatusForbidden
		}
		return 0
	}
	if f := ask(window, query.Filter{}); f.Known || !strings.Contains(f.Note, "bigquery.jobs.listAll") {
		t.Errorf("%+v", f)
	}
	w, err := query.Open(t.Context(), address, query.Window{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := w.Verify(t.Context()); err == nil || !strings.Contains(err.Error(), "--deep") {
		t.Error(err)
	}
}
