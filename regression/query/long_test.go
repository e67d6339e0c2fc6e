package query

import "testing"

// skipLong skips a long test in short mode and under the race detector, which finds nothing in statements that run
// one after another. `make test-full` runs these tests.
func skipLong(t *testing.T) {
	t.Helper()
	if testing.Short() || raceEnabled {
		t.Skip("long: runs without -short and without -race")
	}
}
