package parquet

import "github.com/klauspost/compress/zstd"

// newCompressor compresses like the library's codec, but uses 1 MB of memory instead of 8 MB and keeps it. Few
// columns of a row group are longer than 1 MB.
func newCompressor() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true), zstd.WithZeroFrames(true), zstd.WithEncoderCRC(false))
	if err != nil { // of options that can't be
		panic(err)
	}
	return e
}
