// Package native calls C.
package native

// static int twice(int i) { return 2 * i; }
import "C"
import "runtime"

// Twice has its thread to itself.
func Twice(i int) int {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return int(C.twice(C.int(i)))
}
