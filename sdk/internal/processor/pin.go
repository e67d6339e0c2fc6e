//go:build amd64 && gc && !race && !purego

package processor

import _ "unsafe" // for go:linkname

// Available reports whether Pin does what it says here.
const Available = true

// Pin keeps the goroutine on its processor until Unpin, and returns the processor's
// number. Nothing else of Go runs there meanwhile. It must not block in between.
//
// The runtime keeps these two names for programs that cannot do without.
//
//go:linkname Pin runtime.procPin
func Pin() int

// Unpin ends what Pin began.
//
//go:linkname Unpin runtime.procUnpin
func Unpin()
