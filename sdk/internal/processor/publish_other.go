//go:build !(amd64 && gc && !race && !purego)

package processor

import "sync/atomic"

// Publish stores a word that only the caller may write now, so that a reader that sees it
// sees all that was stored before.
func Publish(word *atomic.Uint64, v uint64) { word.Store(v) }
