// Package maintain keeps a warehouse in shape for years: it merges small files, rolls
// old dates up into sums, leaves ids out of old rows, drops what is older than the
// policy says or than the disk has room for, and takes a service's rows out or
// gives them another name. Next to large dates it keeps sums of their rows, which
// answer questions about whole dates sooner.
//
// Its invariant: every step is one commit (table.Maintainer), so that a reader
// sees rows or their sums, never both and never neither; whatever interrupts it,
// the next run begins with what counts. No step changes a total: calls come out
// exactly, estimates to rounding.
//
// It decides by the dates of rows, never by those of files, and keeps no state of
// its own next to the warehouse.
package maintain
