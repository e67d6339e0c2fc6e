package main

import "testing"

// skipLong skips a long test in short mode and under the race detector, which finds nothing in commands that
// run one query after another. `make test-full` runs the test.
func skipLong(t *testing.T) {
	t.Helper()
	if testing.Short() || raceEnabled {
		t.Skip("long: runs without -short and without -race")
	}
}

// unracedWhenShort skips a test that takes seconds with the race detector in short mode. Commands run one query
// after another, so the detector finds little. `make test-unraced` runs the test.
func unracedWhenShort(t *testing.T) {
	t.Helper()
	if testing.Short() && raceEnabled {
		t.Skip("takes seconds with the race detector; runs without it")
	}
}
