package methodspan

import (
	"math"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// attributes collects what of a span can only be understood once all is read. It
// is used again for the next span.
type attributes struct {
	row   *Row
	names *nameReader

	function  string
	cpu       int64
	hasCPU    bool
	hasCalls  bool
	synthetic bool
	bad       bool
	histograms
}

// histograms are what only aggregates have.
type histograms struct{ wallBins, wallCounts, cpuBins, cpuCounts pcommon.Slice }

func (a *attributes) begin(r *Row) {
	a.row, a.function, a.cpu = r, "", 0
	a.hasCPU, a.hasCalls, a.synthetic, a.bad = false, false, false, false
	if a.histograms != (histograms{}) {
		a.histograms = histograms{}
	}
}

func (a *attributes) read(name string, v pcommon.Value) bool {
	r := a.row
	switch name {
	case AttrKind:
		r.Kind = spelled(v.Str())
	case AttrFunction:
		a.function = v.Str()
	case AttrSignature:
		r.Signature = v.Str()
	case AttrCPUTime:
		a.cpu, a.hasCPU = IntOf(v)
		a.bad = a.bad || !a.hasCPU
	case AttrCPUState:
		r.CPUState = spelled(v.Str())
	case AttrP:
		a.float(&r.P, v)
	case AttrCPUP:
		a.float(&r.CPUP, v)
	case AttrStratum:
		r.Stratum = spelled(v.Str())
	case AttrCaller:
		r.Caller = a.names.caller(v.Str())
	case AttrStack:
		r.Stack = v.Str()
	case AttrRequest:
		r.RequestID = v.Str()
	case AttrGroup:
		r.Group = a.names.group(v.Str())
	case AttrIDs:
		a.synthetic = v.Str() == IDsSynthetic
	case AttrActivated:
		r.Activated = v.Type() == pcommon.ValueTypeBool && v.Bool()
	case AttrWeightBasis:
		r.WeightBasis = spelled(v.Str())
	case AttrTier:
		r.Tier = v.Str()
	case AttrReason:
		r.Reason = v.Str()
	case AttrConfiguredRate:
		a.float(&r.ConfiguredRate, v)
	case AttrEffectiveRate:
		a.float(&r.EffectiveRate, v)
	case AttrPrice:
		r.USDPerCoreHour = priceOf(v)
	case AttrPriceSource:
		r.PriceSource = v.Str()
	case AttrCalls:
		a.float(&r.Calls, v)
		a.hasCalls = true
	default:
		a.readRare(name, v)
	}
	return true
}

// readRare reads what only aggregates and process spans have.
func (a *attributes) readRare(name string, v pcommon.Value) {
	r := a.row
	switch name {
	case AttrMeasured:
		a.int(&r.Measured, v)
	case AttrCPUMeasured:
		a.int(&r.CPUMeasured, v)
	case AttrCPUWaits:
		a.float(&r.CPUWaits, v)
	case AttrErrors:
		a.float(&r.Errors, v)
	case AttrWallSum:
		a.int(&r.WallNS, v)
	case AttrWallSquares:
		a.float(&r.WallSq, v)
	case AttrWallMax:
		a.int(&r.WallMaxNS, v)
	case AttrWallBins:
		a.wallBins = a.slice(v)
	case AttrWallCounts:
		a.wallCounts = a.slice(v)
	case AttrCPUSum:
		a.int(&r.CPUNS, v)
	case AttrCPUSquares:
		a.float(&r.CPUSq, v)
	case AttrCPUMax:
		a.int(&r.CPUMaxNS, v)
	case AttrCPUBins:
		a.cpuBins = a.slice(v)
	case AttrCPUCounts:
		a.cpuCounts = a.slice(v)
	case AttrProcessCores:
		a.float(&a.process().Cores, v)
	case AttrProcessLimit:
		a.float(&a.process().CPULimit, v)
	case AttrHostCores:
		a.float(&a.process().HostCores, v)
	case AttrProcessRSS:
		a.int(&a.process().RSSBytes, v)
	case AttrProcessFinal:
		a.process().Final = v.Type() == pcommon.ValueTypeBool && v.Bool()
	default:
		if stat, ok := strings.CutPrefix(name, AttrSDKPrefix); ok {
			p := a.process()
			if value, ok := FloatOf(v); ok && len(p.Stats) < maxStats {
				p.Stats = append(p.Stats, Stat{stat, value})
			}
		}
	}
}

func (a *attributes) process() *ProcessStats {
	if a.row.Process == nil {
		a.row.Process = &ProcessStats{}
	}
	return a.row.Process
}

func (a *attributes) float(to *float64, v pcommon.Value) {
	x, ok := FloatOf(v)
	if !ok || math.IsNaN(x) || math.IsInf(x, 0) {
		a.bad = true
		return
	}
	*to = x
}

func (a *attributes) int(to *int64, v pcommon.Value) {
	x, ok := IntOf(v)
	if !ok {
		a.bad = true
		return
	}
	*to = x
}

func (a *attributes) slice(v pcommon.Value) pcommon.Slice {
	if v.Type() != pcommon.ValueTypeSlice {
		a.bad = true
		return pcommon.Slice{}
	}
	return v.Slice()
}
