package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"
)

var testScales = []float64{0.02, 0.06, 0.20}

// Under the hypothesis, including its boundary, the mean of an e-value is at most 1. The maximum over repeated
// evaluations of growing data exceeds 20 with probability at most 5% (Ville).
func TestLogE_NullHypothesis(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	const trials, looks, step = 40_000, 18, 0.02 // standard error of one evaluation's data
	margin := math.Log(1.01)
	for _, truth := range []float64{margin, 0, -0.05} {
		mean, crossed := 0.0, 0
		for range trials {
			sum, top, last := 0.0, math.Inf(-1), 0.0
			for k := 1; k <= looks; k++ {
				sum += truth + step*r.NormFloat64()
				last = LogE(sum/float64(k), step*step/float64(k), margin, testScales)
				top = math.Max(top, last)
			}
			mean += math.Exp(last) / trials
			if top >= math.Log(20) {
				crossed++
			}
		}
		if mean > 1.1 {
			t.Errorf("truth %v: the mean of e-values is %.3f", truth, mean)
		}
		if share := float64(crossed) / trials; share > 0.05 {
			t.Errorf("truth %v: %.4f of the series ever exceeded 20", truth, share)
		}
	}
}

func TestLogE_Monotone(t *testing.T) {
	last := math.Inf(-1)
	for x := -0.5; x < 1; x += 0.01 {
		e := LogE(x, 1e-4, 0.01, testScales)
		if !(e > last) || math.IsInf(e, 0) {
			t.Fatalf("log e %v at %v after %v", e, x, last)
		}
		last = e
	}
	if LogE(0.1, 1e-4, 0.01, testScales) <= LogE(0.1, 4e-4, 0.01, testScales) {
		t.Error("less noise is less evidence")
	}
	if LogE(0.1, 0, 0.01, testScales) != 0 || LogE(math.NaN(), 1, 0.01, testScales) != 0 {
		t.Error("nothing known is evidence")
	}
}

func TestEBH_WorkedExample(t *testing.T) {
	// Thresholds are 100, 50, 33.3 and 25 for the first four of five at 5%.
	e := []float64{24, 200, 34, 51, 0.5}
	logs := make([]float64, len(e))
	for i, v := range e {
		logs[i] = math.Log(v)
	}
	got, needed := EBH(logs, 5, 0.05)
	if want := []bool{false, true, true, true, false}; !slices.Equal(got, want) {
		t.Errorf("rejected %v, want %v", got, want)
	}
	for i, want := range []float64{25, 33.3333, 33.3333, 33.3333, 20} {
		near(t, "needed", math.Exp(needed[i]), want, 1e-4)
	}
	// Hypotheses without an e-value count: 200 is now the threshold for a single rejection.
	if got, _ := EBH(logs, 10, 0.05); !slices.Equal(got, []bool{false, true, false, false, false}) {
		t.Errorf("of ten: rejected %v", got)
	}
}

// needed is exact: a hypothesis is rejected at this value and not below.
func TestEBH_NeededIsExact(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	const alpha, little = 0.05, 1e-9
	for range 2000 {
		logs := make([]float64, 1+r.IntN(8))
		for i := range logs {
			logs[i] = math.Log(20/float64(1+r.IntN(8))) + float64(r.IntN(6)) - 1 + r.Float64()
		}
		total := len(logs) + r.IntN(3)
		rejected, needed := EBH(logs, total, alpha)
		for i, own := range logs {
			if rejected[i] != (own >= needed[i]) {
				t.Fatalf("%v of %v is rejected: %v, needs %v", own, logs, rejected[i], needed[i])
			}
			for _, change := range []float64{-little, little} {
				logs[i] = needed[i] + change
				if with, _ := EBH(logs, total, alpha); with[i] != (change > 0) {
					t.Fatalf("%v with %v is rejected: %v", logs[i], logs, with[i])
				}
			}
			logs[i] = own
		}
	}
}

func TestWeightedMedian_EqualsSorting(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for range 3000 {
		values := make([]Weighted, 1+r.IntN(20))
		total := 0.0
		for i := range values {
			values[i] = Weighted{float64(r.IntN(8)), float64(r.IntN(4))}
			total += values[i].Weight
		}
		sorted := slices.Clone(values)
		sort.SliceStable(sorted, func(i, j int) bool { return sorted[i].Value < sorted[j].Value })
		want, below := 0.0, 0.0
		for _, v := range sorted {
			if below += v.Weight; total > 0 && below >= total/2 {
				want = v.Value
				break
			}
		}
		if got := WeightedMedian(slices.Clone(values)); got != want {
			t.Fatalf("median of %v is %v, want %v", values, got, want)
		}
	}
}

