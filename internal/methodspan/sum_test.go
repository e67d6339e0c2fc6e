package methodspan

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// randomRow returns a row of one cell with probabilities as after several sampling stages.
func randomRow(r *rand.Rand) Row {
	row := Row{Kind: KindCall, Level: LevelRaw, Class: "c", Method: "m", P: math.Pow(10, -3*r.Float64()), CPUP: math.Pow(2, -3*r.Float64())}
	row.StartNS = 1e18 + r.Int64N(6e10)
	row.Measured = 1
	row.WallNS = int64(1e9 * math.Exp(2*r.NormFloat64()))
	row.EndNS = row.StartNS + row.WallNS
	row.WallMaxNS = row.WallNS
	if r.IntN(10) == 0 {
		row.Errors = 1
	}
	if r.IntN(3) > 0 {
		row.CPUMeasured = 1
		row.CPUNS = row.WallNS / 2
		row.CPUMaxNS = row.CPUNS
		row.CPUWaits = float64(r.IntN(4))
	}
	switch r.IntN(6) {
	case 0: // a counts row
		row = Row{Kind: KindCounts, Class: "c", Method: "m", StartNS: row.StartNS, EndNS: row.EndNS, Calls: float64(r.IntN(100000))}
	case 1: // an aggregate
		var s Sum
		for range 2 + r.IntN(5) {
			part := randomRow(r)
			part.P, part.CPUP = row.P, row.CPUP
			s.Add(&part)
		}
		row = s.Row()
	}
	return row
}

// estimates returns the weighted sums that addition must conserve.
type estimates struct{ calls, n, wall, wallSq, errors, nCPU, cpu, cpuSq, wallBins, cpuBins, waits float64 }

func estimatesOf(rows ...Row) estimates {
	var e estimates
	for _, r := range rows {
		e.calls += r.Calls
		if r.Measured > 0 {
			e.n += float64(r.Measured) / r.P
			e.wall += float64(r.WallNS) / r.P
			e.errors += r.Errors / r.P
			if r.Measured == 1 {
				e.wallSq += float64(r.WallNS) * float64(r.WallNS) / r.P
				e.wallBins += 1 / r.P
			} else {
				e.wallSq += r.WallSq / r.P
				e.wallBins += r.WallHist.Total() / r.P
			}
		}
		if r.CPUMeasured > 0 {
			q := r.Q()
			e.nCPU += float64(r.CPUMeasured) / q
			e.cpu += float64(r.CPUNS) / q
			e.waits += r.CPUWaits / q
			if r.CPUMeasured == 1 {
				e.cpuSq += float64(r.CPUNS) * float64(r.CPUNS) / q
				e.cpuBins += 1 / q
			} else {
				e.cpuSq += r.CPUSq / q
				e.cpuBins += r.CPUHist.Total() / q
			}
		}
	}
	return e
}

func sumOf(rows ...Row) Row {
	var s Sum
	for i := range rows {
		s.Add(&rows[i])
	}
	return s.Row()
}

func sameEstimates(t *testing.T, what string, got, want estimates) {
	t.Helper()
	g := [...]float64{got.calls, got.n, got.wall, got.wallSq, got.errors, got.nCPU, got.cpu, got.cpuSq, got.wallBins, got.cpuBins, got.waits}
	w := [...]float64{want.calls, want.n, want.wall, want.wallSq, want.errors, want.nCPU, want.cpu, want.cpuSq, want.wallBins, want.cpuBins, want.waits}
	for i := range g {
		// Times are rounded to whole ns once per sum; these are seconds.
		if math.Abs(g[i]-w[i]) > 1e-6*math.Abs(w[i])+1e-9 {
			t.Errorf("%s: estimate %d is %v, want %v", what, i, g[i], w[i])
		}
	}
}

func TestSum_ConservesEstimates(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		rows := make([]Row, 1+r.IntN(40))
		for i := range rows {
			rows[i] = randomRow(r)
		}
		sum := sumOf(rows...)
		sameEstimates(t, "sum", estimatesOf(sum), estimatesOf(rows...))

		// Associative up to rounding: any way of bracketing gives the same.
		cut := r.IntN(len(rows) + 1)
		a, b := sumOf(rows[:cut]...), sumOf(rows[cut:]...)
		sameEstimates(t, "brackets", estimatesOf(sumOf(a, b)), estimatesOf(rows...))
		if t.Failed() {
			t.Fatalf("rows: %d, cut %d", len(rows), cut)
		}
	}
}

