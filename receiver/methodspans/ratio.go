package methodspans

import (
	"encoding/binary"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// family is a way in which ratio samplers decide by the trace id alone: a trace is kept
// where the number that the family makes of its id, between 0 and 1, is below the ratio.
type family uint8

const (
	// lowBits is of Go, Python, Ruby and Rust: bytes 8 to 15.
	lowBits family = iota
	// lowAbsolute is of Java: the same as a signed number, without its sign.
	lowAbsolute
	// highAbsolute is of .NET: bytes 0 to 7, likewise.
	highAbsolute
	// highLittleEndian is of C++: bytes 0 to 7 as they lie in memory.
	highLittleEndian
	// folded is of JavaScript: the four parts of 32 bits, combined by exclusive or.
	folded
	// consistent is of samplers with a rejection threshold, and of PHP: bytes 9 to 15, from above.
	consistent
	familyCount
)

// familyOf is by telemetry.sdk.language.
var familyOf = map[string]family{
	"go": lowBits, "python": lowBits, "ruby": lowBits, "rust": lowBits,
	"java": lowAbsolute, "dotnet": highAbsolute, "cpp": highLittleEndian,
	"nodejs": folded, "webjs": folded, "php": consistent,
}

// number returns what the family makes of a trace id.
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
	x := float64(int64(bits)) //nolint:gosec // the samplers read them as signed, too
	return max(x, -x) / (1 << 63)
}
