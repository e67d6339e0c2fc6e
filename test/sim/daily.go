package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/corehour/corehour/regression/drift"
)

// Daily describes daily series with a known truth. It shares no code with Months. All series have
// autocorrelated noise, and no parameter is tuned to the drift algorithm.
type Daily struct {
	Series, Days int
	Noise, Rho   float64 // standard deviation and lag-1 autocorrelation of the logarithm of a value
	Common       float64 // standard deviation of the component shared by all series (lag-1 autocorrelation 0.7)
	Weekdays     float64 // standard deviation of the weekday effects, per series
	Steps        []PlantedStep
	Dip          PlantedDip
	Phase        int // number of days by which all dates are shifted
	// First is the first day that is evaluated. The last Without days are left out.
	First, Without int
	// Linear writes 100 times the centered logarithm, which is near 0, instead of the value.
	Linear bool
}

// PlantedStep multiplies the first Series series by 1+Effect, starting on day At.
type PlantedStep struct {
	Series, At int
	Effect     float64
}

// PlantedDip multiplies all series by 1-Depth for Days days, starting on day At.
type PlantedDip struct {
	At, Days int
	Depth    float64
}

// draw returns the logarithms of all values, indexed by series and day.
func (p Daily) draw(seed, run uint64) [][]float64 {
	common := arNoise(source(seed, run, "daily common"), p.Days, p.Common, 0.7)
	out := make([][]float64, p.Series)
	for n := range out {
		r := source(seed, run, fmt.Sprint("daily ", n))
		out[n] = arNoise(r, p.Days, p.Noise, p.Rho)
		var weekdays [7]float64
		for w := range weekdays {
			weekdays[w] = p.Weekdays * r.NormFloat64()
		}
		level := 3 + r.NormFloat64()
		for d := range out[n] {
			out[n][d] += level + common[d] + weekdays[d%7]
			for _, s := range p.Steps {
				if n < s.Series && d >= s.At {
					out[n][d] += math.Log1p(s.Effect)
				}
			}
			if d >= p.Dip.At && d < p.Dip.At+p.Dip.Days {
				out[n][d] += math.Log1p(-p.Dip.Depth)
			}
		}
	}
	return out
}

func arNoise(r *rand.Rand, n int, sd, rho float64) []float64 {
	y := make([]float64, n)
	e := r.NormFloat64()
	for d := range y {
		y[d] = sd * e
		e = rho*e + math.Sqrt(1-rho*rho)*r.NormFloat64()
	}
	return y
}

// Replay draws the series, writes them as CSV and evaluates that file.
func (p Daily) Replay(seed, run uint64) (*drift.Result, error) {
	var b strings.Builder
	b.WriteString("name,date,value\n")
	first := time.Date(2025, 1, 6, 0, 0, 0, 0, time.UTC).AddDate(0, 0, p.Phase)
	for n, y := range p.draw(seed, run) {
		for d, v := range y[:p.Days-p.Without] {
			if d < p.First {
				continue
			}
			if v = math.Exp(v); p.Linear {
				v = 100 * (math.Log(v) - 3)
			}
			fmt.Fprintf(&b, "s%d,%s,%.9g\n", n, first.AddDate(0, 0, d).Format(time.DateOnly), v)
		}
	}
	s, err := drift.ReadCSV(strings.NewReader(b.String()))
	if err != nil {
		return nil, err
	}
	return drift.Replay(&s.History)
}

// ReplayRows draws the series as warehouse rows, which have day numbers instead of dates, and evaluates them.
func (p Daily) ReplayRows(seed, run uint64, records float64) (*drift.Result, error) {
	h := &drift.History{Callers: []string{""}, Days: p.Days - p.First - p.Without}
	for n, y := range p.draw(seed, run) {
		h.Methods = append(h.Methods, fmt.Sprintf("s%d", n))
		for d, v := range y[p.First : p.Days-p.Without] {
			h.Rows = append(h.Rows, drift.Day{Method: int32(n), Day: int32(d), Records: records, Weight: records, Capped: records * math.Exp(v), Log: records * v})
		}
	}
	return drift.Replay(h)
}

// numberOf returns the number in the name of a series, or -1 for the sum of all series.
func numberOf(name string) int {
	var n int
	if _, err := fmt.Sscanf(name, "s%d", &n); err != nil {
		return -1
	}
	return n
}
