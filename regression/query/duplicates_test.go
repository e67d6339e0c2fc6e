package query_test

import (
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/regression/query"
	"github.com/corehour/corehour/test/fixture"
)

// Duplicate rows of one service do not affect another service.
func TestDuplicates_ServiceFilter(t *testing.T) {
	p := fixture.NewProcess("1.0", "a", fixture.Start)
	p.Counts("a.B", fixture.Start, time.Minute, 3)
	twice := p.Item()
	twice.Rows = append(twice.Rows, twice.Rows...) // with the same positions in the item
	root := fixture.Write(t, []methodspan.Item{twice})
	w, err := query.Open(t.Context(), root, query.Window{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for service, want := range map[string]int{"": 1, "shop": 1, "other": 0} {
		found, err := w.Duplicates(t.Context(), query.Filter{Service: service})
		if err != nil || len(found) != want {
			t.Errorf("%q: %v, %v; want %d", service, found, err, want)
		}
	}
}
