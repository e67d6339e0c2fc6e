//go:build !(amd64 && gc && !race && !purego)

package processor

// Available reports whether Pin does what it says here.
const Available = false

// Pin does nothing here.
func Pin() int { return 0 }

// Unpin does nothing here.
func Unpin() {}
