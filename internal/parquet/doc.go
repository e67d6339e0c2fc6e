// Package parquet is the embedded warehouse: a directory of Parquet files, one
// partition per UTC day, and a manifest that says which of them count.
//
//	root/CURRENT                       names the generation that counts
//	root/LOCK                          held by the one writer
//	root/_manifest/<generation>.json   names one manifest per date
//	root/_manifest/date=2026-11-21-<generation>.json        its newest files, and
//	root/_manifest/date=2026-11-21-<generation>-part.json   256 older ones each
//	root/date=2026-11-21/raw-<sequence>.parquet
//
// Its invariant: a file counts if and only if the generation that CURRENT names
// lists it. CURRENT is replaced by one rename after everything it leads to is on
// disk, so a reader that resolves it once sees every commit wholly or not at
// all, and an item that was committed is never written again.
//
// A manifest is never changed: a commit writes new ones for the dates it touches.
//
// It does not run queries and does not compact; it writes rows and lists files.
package parquet
