package integration

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// faults are what a measurement found wrong: of what, and how.
type faults map[string][]string

func (f faults) addf(what, format string, args ...any) {
	f[what] = append(f[what], fmt.Sprintf(format, args...))
}

// tries are how often a measurement may be made.
const tries = 3

// lasting fails a test for faults that every one of some tries finds. It is for
// measurements that depend on clocks: on a busy machine a fault may be found once that
// is none, and a fault of ours is found every time. Exact checks have no second try: the
// try fails the test itself, and is the last one.
//
// A try that finds no fault, or none that those before it found, passes. All faults of
// all tries are logged, and noted for `make test`: a test that needs a second try more
// and more often has a fault.
func lasting(t *testing.T, try func() faults) {
	t.Helper()
	var left faults
	for n := 1; n <= tries; n++ {
		found := try()
		for _, what := range slices.Sorted(maps.Keys(found)) {
			for _, how := range found[what] {
				t.Logf("try %d of %d: %s: %s", n, tries, what, how)
				if err := note(fmt.Sprintf("%s: try %d of %d: %s: %.300q", t.Name(), n, tries, what, how)); err != nil {
					t.Log(err)
				}
			}
		}
		if left = still(left, found, n); len(left) == 0 || t.Failed() {
			return
		}
	}
	for _, what := range slices.Sorted(maps.Keys(left)) {
		t.Errorf("%s is wrong in each of %d tries: %q", what, tries, left[what])
	}
}

// notes is the file in which `make test` finds the retries.
var notes = filepath.Join("..", "..", "build", "tries.txt")

func note(line string) error {
	if err := os.MkdirAll(filepath.Dir(notes), 0o755); err != nil {
		return err
	}
	file, err := os.OpenFile(notes, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = file.WriteString(line + "\n")
	return errors.Join(err, file.Close())
}

// still are the faults of the n-th try that all before it have had.
func still(before, found faults, n int) faults {
	left := faults{}
	for what, how := range found {
		if n == 1 || before[what] != nil {
			left[what] = how
		}
	}
	return left
}

// TestFaultsThatLast makes sure that a fault of every try fails a test, and one that
// passes does not hide it.
func TestFaultsThatLast(t *testing.T) {
	a, b, both := faults{"a": {"1"}}, faults{"b": {"2"}}, faults{"a": {"3"}, "b": {"4"}}
	for _, c := range []struct {
		name  string
		found []faults
		left  []string
	}{
		{"none", []faults{{}}, nil},
		{"every time", []faults{a, a, a}, []string{"a"}},
		{"every time, and another", []faults{a, both, a}, []string{"a"}},
		{"both", []faults{both, both, both}, []string{"a", "b"}},
		{"one passes", []faults{both, b, b}, []string{"b"}},
		{"passes", []faults{a, a, {}}, nil},
		{"another each time", []faults{a, b}, nil},
		{"comes later", []faults{{}, a}, nil},
	} {
		var left faults
		for i, found := range c.found {
			left = still(left, found, i+1)
		}
		if got := slices.Sorted(maps.Keys(left)); !slices.Equal(got, c.left) {
			t.Errorf("%s: %q last, want %q", c.name, got, c.left)
		}
	}
}
