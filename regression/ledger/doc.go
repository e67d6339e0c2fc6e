// Package ledger checks that every call that was counted in a process is stored, and lists the missing calls.
//
// Its invariant: a process's emitted calls are the stored counts plus lost_in_transit. A number that can't be known
// (calls of the last interval of a process that died) is listed as unknown, never guessed.
//
// It does not repair anything, and does not judge measurements: it only passes on their counted losses.
package ledger
