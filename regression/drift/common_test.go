package drift

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// shared returns series of 56 days around a common level. The first moved series make a step on day 30.
func shared(series, moved int, noise, size float64) (all [][]float64, level []float64) {
	r := rand.New(rand.NewPCG(11, uint64(moved)))
	level = make([]float64, window)
	for d := range level {
		level[d] = 0.05 * math.Sin(float64(d))
	}
	for m := range series {
		y := make([]float64, window)
		for d := range y {
			y[d] = level[d] + noise*r.NormFloat64()
			if m < moved && d >= 30 {
				y[d] += size
			}
		}
		all = append(all, y)
	}
	return all, level
}

func everyone(int) bool { return true }

// stepAt30 returns the step of the estimated level on day 30 minus the true step.
func stepAt30(c *common, level []float64) float64 {
	off := make([]float64, len(level))
	for d := range off {
		off[d] = c.level[d] - level[d]
	}
	return meanOf(off[30:]) - meanOf(off[:30])
}

// Methods that moved do not pull the common level, whether each single move is significant or only all together.
func TestFindCommon_IgnoresMovedMethods(t *testing.T) {
	for _, size := range []float64{0.3, 0.05, 0.03} {
		all, level := shared(60, 20, 0.03, size)
		c := findCommon(all, everyone, 0)
		if off := stepAt30(c, level); c.reason != "" || math.Abs(off) > 0.005 {
			t.Errorf("a third moved by %v: the common level by %.4f, %q", size, off, c.reason)
		}
		own := c.subtractFrom(0, all[0])
		if got := meanOf(own[30:]) - meanOf(own[:30]); math.Abs(got-size) > 0.025 {
			t.Errorf("a method that moved by %v moves by %.4f in addition to what is common", size, got)
		}
	}
}

func TestFindCommon_NotIdentified(t *testing.T) {
	all, _ := shared(60, 30, 0.03, 0.3)
	c := findCommon(all, everyone, 0)
	if !strings.Contains(c.reason, "not identified: 40% or more of 60") {
		t.Errorf("half moved: %q", c.reason)
	}
	if own := c.subtractFrom(0, all[0]); own[3] != all[0][3] {
		t.Error("something was taken off")
	}
	all, _ = shared(4, 0, 0.03, 0)
	if c = findCommon(all, everyone, 0); !strings.Contains(c.reason, "fewer than 5") || c.level[7] != 0 {
		t.Errorf("four methods: %q", c.reason)
	}
	all, level := shared(60, 60, 0.03, 0.3)
	if c = findCommon(all, everyone, 0); c.reason != "" || math.Abs(stepAt30(c, level)-0.3) > 0.02 {
		t.Errorf("all moved together: %q, %v", c.reason, stepAt30(c, level))
	}
}

// The common level used for a method leaves out that method, so its own noise is not subtracted.
func TestCommon_WithoutOneMethod(t *testing.T) {
	all, level := shared(6, 0, 0.01, 0)
	all[2][40] = math.NaN()
	c := findCommon(all, everyone, 0)
	for m := range all {
		var with, without float64
		for d, y := range all[m] {
			if !math.IsNaN(y) {
				noise := y - level[d]
				with += noise * (c.level[d] - level[d])
				without += noise * (c.without(m, d, y) - level[d])
			}
		}
		if !(without < 0.7*with) {
			t.Errorf("method %d: its noise is in the level of the others by %v, and in that of all by %v", m, without, with)
		}
	}
}

func TestLeaveOutDips(t *testing.T) {
	draw := func(f func(d int) float64) []float64 {
		r := rand.New(rand.NewPCG(12, 12))
		y := make([]float64, 112)
		for d := range y {
			y[d] = 0.02*r.NormFloat64() + f(d)
		}
		return y
	}
	between := func(from, to int, depth float64) func(int) float64 {
		return func(d int) float64 {
			if d >= from && d < to {
				return -depth
			}
			return 0
		}
	}
	for name, c := range map[string]struct {
		level    func(int) float64
		from, to int // days left out
	}{
		"a dip":                           {between(80, 94, 0.1), 80, 94},
		"a dip at the begin":              {between(50, 64, 0.1), 50, 64},
		"nothing":                         {between(0, 0, 0), 0, 0},
		"a level of six weeks":            {between(50, 92, 0.1), 0, 0},
		"a step":                          {between(0, 80, 0.1), 0, 0},
		"a dip that has not ended":        {between(100, 112, 0.1), 0, 0},
		"a dip that ended three days ago": {between(95, 109, 0.1), 0, 0},
	} {
		y := draw(c.level)
		found := leaveOutDips(y, 56)
		for d, v := range y {
			if want := d >= c.from && d < c.to; math.IsNaN(v) != want && min(abs(d-c.from), abs(d-c.to)) > 1 {
				t.Errorf("%s: day %d is left out: %v", name, d, !want)
			}
		}
		if found != (c.to > 0) {
			t.Errorf("%s: found %v", name, found)
		}
	}
}

func abs(d int) int { return max(d, -d) }

// A fall is found as an improvement. A dip of a week and a half, as in holidays, is not a fall.
func TestReplay_Improvement(t *testing.T) {
	c, err := Replay(history(8, 140, stepUp(70, math.Log(0.9)), half))
	if err != nil || len(c.Drifts) != 1 {
		t.Fatalf("%v: %+v", err, c)
	}
	if d := c.Drifts[0]; d.Method != "A" || d.Shape != Jump || math.Abs(d.Change+0.1) > 0.02 || d.Interval[0] > -0.1 || d.Interval[1] < -0.1 || d.Began < 69 || d.Began > 71 {
		t.Errorf("found %+v", d)
	}
	h := history(8, 98, func(d int) float64 { return stepUp(84, -0.1)(d) }, half)
	if c, err = Replay(h); err != nil || len(c.Drifts) != 0 {
		t.Errorf("%v: after 14 days %+v", err, c.Drifts)
	}
}

// The measured change includes the common part; the change does not.
func TestReplay_MeasuredIncludesCommonPart(t *testing.T) {
	h := history(12, 126, stepUp(80, math.Log(1.1)), half)
	for i := range h.Rows {
		if r := &h.Rows[i]; r.Day >= 80 {
			r.Capped *= 1.05
			r.Log += r.Weight * math.Log(1.05)
		}
	}
	c, err := Replay(h)
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]Drift{}
	for _, d := range c.Drifts {
		told[d.Method] = d
	}
	a := told["A"]
	if len(told) != 2 || math.Abs(a.Change-0.1) > 0.02 || math.Abs(a.Measured-0.155) > 0.02 || math.Abs(a.CommonPart-0.05) > 0.01 || a.CommonReason != "" {
		t.Errorf("A: %+v of %d", a, len(told))
	}
	if whole := told[wholeService]; math.Abs(whole.Change-0.05) > 0.01 {
		t.Errorf("the service: %+v", whole)
	}
}
