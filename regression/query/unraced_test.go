package query

import "testing"

// unraced skips a long test with the race detector, which has nothing to find in statements that are
// asked one after another. make test runs it without; a test of cmd/corehour holds the list in the
// Makefile against these calls.
func unraced(t *testing.T) {
	if raceEnabled {
		t.Skip("runs without the race detector, see the Makefile")
	}
}
