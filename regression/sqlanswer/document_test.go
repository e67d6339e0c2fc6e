package sqlanswer

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
)

func TestDistinct(t *testing.T) {
	for _, c := range [][2][]string{
		{{"a", "b"}, {"a", "b"}},
		{{"a", "a", "a"}, {"a", "a_2", "a_3"}},
		{{"a", "a", "a_2"}, {"a", "a_2", "a_2_2"}},
		{{"a_2", "a", "a"}, {"a_2", "a", "a_3"}},
	} {
		if got := distinct(c[0]); !slices.Equal(got, c[1]) {
			t.Errorf("%q become %q, want %q", c[0], got, c[1])
		}
	}
}

// Spreadsheets and scripts read plain decimals.
func TestDocument_NoScientificNotation(t *testing.T) {
	table := &query.Table{Columns: []string{"x", "y", "z"}, Rows: [][]any{{1e-12, 1e21, float32(1e-9)}}}
	var b strings.Builder
	if err := Document(table, time.UTC, output.CSV).Write(&b, output.CSV); err != nil {
		t.Fatal(err)
	}
	if want := "x,y,z\n0.000000000001,1000000000000000000000,0.000000001\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}
