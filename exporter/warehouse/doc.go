// Package warehouse is the exporter warehouse: it turns method spans into rows
// and writes them to the warehouse in batches, from a bounded queue that never
// blocks the pipeline.
//
// The path of a request: ConsumeTraces converts it to items with ids and drops
// the items that are in flight already (itemTable.admit). The helper's queue
// takes the rest. The writer (writer.deliver) writes one batch at a time to the
// sink: Parquet files, or a table of BigQuery. What the queue refuses, and what
// can't be written, is aggregated in the overflow table (overflowTable.addItems),
// whose cells are written with a later batch.
//
// The life of an item, in itemTable:
//
//	          admit            accept         startWriting           stored
//	(none) ─────────▶ offered ────────▶ queued ───────────▶ atWriter ────────▶ gone
//	                   │   │                                 │    │              ▲
//	          release  │   │ aggregateRefused       retries  │    │ giveUp       │
//	                   ▼   ▼                        used up  │    ▼              │
//	                 gone  aggregated ◀──────────────────────┘   gone, and may   │
//	                           │                                 be stored       │
//	                           └──────────── its aggregate is stored ────────────┘
//
// A second copy of an item is a duplicate in every state but gone. What a stored queue has
// of an earlier run begins at the writer. While an attempt's outcome is unknown the item
// is unsettled: it is written again, with the same id, and never aggregated.
//
// Its invariant: every accepted row is stored, or aggregated into a row that is
// stored, or counted by name as a loss. Counted calls are stored exactly. The
// measurements of a cell are aggregated so that every estimate made from them
// stays the same. A write of unknown outcome is retried with the same ids and
// never aggregated, so nothing is stored twice.
//
// It does not sample, price or query; it stores what the pipeline decided.
package warehouse

//go:generate go tool -modfile=../../internal/tools/go.mod mdatagen metadata.yaml
