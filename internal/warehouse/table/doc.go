// Package table is the embedded warehouse: a directory of Parquet files, one
// partition per UTC day, and a manifest that says which of them count.
//
//	root/CURRENT                       names the generation that counts
//	root/LOCK                          held by the one writer of rows
//	root/LOCK.maintenance              held by the one Maintainer
//	root/LOCK.commit                   held by either for a commit
//	root/_manifest/<generation>.json   names one manifest per date
//	root/_manifest/date=2026-11-21-<generation>.json        its newest files, and
//	root/_manifest/date=2026-11-21-<generation>-part.json   256 older ones each
//	root/_manifest/removed-<generation>.json                what to delete, later
//	root/date=2026-11-21/raw-<sequence>.parquet             as the writer wrote it
//	root/date=2026-11-21/merge-<generation>-<id>.parquet    several of these in one
//	root/date=2026-11-21/roll-<generation>-<id>.parquet     sums of rows
//	root/date=2026-11-21/beside-<generation>-<id>.sums      sums that count for nothing
//
// Its invariant: a file counts if and only if the generation that CURRENT names
// lists it. CURRENT is replaced by one rename after everything it leads to is on
// disk, so a reader that resolves it once sees every commit wholly or not at
// all, and an item that was committed is never written again.
//
// A manifest is never changed: a commit writes new ones for the dates it touches.
// The writer adds files, a Maintainer replaces files of a date by one, or drops
// dates, in one commit each; what is taken out stays for the grace of its readers.
//
// Next to the files of a date that count, its manifest may name one of sums of their rows,
// for readers to take in their stead. It counts for nothing: what it says is in the files
// that it is of, and it goes with the first of them that goes.
//
// It does not read or write the files (internal/warehouse/parquet does), runs no queries, and
// decides nothing about what is merged, rolled up or dropped (internal/warehouse/maintain does).
package table
