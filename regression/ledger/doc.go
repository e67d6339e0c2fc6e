// Package ledger checks that every call that was counted in a process is stored, and names the
// missing ones.
//
// Its invariant: a process's emitted calls are the stored counts plus
// lost_in_transit; what can't be known (calls of the last interval of a process
// that died) is listed as unknown, never guessed.
//
// It does not repair anything, and does not judge measurements: of these only
// the losses that were counted are passed on.
package ledger
