package cost

import (
	"context"

	"github.com/corehour/corehour/regression/query"
	"github.com/corehour/corehour/regression/stats"
)

// tailDays is the number of days up to the end of the window whose calls determine the skewness. They can
// start before the window.
const tailDays = 7

// tail holds the moments of a method's CPU times below (rest) and above the tail threshold.
type tail struct{ rest, above query.Tail }

// readTails reads the tails of all methods.
func readTails(ctx context.Context, w *query.Warehouse, o Options, window query.Window) (map[query.MethodName]*tail, error) {
	all, err := w.Tails(ctx, window, o.Filter)
	if err != nil {
		return nil, err
	}
	out := map[query.MethodName]*tail{}
	for _, t := range all {
		if out[t.MethodName] == nil {
			out[t.MethodName] = &tail{}
		}
		if t.Above {
			out[t.MethodName].above = t
		} else {
			out[t.MethodName].rest = t
		}
	}
	return out, nil
}

// sample returns the randomly sampled part of a method's total: all of its measured calls, or those below the
// threshold if the CPU of all calls above it was timed. calls and records are those of the window. cpu is
// false where the tail was timed without its CPU.
func (t *tail) sample(calls, records float64) (s stats.Sample, cpu bool) {
	s = stats.Sample{Calls: calls, Records: records}
	if t == nil {
		return s, true
	}
	s.Powers, s.Octaves = t.rest.Powers, stats.Octaves{}
	s.Octaves.Add(t.rest.Octaves)
	if t.above.Measured > 0 && t.above.CPUMeasured == t.above.Measured {
		whole := t.rest.Powers
		whole.Add(t.above.Powers)
		s.Calls *= t.rest.Powers.N / whole.N
		s.Records *= float64(t.rest.CPUMeasured) / float64(t.rest.CPUMeasured+t.above.CPUMeasured)
		return s, true
	}
	s.Powers.Add(t.above.Powers)
	s.Octaves.Add(t.above.Octaves)
	return s, t.above.Measured == 0
}

// tailOf returns the tail of a line's total, and the warning that replaces its interval, or "" if it has one.
func (b *builder) tailOf(s *lineSums) (stats.Tail, stats.Warning) {
	samples := make([]stats.Sample, 0, len(s.sampled))
	open, untimed := stats.LowerBound, false
	for name, m := range s.sampled {
		sample, cpu := b.tails[name].sample(m.calls, m.records)
		if samples = append(samples, sample); !cpu {
			open = stats.LowerBoundCPU
		}
		untimed = untimed || m.untimed > mostUntimed*(m.calls+m.untimed)
	}
	switch tail := stats.TailOf(samples...); {
	case len(samples) == 0 || tail.Few || untimed:
		return tail, stats.FewRecords
	case tail.Open:
		return tail, open
	default:
		return tail, ""
	}
}

// mostUntimed is the largest part of a method's calls, counted on dates without a call timed at random, that an
// interval can leave out.
const mostUntimed = 0.1
