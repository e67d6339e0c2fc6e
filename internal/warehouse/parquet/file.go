package parquet

import "time"

// File is one Parquet file of a snapshot.
type File struct {
	Path       string // with the root in front, ready to open
	Date       string // partition, YYYY-MM-DD, UTC
	Kind       string
	Rows       int64
	MinStartNS int64
	MaxStartNS int64
	Bytes      int64
	GroupBytes int64 // see Summary
	Checksum   string
	Level      string // of all its rows: raw, minute or hour
	NoIDs      bool   // ids of traces and requests were left out
	Committed  time.Time
	Schema     int    // version of the schema that it was written with
	Prefix     string // of the collector whose it is, in a bucket
	Verified   bool   // it was compared with its checksum, see VerifiedFiles
}

// Summary is what a manifest says of what a file holds.
type Summary struct {
	Rows       int64 `json:"rows"`
	MinStartNS int64 `json:"min_start_ns"`
	MaxStartNS int64 `json:"max_start_ns"`
	Bytes      int64 `json:"bytes"`
	// GroupBytes is the size before compression of the largest row group of counts plus that
	// of the largest other row group.
	GroupBytes int64  `json:"group_bytes"`
	Checksum   string `json:"checksum"`
}
