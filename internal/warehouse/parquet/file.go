package parquet

import "time"

// File is one Parquet file of a snapshot.
type File struct {
	Path       string // includes the root, ready to open
	Date       string // partition, YYYY-MM-DD, UTC
	Kind       string
	Rows       int64
	MinStartNS int64
	MaxStartNS int64
	Bytes      int64
	GroupBytes int64 // see Summary
	Checksum   string
	Level      string // of all rows: raw, minute or hour
	NoIDs      bool   // trace and request ids were left out
	Committed  time.Time
	Schema     int    // schema version of the file
	Prefix     string // bucket prefix of the collector that owns the file
	Verified   bool   // it was compared with its checksum, see VerifiedFiles
}

// Summary describes the contents of a file, as recorded in a manifest.
type Summary struct {
	Rows       int64 `json:"rows"`
	MinStartNS int64 `json:"min_start_ns"`
	MaxStartNS int64 `json:"max_start_ns"`
	Bytes      int64 `json:"bytes"`
	// GroupBytes is the uncompressed size of the largest row group of counts plus that of the largest
	// other row group.
	GroupBytes int64  `json:"group_bytes"`
	Checksum   string `json:"checksum"`
}
