//go:build amd64 && gc && !race && !purego

package processor

import (
	"sync/atomic"
	"unsafe"
)

// Publish stores a word that only the caller may write now, so that a reader that sees it
// sees all that was stored before. On this architecture any store does so; that of
// sync/atomic locks the line, since it keeps later reads behind it too.
func Publish(word *atomic.Uint64, v uint64) { *(*uint64)(unsafe.Pointer(word)) = v }
