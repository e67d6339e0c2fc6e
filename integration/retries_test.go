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

// faults are the findings of a measurement by subject.
type faults map[string][]string

func (f faults) addf(what, format string, args ...any) {
	f[what] = append(f[what], fmt.Sprintf(format, args...))
}

// maxTries is the maximum number of tries of a measurement.
const maxTries = 3

// withRetries fails a test only for faults that every try finds. It is for measurements that depend
// on clocks: a busy machine can cause a fault once, a defect of corehour causes it every time.
// Exact checks have no second try: the try fails the test itself and is the last one.
//
// A try that finds no fault, or only faults that an earlier try did not find, passes. All faults of
// all tries are logged and appended to build/tries.txt. A test that needs a second try more and
// more often has a defect.
func withRetries(t *testing.T, try func() faults) {
	t.Helper()
	var left faults
	for n := 1; n <= maxTries; n++ {
		found := try()
		for _, what := range slices.Sorted(maps.Keys(found)) {
			for _, how := range found[what] {
				t.Logf("try %d of %d: %s: %s", n, maxTries, what, how)
				if err := logRetry(fmt.Sprintf("%s: try %d of %d: %s: %.300q", t.Name(), n, maxTries, what, how)); err != nil {
					t.Log(err)
				}
			}
		}
		if left = persistentFaults(left, found, n); len(left) == 0 || t.Failed() {
			return
		}
	}
	for _, what := range slices.Sorted(maps.Keys(left)) {
		t.Errorf("%s is wrong in each of %d tries: %q", what, maxTries, left[what])
	}
}

// retryLog is the file that collects the faults of all tries.
var retryLog = filepath.Join("..", "build", "tries.txt")

func logRetry(line string) error {
	if err := os.MkdirAll(filepath.Dir(retryLog), 0o755); err != nil {
		return err
	}
	file, err := os.OpenFile(retryLog, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = file.WriteString(line + "\n")
	return errors.Join(err, file.Close())
}

// persistentFaults returns the faults of the n-th try that all earlier tries found as well.
func persistentFaults(before, found faults, n int) faults {
	left := faults{}
	for what, how := range found {
		if n == 1 || before[what] != nil {
			left[what] = how
		}
	}
	return left
}

// TestPersistentFaults_OnlyThoseOfEveryTry checks that a fault of every try fails a test, and that
// a try without faults does not hide it.
func TestPersistentFaults_OnlyThoseOfEveryTry(t *testing.T) {
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
			left = persistentFaults(left, found, i+1)
		}
		if got := slices.Sorted(maps.Keys(left)); !slices.Equal(got, c.left) {
			t.Errorf("%s: %q last, want %q", c.name, got, c.left)
		}
	}
}
