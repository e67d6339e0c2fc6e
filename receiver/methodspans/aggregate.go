package methodspans

import (
	"math"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/corehour/corehour/internal/methodspan"
)

// slack is the relative error allowed between sums that were added up in
// different orders.
const slack = 1e-6

// side names the fields of one of the two measured quantities.
type side struct {
	sum, squares, max, bins, counts methodspan.Field
}

var (
	wallSide = side{methodspan.FieldWallSum, methodspan.FieldWallSquares, methodspan.FieldWallMax, methodspan.FieldWallBins, methodspan.FieldWallCounts}
	cpuSide  = side{methodspan.FieldCPUSum, methodspan.FieldCPUSquares, methodspan.FieldCPUMax, methodspan.FieldCPUBins, methodspan.FieldCPUCounts}
)

// aggregate validates the sums of many measured calls. Without the number of calls, the wall
// sum or the probability it drops the span. It removes invalid CPU sums, squares, maxima,
// histograms and errors one by one.
func (n *normalizer) aggregate(span ptrace.Span, p *requestPass) bool {
	r := &p.parsed
	measured := r.Whole(methodspan.FieldMeasured)
	if measured <= 0 {
		p.fault(measuredAbsent, dropped)
		return false
	}
	if !r.Good.Has(methodspan.FieldWallSum) || r.Whole(methodspan.FieldWallSum) < 0 {
		p.fault(sumInvalid, dropped)
		return false
	}
	if !p.repairInterval(span) {
		p.fault(timeInvalid, dropped)
		return false
	}
	p.possibleInterval(span)
	if !p.possibleSums(span, measured) {
		return false
	}
	if !p.aggregateProbability(span) {
		return false
	}
	attributes := span.Attributes()
	p.checkSide(attributes, wallSide, measured)
	n.aggregateCPU(attributes, measured, p)
	p.waits(span)
	errors := r.Number(methodspan.FieldErrors)
	if r.Seen.Has(methodspan.FieldErrors) && (!r.Good.Has(methodspan.FieldErrors) || errors < 0 || errors > float64(measured)*(1+slack)) {
		p.fault(errorsInvalid, corrected)
		p.remove(attributes, methodspan.FieldsOf(methodspan.FieldErrors))
	}
	p.stratum(span)
	return n.method(span, p)
}

// aggregateCPU removes the CPU sums if they are invalid.
func (n *normalizer) aggregateCPU(attributes pcommon.Map, measured int64, p *requestPass) {
	r := &p.parsed
	timed := r.Whole(methodspan.FieldCPUMeasured)
	reason := n.judgeCPU(measured, p)
	if reason == reasonCount {
		if timed > 0 {
			p.checkSide(attributes, cpuSide, timed)
			return
		}
		if zeros := r.Seen & cpuSums; zeros != 0 {
			p.remove(attributes, zeros)
		}
		if state := r.Text(methodspan.FieldCPUState); r.Seen.Has(methodspan.FieldCPUState) && (state == methodspan.CPUExact || !knownCPUState(state)) {
			p.fault(cpuStateMismatch, corrected)
			attributes.PutStr(methodspan.AttrCPUState, methodspan.CPUUnavailable)
		}
		return
	}
	p.fault(reason, corrected)
	p.remove(attributes, cpuSums|methodspan.FieldsOf(methodspan.FieldCPUP))
	attributes.PutStr(methodspan.AttrCPUState, methodspan.CPUUntrusted)
}

// judgeCPU returns why the CPU sums are invalid, reasonCount if they are valid.
func (n *normalizer) judgeCPU(measured int64, p *requestPass) faultReason {
	r := &p.parsed
	timed, sum := r.Whole(methodspan.FieldCPUMeasured), r.Whole(methodspan.FieldCPUSum)
	probability := r.Number(methodspan.FieldCPUP)
	switch {
	case r.Seen.Has(methodspan.FieldCPUMeasured) && !r.Good.Has(methodspan.FieldCPUMeasured), timed < 0, timed > measured:
		return cpuTimeInvalid
	case r.Seen.Has(methodspan.FieldCPUSum) && !r.Good.Has(methodspan.FieldCPUSum), sum < 0, sum > 0 && timed == 0:
		return cpuTimeInvalid
	case r.Seen.Has(methodspan.FieldCPUP) && !r.Good.Has(methodspan.FieldCPUP), probability < 0:
		return cpuPInvalid
	case timed == 0:
		return reasonCount
	case !r.Seen.Has(methodspan.FieldCPUSum):
		return cpuTimeInvalid
	case r.Seen.Has(methodspan.FieldCPUState) && r.Text(methodspan.FieldCPUState) != methodspan.CPUExact:
		return cpuStateMismatch
	case n.exceedsWall(sum, r.Whole(methodspan.FieldWallSum), timed):
		return cpuExceedsWall
	case probability == 0: // sums of sums can have one above 1
		return cpuPInvalid
	}
	return reasonCount
}

// checkSide removes values that contradict the sum x of n values. Their maximum m must be
// between x/n and x, and the sum of their squares between x^2/n (all equal) and x m.
func (p *requestPass) checkSide(attributes pcommon.Map, s side, n int64) {
	r := &p.parsed
	sum := float64(r.Whole(s.sum))
	largest := sum
	if r.Seen.Has(s.max) {
		maximum := r.Whole(s.max)
		if !r.Good.Has(s.max) || maximum < 0 || maximum > r.Whole(s.sum) || float64(maximum)*float64(n) < sum*(1-slack) {
			p.fault(maximumInvalid, corrected)
			p.remove(attributes, methodspan.FieldsOf(s.max))
		} else {
			largest = float64(maximum)
		}
	}
	if r.Seen.Has(s.squares) {
		squares := r.Number(s.squares)
		if !r.Good.Has(s.squares) || squares < sum*sum/float64(n)*(1-slack) || squares > sum*largest*(1+slack) {
			p.fault(squaresInvalid, corrected)
			p.remove(attributes, methodspan.FieldsOf(s.squares))
		}
	}
	if r.Seen.Has(s.bins) || r.Seen.Has(s.counts) {
		if !r.Good.Has(s.bins) || !r.Good.Has(s.counts) ||
			!validHistogram(r.List(s.bins), r.List(s.counts), n) {
			p.fault(histogramInvalid, corrected)
			p.remove(attributes, methodspan.FieldsOf(s.bins, s.counts))
		}
	}
}

// maxBins is the number of bins that exist; a histogram has each at most once.
var maxBins = int(methodspan.MaxBin) + 1

func validHistogram(bins, counts pcommon.Slice, n int64) bool {
	if bins.Len() != counts.Len() || bins.Len() > maxBins {
		return false
	}
	var total float64
	for i := range bins.Len() {
		bin, okBin := methodspan.IntOf(bins.At(i))
		count, okCount := methodspan.FloatOf(counts.At(i))
		if !okBin || !okCount || bin < 0 || bin > int64(methodspan.MaxBin) || !(count >= 0) {
			return false
		}
		total += count
	}
	return math.Abs(total-float64(n)) <= slack*float64(n)
}
