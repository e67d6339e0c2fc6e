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
	sum, squares, max, bins, counts field
}

var (
	wallSide = side{fieldWallSum, fieldWallSquares, fieldWallMax, fieldWallBins, fieldWallCounts}
	cpuSide  = side{fieldCPUSum, fieldCPUSquares, fieldCPUMax, fieldCPUBins, fieldCPUCounts}
)

// aggregate validates the sums of many measured calls. Without its number, its
// wall sum or its weight nothing of it is usable. CPU sums, squares, maxima,
// histograms and errors go each on their own.
func (n *normalizer) aggregate(span ptrace.Span, p *requestPass) bool {
	r := &p.parsed
	measured := r.wholeOf(fieldMeasured)
	if measured <= 0 {
		p.fault(measuredAbsent, dropped)
		return false
	}
	if !r.good.has(fieldWallSum) || r.wholeOf(fieldWallSum) < 0 {
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
	errors := r.numberOf(fieldErrors)
	if r.seen.has(fieldErrors) && (!r.good.has(fieldErrors) || errors < 0 || errors > float64(measured)*(1+slack)) {
		p.fault(errorsInvalid, corrected)
		p.remove(attributes, setOf(fieldErrors))
	}
	p.stratum(span)
	return n.method(span, p)
}

// aggregateCPU makes the CPU sums true or absent.
func (n *normalizer) aggregateCPU(attributes pcommon.Map, measured int64, p *requestPass) {
	r := &p.parsed
	timed := r.wholeOf(fieldCPUMeasured)
	reason := n.judgeCPU(measured, p)
	if reason == reasonCount {
		if timed > 0 {
			p.checkSide(attributes, cpuSide, timed)
			return
		}
		if zeros := r.seen & cpuSums; zeros != 0 {
			p.remove(attributes, zeros)
		}
		if state := r.textOf(fieldCPUState); r.seen.has(fieldCPUState) && (state == methodspan.CPUExact || !knownCPUState(state)) {
			p.fault(cpuStateMismatch, corrected)
			attributes.PutStr(methodspan.AttrCPUState, methodspan.CPUUnavailable)
		}
		return
	}
	p.fault(reason, corrected)
	p.remove(attributes, cpuSums|setOf(fieldCPUP))
	attributes.PutStr(methodspan.AttrCPUState, methodspan.CPUUntrusted)
}

// judgeCPU finds what makes the CPU sums unusable; reasonCount if nothing does.
func (n *normalizer) judgeCPU(measured int64, p *requestPass) faultReason {
	r := &p.parsed
	timed, sum := r.wholeOf(fieldCPUMeasured), r.wholeOf(fieldCPUSum)
	probability := r.numberOf(fieldCPUP)
	switch {
	case r.seen.has(fieldCPUMeasured) && !r.good.has(fieldCPUMeasured), timed < 0, timed > measured:
		return cpuTimeInvalid
	case r.seen.has(fieldCPUSum) && !r.good.has(fieldCPUSum), sum < 0, sum > 0 && timed == 0:
		return cpuTimeInvalid
	case r.seen.has(fieldCPUP) && !r.good.has(fieldCPUP), probability < 0:
		return cpuPInvalid
	case timed == 0:
		return reasonCount
	case !r.seen.has(fieldCPUSum):
		return cpuTimeInvalid
	case r.seen.has(fieldCPUState) && r.textOf(fieldCPUState) != methodspan.CPUExact:
		return cpuStateMismatch
	case n.exceedsWall(sum, r.wholeOf(fieldWallSum), timed):
		return cpuExceedsWall
	case probability == 0: // above 1 it may be, on sums of sums
		return cpuPInvalid
	}
	return reasonCount
}

// checkSide removes what contradicts the sum x of n values. Of values with
// sum x and maximum m it is certain that x/n <= m <= x and that their squares
// add up to between x^2/n (all equal) and x m.
func (p *requestPass) checkSide(attributes pcommon.Map, s side, n int64) {
	r := &p.parsed
	sum := float64(r.wholeOf(s.sum))
	largest := sum
	if r.seen.has(s.max) {
		maximum := r.wholeOf(s.max)
		if !r.good.has(s.max) || maximum < 0 || maximum > r.wholeOf(s.sum) || float64(maximum)*float64(n) < sum*(1-slack) {
			p.fault(maximumInvalid, corrected)
			p.remove(attributes, setOf(s.max))
		} else {
			largest = float64(maximum)
		}
	}
	if r.seen.has(s.squares) {
		squares := r.numberOf(s.squares)
		if !r.good.has(s.squares) || squares < sum*sum/float64(n)*(1-slack) || squares > sum*largest*(1+slack) {
			p.fault(squaresInvalid, corrected)
			p.remove(attributes, setOf(s.squares))
		}
	}
	if r.seen.has(s.bins) || r.seen.has(s.counts) {
		if !r.good.has(s.bins) || !r.good.has(s.counts) ||
			!validHistogram(r.list[s.bins-firstList], r.list[s.counts-firstList], n) {
			p.fault(histogramInvalid, corrected)
			p.remove(attributes, setOf(s.bins, s.counts))
		}
	}
}

// maxBins is how many bins there can be; a histogram names each once at most.
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
