package configfile

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestDidYouMean(t *testing.T) {
	fields := []string{"rate", "cpu_rate", "mode", "min", "max"}
	for _, c := range []struct{ found, want string }{
		{"rte", `did you mean "rate"?`},
		{"RATE", `did you mean "rate"?`},
		{"cpurate", `did you mean "cpu_rate"?`},
		{"cpu-rate", `did you mean "cpu_rate"?`},
		{"moed", `did you mean "mode"?`},
		{"mx", `known are "cpu_rate", "max", "min", "mode", "rate"`},
		{"something", `known are "cpu_rate", "max", "min", "mode", "rate"`},
		{strings.Repeat("x", 10_000), `known are "cpu_rate", "max", "min", "mode", "rate"`},
	} {
		assert.Equal(t, c.want, DidYouMean(c.found, fields), c.found)
	}
	assert.Empty(t, DidYouMean("x", nil))
	assert.Empty(t, DidYouMean("something", make([]string, 17)), "too many to list")
}

// The banded comparison agrees with the definition of the distance.
func TestDistance(t *testing.T) {
	words := []string{"", "a", "b", "ab", "ba", "abc", "acb", "bca", "xabc", "abcd", "abdc", "rate", "rtae", "arte"}
	for _, a := range words {
		for _, b := range words {
			want := defined(a, b)
			got := distance(a, b, 2)
			if want <= 2 {
				assert.Equal(t, want, got, "%q %q", a, b)
			} else {
				assert.Greater(t, got, 2, "%q %q", a, b)
			}
		}
	}
}

func defined(a, b string) int {
	if a == "" || b == "" {
		return len(a) + len(b)
	}
	changed := 1
	if a[len(a)-1] == b[len(b)-1] {
		changed = 0
	}
	d := min(defined(a[:len(a)-1], b)+1, defined(a, b[:len(b)-1])+1, defined(a[:len(a)-1], b[:len(b)-1])+changed)
	if len(a) > 1 && len(b) > 1 && a[len(a)-1] == b[len(b)-2] && a[len(a)-2] == b[len(b)-1] {
		d = min(d, defined(a[:len(a)-2], b[:len(b)-2])+1)
	}
	return d
}