func TestSum_EqualProbabilities(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		p, cpuP := r.Float64(), r.Float64()
		var s Sum
		var wall, cpu, n, nCPU int64
		for range 1 + r.IntN(100) {
			row := Row{Kind: KindCall, Measured: 1, WallNS: r.Int64N(1e9), P: p, CPUP: cpuP}
			if r.IntN(2) == 0 {
				row.CPUMeasured, row.CPUNS = 1, r.Int64N(1e9)
			}
			n, nCPU, wall, cpu = n+1, nCPU+row.CPUMeasured, wall+row.WallNS, cpu+row.CPUNS
			s.Add(&row)
		}
		got := s.Row()
		if got.P != p || (nCPU > 0 && got.CPUP != cpuP) {
			t.Fatalf("probabilities %v %v became %v %v", p, cpuP, got.P, got.CPUP)
		}
		if got.Measured != n || got.CPUMeasured != nCPU || got.WallNS != wall || got.CPUNS != cpu {
			t.Fatalf("sums of equal probabilities are not plain sums: %+v", got)
		}
	}
}

func TestSum_SingleRow(t *testing.T) {
	row := Row{Kind: KindCall, Class: "c", Method: "m", Caller: "x", StartNS: 1, EndNS: 8, Measured: 1, WallNS: 7, WallMaxNS: 7,
		CPUMeasured: 1, CPUNS: 5, CPUMaxNS: 5, P: 0.3, CPUP: 0.7, CPUState: CPUExact, Errors: 1}
	got := sumOf(row)
	if got.Kind != KindAggregate || got.WallNS != 7 || got.CPUNS != 5 || got.P != 0.3 || got.CPUP != 0.7 ||
		got.Caller != "x" || got.StartNS != 1 || got.EndNS != 8 || got.WallMaxNS != 7 || got.WallHist != nil || got.WallSq != 0 {
		t.Errorf("got %+v", got)
	}
	if math.Abs(got.Errors-1) > 1e-12 {
		t.Errorf("errors %v", got.Errors)
	}
}

// Variances of estimated counts add up, also in a sum of sums. Exact counts have none and no p.
func TestSum_EstimatedCounts(t *testing.T) {
	variance := func(r Row) float64 { return r.Calls * (1 - r.P) / r.P }
	exact, half, tenth := Row{Kind: KindCounts, Calls: 100}, Row{Kind: KindCounts, Calls: 40, P: 0.5}, Row{Kind: KindCounts, Calls: 30, P: 0.1}
	var all, some, none Sum
	none.Add(&exact)
	none.Add(&exact)
	if r := none.Row(); r.Calls != 200 || r.P != 0 {
		t.Errorf("%v calls, p = %v", r.Calls, r.P)
	}
	some.Add(&exact)
	some.Add(&half)
	part := some.Row()
	all.Add(&part)
	all.Add(&tenth)
	r := all.Row()
	if want := 40 + 270.; r.Calls != 170 || math.Abs(variance(r)-want) > 1e-9 {
		t.Errorf("%v calls with variance %v, want %v", r.Calls, variance(r), want)
	}
}

func TestHistogram_Accuracy(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 100000 {
		x := math.Exp(r.Float64() * math.Log(9e18))
		if x < Gamma {
			continue
		}
		if v := BinValue(BinOf(x)); math.Abs(v-x) > 0.0100001*x {
			t.Fatalf("%v is represented by %v", x, v)
		}
	}
	for _, x := range []float64{0, -1, 0.5, math.NaN(), math.Inf(-1)} {
		if BinOf(x) != 0 {
			t.Errorf("bin of %v is %d", x, BinOf(x))
		}
	}
}

func TestEventDay(t *testing.T) {
	for ns, want := range map[int64]int32{0: 0, nanosPerDay - 1: 0, nanosPerDay: 1, -1: -1, -nanosPerDay: -1} {
		if got := (&Row{StartNS: ns}).EventDay(); got != want {
			t.Errorf("day of %d is %d, want %d", ns, got, want)
		}
	}
}

// The weight at or above a value is exact up to the width of a bin.
func TestHistogram_From(t *testing.T) {
	var h Histogram
	for x := 1.0; x <= 10_000; x++ {
		h.addToBin(BinOf(x), 1)
	}
	for _, x := range []float64{0, 1, 2, 999.5, 5000, 9999} {
		if got, want := h.From(x), 10_000-max(math.Ceil(x)-1, 0); math.Abs(got-want) > 0.01*10_000 {
			t.Errorf("from %v on: %v, want %v", x, got, want)
		}
	}
	if got := h.From(1e6); got != 0 {
		t.Errorf("beyond the last: %v", got)
	}
	if got := (Histogram{{BinOf(100), 8}}).From(BinValue(BinOf(100))); got < 3 || got > 5 {
		t.Errorf("in the middle of a bin: %v of 8", got)
	}
}

