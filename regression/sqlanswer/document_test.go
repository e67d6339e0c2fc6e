package sqlanswer

import (
	"slices"
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
