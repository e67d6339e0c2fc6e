// Package processor lets a goroutine have its processor (a P of the runtime) for a few
// instructions, so that what belongs to the processor can be changed without a locked
// instruction.
//
// Its invariant: between Pin and Unpin no other goroutine runs on the same processor,
// and the processor's number is no one else's; changes of GOMAXPROCS wait.
//
// It says nothing of readers elsewhere: they see a word as it was a moment ago.
// The race detector knows nothing of it, so it is not available there; nor with the
// build tag purego, nor on architectures on which it has not been tested.
package processor
