// Package table is the embedded warehouse: a directory of Parquet files with one partition per UTC day,
// and manifests that list the live files.
//
//	root/CURRENT                       names the current generation
//	root/LOCK                          held by the single writer of rows
//	root/LOCK.maintenance              held by the single Maintainer
//	root/LOCK.commit                   held by either of them during a commit
//	root/_manifest/<generation>.json   names one manifest per date
//	root/_manifest/date=2026-11-21-<generation>.json        lists the newest files of a date
//	root/_manifest/date=2026-11-21-<generation>-part.json   lists 256 older files of the date
//	root/_manifest/removed-<generation>.json                lists files to delete after the grace period
//	root/date=2026-11-21/raw-<sequence>.parquet             rows as the writer wrote them
//	root/date=2026-11-21/merge-<generation>-<id>.parquet    rows of several raw files
//	root/date=2026-11-21/roll-<generation>-<id>.parquet     rollup that replaced rows
//	root/date=2026-11-21/beside-<generation>-<id>.sums      pre-aggregated rollup, in addition to the rows
//
// Invariant: a file is live if and only if the generation named by CURRENT lists it. A commit first
// writes and syncs all files and manifests, then replaces CURRENT by one rename. A reader that reads
// CURRENT once therefore sees each commit completely or not at all. A committed item is never written
// again.
//
// Manifests are immutable: a commit writes new manifests for the dates it changes. The writer adds
// files. A Maintainer replaces several files of a date by one, or drops dates, in one commit each.
// Replaced and dropped files stay on disk for the grace period, for readers that still use them.
//
// The manifest of a date can also name a pre-aggregated rollup of some of its files. Readers can read
// the rollup instead of these files, never in addition to them. It holds no rows of its own, and is
// removed as soon as one of its source files is removed.
//
// The package does not encode or decode the files (see internal/warehouse/parquet), runs no queries, and
// does not decide what is merged, rolled up or dropped (see internal/warehouse/maintain).
package table
