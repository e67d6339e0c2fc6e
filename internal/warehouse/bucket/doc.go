// Package bucket keeps warehouses in an object store: one prefix per collector, one
// bucket for many of them.
//
//	<base>/<prefix>/_commit/<number>.json      names the generation that counts
//	<base>/<prefix>/_manifest/...              as in a directory (internal/warehouse/table)
//	<base>/<prefix>/date=2026-11-21/*.parquet  as in a directory
//
// A collector writes to a local directory and acknowledges rows once they are
// durable there. A Mirror follows the directory: it uploads what a generation leads
// to, then makes it count by a commit, and drops local copies when they take too
// much room.
//
// Its invariant: objects are created once and never replaced, and the commit of the
// highest number counts. Commits are numbered without a gap and each is created
// only if it is not there, so of two writers that follow the same commit one is
// refused: nothing that counted is ever undone. What no commit leads to any more is
// deleted after the grace of its readers.
//
// It decides nothing about what is merged, rolled up or dropped, and runs no
// queries; a Cache brings the files that a query needs to the local disk.
package bucket