// The sum of the largest valid rows is a valid row.
func TestSum_LargestRows(t *testing.T) {
	for _, p := range []float64{1, 0.3, LeastP, MostP, -MostP} {
		for _, kind := range []string{KindAggregate, KindProcess} {
			var s Sum
			for i := range 3000 {
				r := Row{
					Kind: kind, Level: LevelHour, StartNS: 0, EndNS: 1 + int64(i), Calls: MostTime, Errors: MostTime, Measured: MostMeasured, CPUMeasured: MostMeasured,
					WallNS: MostTime, CPUNS: MostTime, WallSq: MostSquares, CPUSq: MostSquares, WallMaxNS: MostTime, CPUMaxNS: MostTime, P: p, CPUP: 1,
					Process: &ProcessStats{Cores: MostCores, HostCores: MostCores, CPULimit: MostCores},
				}
				r.Bound(math.MaxInt64)
				s.Add(&r)
			}
			sum := s.Row()
			bounded := sum
			if sum.Process != nil {
				process := *sum.Process
				bounded.Process = &process
			}
			if bounded.Bound(math.MaxInt64); !reflect.DeepEqual(bounded, sum) || sum.Measured != MostMeasured || sum.Calls != MostTime {
				t.Errorf("%s, p = %g: %+v, bounded %+v", kind, p, sum, bounded)
			}
		}
	}
}

// A sum is activated only if all of its rows are.
func TestSum_Activated(t *testing.T) {
	first, later := Row{Kind: KindCounts, Calls: 1, Activated: true}, Row{Kind: KindCounts, Calls: 1}
	for _, c := range []struct {
		rows []Row
		want bool
	}{{[]Row{first}, true}, {[]Row{first, first}, true}, {[]Row{first, later}, false}, {[]Row{later, first}, false}} {
		if got := sumOf(c.rows...).Activated; got != c.want {
			t.Errorf("activated is %v of %d rows, want %v", got, len(c.rows), c.want)
		}
	}
}

// A sum of process rows keeps the probe costs of the last row. It keeps the CPU time of the SDK,
// at most the total, if all rows with CPU time have it, in any order of additions.
func TestSum_ProcessProbes(t *testing.T) {
	beat := func(end, cpu int64, stats ...Stat) Row {
		return Row{Kind: KindProcess, StartNS: end - 10, EndNS: end, P: 1, CPUP: 1, CPUMeasured: min(1, cpu), CPUNS: cpu, Process: &ProcessStats{Stats: stats}}
	}
	first := beat(10, 100, Stat{"probe.inside_ns", 900}, Stat{"own.cpu_ns", 30}, Stat{"dropped", 7})
	last := beat(20, 100, Stat{"probe.inside_ns", 25}, Stat{"probe.cpu.cost_ns", 400}, Stat{"own.cpu_ns", 500})
	below := beat(15, 100, Stat{"own.cpu_ns", -5})
	silent := beat(30, 100, Stat{"dropped", 1})
	idle := beat(40, 0)
	probes := []Stat{{"probe.inside_ns", 25}, {"probe.cpu.cost_ns", 400}}
	for name, c := range map[string]struct {
		rows []Row
		want []Stat
	}{
		"in order":         {[]Row{first, below, last}, append(slices.Clone(probes), Stat{"own.cpu_ns", 130})},
		"backwards":        {[]Row{last, below, first}, append(slices.Clone(probes), Stat{"own.cpu_ns", 130})},
		"one says nothing": {[]Row{first, last, silent}, probes},
		"no number":        {[]Row{last, beat(30, 100, Stat{"own.cpu_ns", math.NaN()})}, probes},
		"without CPU time": {[]Row{first, idle}, []Stat{{"probe.inside_ns", 900}, {"own.cpu_ns", 30}}},
		"none":             {[]Row{silent, idle}, nil},
	} {
		for cut := range c.rows {
			sum := sumOf(c.rows...)
			if cut > 0 {
				a, b := sumOf(c.rows[:cut]...), sumOf(c.rows[cut:]...)
				a.P, a.CPUP, b.P, b.CPUP = 1, 1, 1, 1 // CPU time of processes is counted
				sum = sumOf(a, b)
			}
			var got []Stat
			if sum.Process != nil {
				got = sum.Process.Stats
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%s, cut at %d: %v, want %v", name, cut, got, c.want)
			}
		}
	}
	if first.Process.Stats[0].Value != 900 || len(first.Process.Stats) != 3 {
		t.Errorf("the first row has become %v", first.Process.Stats)
	}
}
