//go:build linux && gc && !purego

package frames

// Available reports whether there is a Walk here.
const Available = true

// Walk writes the return addresses of the frames above its caller's, the nearest
// first, at most so many from pcs on, and returns how many. ended = there are no more;
// else that was the most, or the chain is broken.
//
// It is called directly, so that the compiler cannot put a frame in between.
//
//go:noescape
func Walk(pcs *uintptr, most int) (n int, ended bool)
