package table

import "testing"

// everyStep returns 1, or stride in short mode. Tests that inject a fault at every step then do so at every
// stride-th step.
func everyStep(stride int) int {
	if testing.Short() {
		return stride
	}
	return 1
}
