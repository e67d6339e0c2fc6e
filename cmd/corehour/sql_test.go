package main

import (
	"encoding/csv"
	"reflect"
	"slices"
	"strings"
	"testing"
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

// Readers skip empty lines, and a NULL alone is none.
func TestCSVOfOneColumnHasAllRows(t *testing.T) {
	r := corehour("sql", "--warehouse", twoReleases(t, 1), "--format", "csv", "SELECT a FROM (VALUES ('x'), (NULL), ('y')) v(a)")
	rows, err := csv.NewReader(strings.NewReader(r.stdout)).ReadAll()
	if want := [][]string{{"a"}, {"x"}, {""}, {"y"}}; err != nil || !reflect.DeepEqual(rows, want) {
		t.Errorf("%v %v of %q", err, rows, r.stdout)
	}
}
