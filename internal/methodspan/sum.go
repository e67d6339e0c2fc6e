package methodspan

import (
	"math"
	"slices"
	"strings"
)

// Sum adds rows of one cell. Every estimate made from the rows equals the estimate made
// from their sum. With weights 1/p and 1/q (q = p x cpu_p):
//
//	p*    = measured / sum(measured_i / p_i)      wall* = p* x sum(wall_i / p_i)
//	q*    = cpu_measured / sum(cpu_measured_i/q_i) cpu*  = q* x sum(cpu_i / q_i)
//	cpu_p* = q* / p* (may exceed 1)
//
// A row of estimated counts has the p at which its calls have the variance calls x (1-p) / p. Variances
// are added like calls.
//
// Squares, errors, waits and histograms are added in the same way, calls by plain sum, maxima
// by max. Sum adds in float64 and rounds once, in Row. Rows must have one stratum and one
// cell, whose columns the caller chooses: the sum keeps the other columns of the first row.
// Rows must be bounded (Bound), and the sum is. Probabilities that stand for weights can be
// negative; all probabilities of one sum must have the same sign.
//
// The zero value is an empty sum.
type Sum struct {
	first      Row
	any        bool // a row was added
	start, end int64

	calls    float64
	variance float64 // of calls, from rows of estimated counts
	wall     measuredSums
	cpu      measuredSums
	errors   float64 // sum of errors / p
	waits    float64 // sum of waits / q
	samePCPU bool    // all rows with CPU have the CPUP of the first of them
	cpuP     float64
	coreNS   float64 // cores x time of process rows, never below their CPU time
	coreless bool    // a process row with CPU has no cores

	hostCores float64 // maximum of the process rows
	limitNS   float64 // limit x time of process rows, never below their CPU time
	unlimited bool    // a process row with CPU has no limit

	probes    []Stat  // costs of probes, from the last process row that has any
	probesEnd int64   // end of that row
	ownNS     float64 // CPU time of the SDK itself, from process rows
	ownless   bool    // a process row with CPU has no such value
}

// measuredSums holds wall or CPU time, weighted by 1/probability.
type measuredSums struct {
	n       int64   // measured
	weighed float64 // sum of n / prob
	sum     float64 // sum of x / prob
	squares float64
	max     int64
	hist    Histogram
	prob    float64 // probability of the first row, and of all rows while same is true
	same    bool
}

func (s *measuredSums) addMeasured(n, x int64, squares float64, max int64, hist Histogram, prob float64) {
	if n <= 0 || prob == 0 {
		return
	}
	if s.n == 0 {
		s.prob, s.same = prob, true
	} else if s.prob != prob {
		s.same = false
	}
	w := 1 / prob
	s.n = min(s.n+n, MostMeasured) // each n is bounded
	s.weighed += float64(n) * w
	s.sum += float64(x) * w
	if n == 1 && squares == 0 {
		squares = float64(x) * float64(x)
	}
	s.squares += squares * w
	if n == 1 && max == 0 {
		max = x
	}
	if max > s.max {
		s.max = max
	}
	if n == 1 && len(hist) == 0 {
		s.hist.addToBin(BinOf(float64(x)), w)
		return
	}
	for _, b := range hist {
		s.hist.addToBin(b.Bin, b.N*w)
	}
}

// probability returns the probability of the sum that keeps the estimates.
func (s *measuredSums) probability() float64 {
	if s.n == 0 {
		return 0
	}
	if s.same {
		return s.prob // n / (n / p) can differ from p in the last bit
	}
	return float64(s.n) / s.weighed
}

func (s *measuredSums) histogram(scale float64) Histogram {
	if s.n <= 1 {
		return nil
	}
	h := make(Histogram, len(s.hist))
	for i, b := range s.hist {
		h[i] = Bin{b.Bin, b.N * scale}
	}
	return h
}

// Add adds a row.
func (s *Sum) Add(r *Row) {
	if !s.any {
		s.any, s.first = true, *r
		s.start, s.end = r.StartNS, r.EndNS
	}
	s.first.Activated = s.first.Activated && r.Activated
	s.start, s.end = min(s.start, r.StartNS), max(s.end, r.EndNS)
	s.calls += r.Calls
	if r.Kind == KindCounts && r.Measured == 0 && ValidProbability(r.P) {
		s.variance += r.Calls * (1 - r.P) / r.P
	}
	if r.Process != nil {
		s.addProbes(r)
	}
	s.wall.addMeasured(r.Measured, r.WallNS, r.WallSq, r.WallMaxNS, r.WallHist, r.P)
	if r.Measured > 0 && r.P != 0 {
		s.errors += r.Errors / r.P
	}
	if r.CPUMeasured > 0 {
		if s.cpu.n == 0 {
			s.cpuP, s.samePCPU = r.CPUP, true
		} else if s.cpuP != r.CPUP {
			s.samePCPU = false
		}
		s.cpu.addMeasured(r.CPUMeasured, r.CPUNS, r.CPUSq, r.CPUMaxNS, r.CPUHist, r.Q())
		if r.CPUWaits > 0 && r.Q() != 0 {
			s.waits += r.CPUWaits / r.Q()
		}
		if r.HasCores() {
			s.coreNS += max(float64(r.CPUNS), r.Process.Cores*float64(r.EndNS-r.StartNS))
		} else {
			s.coreless = true
		}
		s.addHost(r)
		s.addOwn(r)
	}
}

