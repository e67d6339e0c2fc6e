package table

import "testing"

// everyStep returns 1, or stride in short mode: tests that fail at every step then fail at every
// stride-th.
func everyStep(stride int) int {
	if testing.Short() {
		return stride
	}
	return 1
}
