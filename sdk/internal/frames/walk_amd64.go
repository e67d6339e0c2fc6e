//go:build linux && gc && !purego

package frames

// Available reports whether Walk exists on this platform.
const Available = true

// Walk writes the return addresses of the frames above its caller's, nearest first, to at most the
// given number of words from pcs on, and returns their number. ended reports that the stack ends there;
// otherwise the limit was reached, or the chain is broken.
//
// It is called directly, so that the compiler cannot put a frame in between.
//
//go:noescape
func Walk(pcs *uintptr, most int) (n int, ended bool)
