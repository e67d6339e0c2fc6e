package stats

import (
	"cmp"
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

func TestTailOf_FewRecords(t *testing.T) {
	for records, few := range map[float64]bool{1: true, 5: true, 99: true, 100: false, 5000: false} {
		sample := Sample{Calls: 1e6, Records: records, Powers: powersOf(2)}
		if tail := TailOf(sample); tail.Few != few || tail.Open {
			t.Errorf("%v records: %+v", records, tail)
		}
		// The same calls in two samples, and a complete sample without sampling error.
		half := sample
		half.Calls, half.Records = half.Calls/2, half.Records/2
		if tail := TailOf(half, half, Sample{Calls: 5, Records: 5}); tail.Few != few {
			t.Errorf("%v records of two samples: %+v", records, tail)
		}
		near(t, "skewness of the total", TailOf(sample).Skewness, min(1, 2/math.Sqrt(records)), 1e-9)
	}
	if !TailOf(Sample{Calls: 1e4, Records: 5, Powers: Powers{N: 5}}).Few {
		t.Error("five calls that took no time have an interval")
	}
	if TailOf(Sample{Calls: 10, Records: 10}).Few || !TailOf(Sample{Calls: 1e4, Records: 1e3}).Few {
		t.Error("all calls are no sample, and nothing is known of calls without powers")
	}
	// Ten thousand records of a twentieth of the total give no information about the rest, which has few records.
	small := Sample{Calls: 1e6, Records: 1e4, Powers: powersOf(1)}
	for few, want := range map[float64]bool{80: true, 101: false} {
		if big := (Sample{Calls: 2e7, Records: few, Powers: powersOf(1)}); TailOf(small, big).Few != want {
			t.Errorf("%v records of nearly all of the total: want %v", few, want)
		}
	}
	// An exponential variable has the powers k!, and skewness 2.
	near(t, "skewness", Powers{N: 3, X: 3, XX: 6, XXX: 18}.Skewness(), 2, 1e-12)
}

// Only a tail without a variance, or values far above all others, are open: the tail of a lognormal distribution is
// not.
func TestOctaves_Open(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 15))
	lognormal := func(s float64) func() float64 { return func() float64 { return math.Exp(s * r.NormFloat64()) } }
	pareto := func(a float64) func() float64 { return func() float64 { return math.Exp(r.ExpFloat64() / a) } }
	rare := func(share, factor float64) func() float64 {
		return func() float64 {
			x := math.Exp(0.5 * r.NormFloat64())
			if r.Float64() < share {
				x *= factor
			}
			return x
		}
	}
	for _, c := range []struct {
		name        string
		n           int
		draw        func() float64
		least, most int     // limits of the number of open results in 200 trials
		sample      float64 // records of the sample, 0 = n
	}{
		{"Pareto 1.3", 120, pareto(1.3), 192, 200, 0},
		{"Pareto 1.3", 400, pareto(1.3), 197, 200, 0},
		{"Pareto 1.5", 10_000, pareto(1.5), 199, 200, 0},
		{"Pareto 3", 400, pareto(3), 0, 16, 0},
		{"Pareto 3.5", 10_000, pareto(3.5), 0, 6, 0},
		{"lognormal 0.5", 120, lognormal(0.5), 0, 2, 0},
		{"lognormal 1", 120, lognormal(1), 0, 20, 0},
		{"lognormal 1", 400, lognormal(1), 0, 18, 0},
		{"lognormal 1", 10_000, lognormal(1), 0, 10, 0},
		{"lognormal 1.5", 400, lognormal(1.5), 0, 30, 0},
		{"3 in 1,000 cost 400 times", 5000, rare(0.003, 400), 0, 40, 0},
		{"1 in 200 costs 300 times, in 300 records", 300, rare(1./200, 300), 130, 200, 0},
		{"5 in 100 cost 30 times", 10_000, rare(0.05, 30), 0, 12, 0},
		{"3 in 1,000 cost 400 times, in a sample of 400", 5000, rare(0.003, 400), 195, 200, 400},
		{"lognormal 1, in a sample of 120", 5000, lognormal(1), 0, 20, 120},
		{"constant", 300, func() float64 { return 5.0 }, 0, 0, 0},
	} {
		open := 0
		for range 200 {
			o := Octaves{}
			for range c.n {
				x := c.draw()
				o.Add(Octaves{int(math.Floor(2 * math.Log2(x))): {Records: 1, N: 1, Logs: math.Log(x)}})
			}
			if o.Open(cmp.Or(c.sample, float64(c.n))) {
				open++
			}
		}
		if open < c.least || open > c.most {
			t.Errorf("%s, %d records: %d of 200 have an open tail, want %d to %d", c.name, c.n, open, c.least, c.most)
		}
	}
}

// The interval of a total covers the truth also where the clusters are less skewed than the calls.
func TestSkewedInterval_Coverage(t *testing.T) {
	r := rand.New(rand.NewPCG(25, 25))
	const trials, buckets = 2000, 40
	for _, c := range []struct {
		spread float64
		n      int
	}{{0.5, 120}, {1, 120}, {1, 400}, {1.5, 400}, {2, 1600}} {
		held, hall := 0, 0
		for range trials {
			var sizes, sums [buckets]float64
			sample := Sample{Calls: 100 * float64(c.n), Records: float64(c.n), Octaves: Octaves{}}
			for range c.n {
				x, bucket := math.Exp(c.spread*r.NormFloat64()), r.IntN(buckets)
				sizes[bucket]++
				sums[bucket] += x
				sample.Powers.Add(Powers{1, x, x * x, x * x * x})
				sample.Octaves.Add(Octaves{int(math.Floor(2 * math.Log2(x))): {Records: 1, N: 1, Logs: math.Log(x)}})
			}
			total, residuals := sample.Powers.X, Residuals{}
			for i, n := range sizes {
				if n > 0 {
					d := sums[i] - total/float64(c.n)*n
					residuals.Count, residuals.Squares, residuals.Cubes = residuals.Count+1, residuals.Squares+d*d, residuals.Cubes+d*d*d
				}
			}
			truth := float64(c.n) * math.Exp(c.spread*c.spread/2)
			if _, i, _ := residuals.SkewedInterval(total, 0.95, TailOf(sample).Skewness); i.Low <= truth && truth <= i.High {
				held++
			}
			if _, i, _ := residuals.HallInterval(total, 0.95); i.Low <= truth && truth <= i.High {
				hall++
			}
		}
		t.Logf("lognormal %v, %d records: %.1f%% covered, %.1f%% by the skewness of clusters alone", c.spread, c.n, 100*float64(held)/trials, 100*float64(hall)/trials)
		if share := float64(held) / trials; share < 0.93 || share > 0.99 || held < hall {
			t.Errorf("lognormal %v, %d records: %d of %d covered, %d by the skewness of clusters alone", c.spread, c.n, held, trials, hall)
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