// Pool estimates the between-group variance without bias, whatever the errors within the groups.
func TestPool_UnbiasedBetweenVariance(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	const truth = 0.015
	var groups []Heterogeneity
	for range 500 {
		errors := 0.003 * math.Exp(2*r.NormFloat64())
		y, v := make([]float64, 24), make([]float64, 24)
		for i := range y {
			y[i] = math.Hypot(truth, errors) * r.NormFloat64()
			v[i] = errors * errors
		}
		groups = append(groups, HeterogeneityOf(y, v))
	}
	pooled := Pool(groups, 0.02*0.02, 4)
	if sd := math.Sqrt(pooled); math.Abs(sd/truth-1) > 0.05 {
		t.Errorf("pooled %v, want %v", sd, truth)
	}
	if got, _ := (Heterogeneity{}).Moderated(pooled, 10); got != pooled {
		t.Errorf("a group that knows nothing has %v, want %v", got, pooled)
	}
	noisy := Heterogeneity{Q: 200, DF: 23, C: 23} // own errors of 1: no information
	if got, _ := noisy.Moderated(pooled, 10); math.Abs(got/pooled-1) > 0.05 {
		t.Errorf("noise moved the variance from %v to %v", pooled, got)
	}
	if got := Pool(nil, 0.0004, 4); math.Abs(got-0.0004) > 1e-15 {
		t.Errorf("pooled from nothing: %v, want the prior", got)
	}
}

func TestDetectable_AgreesWithSimulation(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	const trials = 40_000
	variance, need := 4e-4, math.Log(1000.0)
	required := RequiredLogE(variance, math.Inf(1), 0.01, testScales, need)
	seen := required.Detectable(0.9)
	found := 0
	for range trials {
		if LogE(seen+math.Sqrt(variance)*r.NormFloat64(), variance, 0.01, testScales) >= need {
			found++
		}
	}
	near(t, "power", float64(found)/trials, 0.9, 0.007)
	near(t, "power as computed", required.Power(seen), 0.9, 1e-6)
	if RequiredLogE(4*variance, math.Inf(1), 0.01, testScales, need).Detectable(0.9) <= seen {
		t.Error("with more noise a smaller change is seen")
	}
}

// Hall's interval has better coverage than the symmetric one if calls are skewed.
func TestHallInterval_Coverage(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	const trials, n, s = 3000, 100, 1.5
	truth := math.Exp(s * s / 2)
	hall, normal := 0, 0
	for range trials {
		sample := make([]float64, n)
		for i := range sample {
			sample[i] = math.Exp(s * r.NormFloat64())
		}
		total, interval, ok := hallOf(sample)
		if !ok {
			t.Fatal("not known")
		}
		if interval.Low <= n*truth && n*truth <= interval.High {
			hall++
		}
		if math.Abs(total.Value-n*truth) <= 1.96*total.SE {
			normal++
		}
	}
	if a, b := float64(hall)/trials, float64(normal)/trials; a < 0.90 || a > 0.96 || b > 0.88 {
		t.Errorf("coverage %.3f of Hall's, %.3f of the symmetric interval", a, b)
	}
}

func TestHallInterval_NoSkewEqualsStudent(t *testing.T) {
	_, interval, _ := hallOf([]float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9})
	// t(0.975, 9) = 2.26216 (tables), standard error of the mean sqrt(55/6/10).
	near(t, "low", interval.Low/10, 4.5-2.26216*math.Sqrt(55.0/60), 1e-4)
	near(t, "high", interval.High/10, 4.5+2.26216*math.Sqrt(55.0/60), 1e-4)
}

// hallOf returns the interval of the total of a sample, with residuals around its mean.
func hallOf(sample []float64) (Estimate, Interval, bool) {
	total := 0.0
	for _, x := range sample {
		total += x
	}
	r := Residuals{Count: int64(len(sample))}
	for _, x := range sample {
		d := x - total/float64(len(sample))
		r.Squares += d * d
		r.Cubes += d * d * d
	}
	return r.HallInterval(total, 0.95)
}

func TestTailGate(t *testing.T) {
	for _, c := range []struct {
		records, skewness float64
		ok                bool
	}{{99, 0, false}, {100, 1.99, true}, {899, 6, false}, {901, 6, true}} {
		sample := Sample{Calls: 1e6, Records: c.records, Powers: powersOf(c.skewness)}
		if ok := TailGate(sample); ok != c.ok {
			t.Errorf("%v records, skewness %v: %v", c.records, c.skewness, ok)
		}
		// The same calls in two samples, and a complete sample without sampling error.
		half := sample
		half.Calls, half.Records = half.Calls/2, half.Records/2
		if ok := TailGate(half, half, Sample{Calls: 5, Records: 5}); c.records > 100 && ok != c.ok {
			t.Errorf("%v records of two samples, skewness %v: %v", c.records, c.skewness, ok)
		}
	}
	if !TailGate(Sample{Calls: 10, Records: 10}) || TailGate(Sample{Calls: 1e4, Records: 1e3}) {
		t.Error("all calls are no sample, and nothing is known of calls without powers")
	}
	// Ten thousand records of a twentieth of the total give no information about the rest, which has few records.
	small := Sample{Calls: 1e6, Records: 1e4, Powers: powersOf(1)}
	for few, ok := range map[float64]bool{80: false, 101: true} {
		if big := (Sample{Calls: 2e7, Records: few, Powers: powersOf(1)}); TailGate(small, big) != ok {
			t.Errorf("%v records of nearly all of the total: want %v", few, ok)
		}
	}
	// An exponential variable has the powers k!, and skewness 2.
	near(t, "skewness", Powers{N: 3, X: 3, XX: 6, XXX: 18}.Skewness(), 2, 1e-12)
}

