package parquet

import "github.com/klauspost/compress/zstd"

// newCompressor compresses as the library's codec does, but takes 1 MB of memory and
// not 8, which few columns of a row group are longer than, and keeps it.
func newCompressor() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true), zstd.WithZeroFrames(true), zstd.WithEncoderCRC(false))
	if err != nil { // of options that can't be
		panic(err)
	}
	return e
}