const (
	probePrefix = "probe."
	ownCPU      = "own.cpu_ns"
)

// addProbes keeps the costs of probes of a process row, unless a later row has some.
func (s *Sum) addProbes(r *Row) {
	if r.EndNS < s.probesEnd {
		return
	}
	isProbe := func(stat Stat) bool { return strings.HasPrefix(stat.Name, probePrefix) }
	if !slices.ContainsFunc(r.Process.Stats, isProbe) {
		return
	}
	s.probes, s.probesEnd = s.probes[:0], r.EndNS
	for _, stat := range r.Process.Stats {
		if isProbe(stat) {
			s.probes = append(s.probes, stat)
		}
	}
}

// addOwn adds the CPU time of the SDK itself, at most the CPU time of the row.
func (s *Sum) addOwn(r *Row) {
	if r.Process != nil {
		for _, stat := range r.Process.Stats {
			if stat.Name == ownCPU && !math.IsNaN(stat.Value) { // the value comes from the sender
				s.ownNS += min(max(0, stat.Value), float64(r.CPUNS))
				return
			}
		}
	}
	s.ownless = true
}

// addHost adds the host's cores and the CPU limit of a process row.
func (s *Sum) addHost(r *Row) {
	if r.Process == nil {
		s.unlimited = true
		return
	}
	s.hostCores = max(s.hostCores, r.Process.HostCores)
	if r.Process.CPULimit > 0 {
		s.limitNS += max(float64(r.CPUNS), r.Process.CPULimit*float64(r.EndNS-r.StartNS))
	} else {
		s.unlimited = true
	}
}

// process returns the process columns of the sum, nil if all are empty.
func (s *Sum) process() *ProcessStats {
	if s.first.Kind != KindProcess || s.end <= s.start {
		return nil
	}
	lasted := float64(s.end - s.start)
	p := &ProcessStats{HostCores: s.hostCores, Summed: true}
	if !s.coreless {
		p.Cores = min(s.coreNS/lasted, MostTime)
	}
	if !s.unlimited {
		p.CPULimit = min(s.limitNS/lasted, MostTime)
	}
	p.Stats = s.probes
	if s.cpu.n > 0 && !s.ownless {
		p.Stats = append(p.Stats, Stat{Name: ownCPU, Value: min(s.ownNS, MostTime)})
	}
	if p.Cores+p.HostCores+p.CPULimit == 0 && len(p.Stats) == 0 {
		return nil
	}
	return p
}

// HasCores reports whether the row is a process row with CPU time and a number of cores.
func (r *Row) HasCores() bool {
	return r.Kind == KindProcess && r.CPUMeasured > 0 && r.Process != nil && r.Process.Cores > 0
}

// Start returns the earliest start of the rows.
func (s *Sum) Start() int64 { return s.start }

// Row returns the sum. It drops the columns of single records: ids and the position in a
// batch. The kind call becomes aggregate. Process columns are kept as follows: cores and
// limits if all rows have them, so that cores x time is the same; the maximum of the host's
// cores; the CPU time of the SDK if all rows have it; and the probe costs of the last row.
func (s *Sum) Row() Row {
	r := s.first
	r.StartNS, r.EndNS = s.start, s.end
	r.TraceID, r.SpanID, r.ParentSpanID = [16]byte{}, [8]byte{}, [8]byte{}
	r.RequestID, r.BatchID, r.RowSeq, r.Process = "", "", 0, nil
	if r.Kind == KindCall {
		r.Kind = KindAggregate
	}
	r.Calls = s.calls

	p := s.wall.probability()
	r.Measured = s.wall.n
	r.P = p
	r.WallNS = round(s.wall.sum * p)
	r.WallSq, r.WallMaxNS, r.WallHist = 0, s.wall.max, s.wall.histogram(p)
	if r.Measured > 1 {
		r.WallSq = s.wall.squares * p
	}
	r.Errors = s.errors * p
	if s.variance > 0 && s.wall.n == 0 {
		r.P = s.calls / (s.calls + s.variance)
	}

	q := s.cpu.probability()
	r.CPUMeasured = s.cpu.n
	r.CPUNS = round(s.cpu.sum * q)
	r.CPUSq, r.CPUMaxNS, r.CPUHist = 0, s.cpu.max, s.cpu.histogram(q)
	r.CPUWaits = s.waits * q
	if r.CPUMeasured > 1 {
		r.CPUSq = s.cpu.squares * q
	}
	switch {
	case r.CPUMeasured == 0 || p == 0:
		r.CPUP = 0
	case s.samePCPU && s.wall.same && s.cpu.same:
		r.CPUP = s.cpuP
	default:
		r.CPUP = q / p
	}
	if r.CPUMeasured > 0 {
		r.CPUState = CPUExact
	}
	r.Process = s.process()
	r.Calls, r.Errors, r.CPUWaits = min(r.Calls, MostTime), min(r.Errors, MostTime), min(r.CPUWaits, MostTime)
	r.WallSq, r.CPUSq = min(r.WallSq, MostSquares), min(r.CPUSq, MostSquares)
	return r
}

func round(x float64) int64 {
	return int64(math.Round(min(x, MostTime)))
}
