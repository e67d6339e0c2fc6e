//go:build !linux

package parquet

import "io/fs"

// identity returns nothing: the place of a file's identity differs by system.
func identity(fs.FileInfo) string { return "" }
