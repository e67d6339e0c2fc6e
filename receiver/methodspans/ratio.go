package methodspans

import (
	"encoding/binary"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// family is a method of ratio samplers to decide by the trace id alone: a trace is kept if the
// family's number for its id, between 0 and 1, is below the ratio.
type family uint8

const (
	// lowBits uses bytes 8 to 15: Go, Python, Ruby, Rust.
	lowBits family = iota
	// lowAbsolute uses the absolute value of the same bytes as a signed number: Java.
	lowAbsolute
	// highAbsolute uses the absolute value of bytes 0 to 7 as a signed number: .NET.
	highAbsolute
	// highLittleEndian uses bytes 0 to 7 in little-endian order: C++.
	highLittleEndian
	// folded uses the exclusive or of the four parts of 32 bits: JavaScript.
	folded
	// consistent uses 1 minus bytes 9 to 15: samplers with a rejection threshold, and PHP.
	consistent
	familyCount
)

// familyOf maps telemetry.sdk.language to the family of its sampler.
var familyOf = map[string]family{
	"go": lowBits, "python": lowBits, "ruby": lowBits, "rust": lowBits,
	"java": lowAbsolute, "dotnet": highAbsolute, "cpp": highLittleEndian,
	"nodejs": folded, "webjs": folded, "php": consistent,
}

// number returns the family's number for a trace id, between 0 and 1.
func (f family) number(id pcommon.TraceID) float64 {
	high, low := binary.BigEndian.Uint64(id[:8]), binary.BigEndian.Uint64(id[8:])
	switch f {
	case lowAbsolute:
		return absolute(low)
	case highAbsolute:
		return absolute(high)
	case highLittleEndian:
		return float64(binary.LittleEndian.Uint64(id[:8])) / (1 << 64)
	case folded:
		x := high ^ low
		return float64(uint32(x>>32)^uint32(x)) / (1<<32 - 1)
	case consistent:
		const all = 1<<56 - 1
		return float64(all-low&all) / (1 << 56)
	}
	return float64(low) / (1 << 64)
}

func absolute(bits uint64) float64 {
	x := float64(int64(bits)) //nolint:gosec // the samplers do the same
	return max(x, -x) / (1 << 63)
}