// The tail index is estimated from the largest values; with few records it is unknown.
func TestOctaves_Heavy(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 15))
	heavy := func(n int, draw func() float64) bool {
		o := Octaves{}
		for range n {
			x := draw()
			o.Add(Octaves{int(math.Floor(2 * math.Log2(x))): {Records: 1, N: 1, Logs: math.Log(x)}})
		}
		return o.Heavy()
	}
	for _, c := range []struct {
		name        string
		n           int
		draw        func() float64
		least, most int // limits of the number of heavy results in 200 trials
	}{
		{"Pareto 1.5", 300, func() float64 { return math.Exp(r.ExpFloat64() / 1.5) }, 198, 200},
		{"Pareto 1.5", 10_000, func() float64 { return math.Exp(r.ExpFloat64() / 1.5) }, 200, 200},
		{"Pareto 3.5", 10_000, func() float64 { return math.Exp(r.ExpFloat64() / 3.5) }, 0, 10},
		{"lognormal 0.5", 300, func() float64 { return math.Exp(0.5 * r.NormFloat64()) }, 0, 40},
		{"lognormal 1", 10_000, func() float64 { return math.Exp(r.NormFloat64()) }, 0, 100},
		{"constant", 300, func() float64 { return 5.0 }, 0, 0},
		{"few", 99, func() float64 { return math.Exp(r.ExpFloat64()) }, 0, 0},
	} {
		n := 0
		for range 200 {
			if heavy(c.n, c.draw) {
				n++
			}
		}
		if n < c.least || n > c.most {
			t.Errorf("%s, %d records: %d of 200 have a heavy tail, want %d to %d", c.name, c.n, n, c.least, c.most)
		}
	}
}

// powersOf returns the powers of a variable with values 0 and 1 and this skewness.
func powersOf(skewness float64) Powers {
	// (1-2p)/sqrt(p(1-p)) = g
	p := (1 - skewness/math.Sqrt(4+skewness*skewness)) / 2
	return Powers{N: 1, X: p, XX: p, XXX: p}
}

func TestMannKendall_SignificanceLevel(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	const trials, n, rho = 4000, 56, 0.4
	below := 0
	for range trials {
		y := make([]float64, n)
		last := r.NormFloat64() / math.Sqrt(1-rho*rho)
		for i := range y {
			last = rho*last + r.NormFloat64()
			y[i] = last
		}
		if MannKendall(y).P < 0.05 {
			below++
		}
	}
	if share := float64(below) / trials; share > 0.085 { // 0.17 without the correction
		t.Errorf("p < 0.05 in %.3f of series without a trend", share)
	}
	rising := make([]float64, n)
	for i := range rising {
		rising[i] = 0.1*float64(i) + r.NormFloat64()
	}
	trend := MannKendall(rising)
	near(t, "slope", trend.Slope, 0.1, 0.03)
	falling := slices.Clone(rising)
	slices.Reverse(falling)
	if trend.P > 1e-4 || MannKendall(falling).P < 0.999 {
		t.Errorf("rising p %v, falling p %v", trend.P, MannKendall(falling).P)
	}
}

func TestStepScan(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	const trials, n = 4000, 56
	below := 0
	for range trials {
		y := make([]float64, n)
		for i := range y {
			y[i] = r.NormFloat64()
		}
		if s, ok := StepScan(y, 7); !ok || s.P < 0.05 {
			below++
		}
	}
	if share := float64(below) / trials; share > 0.05 {
		t.Errorf("p < 0.05 in %.3f of series without a step", share)
	}
	y := make([]float64, n)
	for i := range y {
		y[i] = r.NormFloat64()
		if i >= 30 {
			y[i] += 3
		}
	}
	s, ok := StepScan(y, 7)
	if !ok || s.At < 29 || s.At > 31 || s.P > 1e-6 {
		t.Errorf("step %+v", s)
	}
	near(t, "size", s.Size, 3, 0.8)
	if _, ok := StepScan(y[:10], 7); ok {
		t.Error("a step in ten values")
	}
}

func TestDateChanges(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	y := make([]float64, 120)
	for i := range y {
		y[i] = r.NormFloat64()
		if i >= 40 {
			y[i] += 4
		}
		if i >= 90 {
			y[i] -= 3
		}
	}
	got := DateChanges(y)
	if len(got) != 2 || got[0] < 39 || got[0] > 41 || got[1] < 88 || got[1] > 92 {
		t.Errorf("changes at %v, want about 40 and 90", got)
	}
	spike := make([]float64, 60)
	for i := range spike {
		spike[i] = r.NormFloat64()
	}
	spike[30] = 50
	if got := DateChanges(spike); len(got) != 0 {
		t.Errorf("a spike became changes at %v", got)
	}
}
