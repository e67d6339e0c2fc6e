//go:build linux

package main

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"text/tabwriter"

	"github.com/corehour/corehour/test/figures"
)

// sample is the log cost of a method in one episode and the log readings of the
// witness in the same episode.
type sample struct {
	round int
	scene string
	y     float64
	x     []float64
}

// learn returns the least-squares intercept and loadings of y on x. The ridge keeps
// the normal equations solvable where a predictor is constant or repeats another one.
func learn(samples []sample) []float64 {
	const ridge = 1e-9
	k := len(samples[0].x) + 1
	equations := make([][]float64, k) // the last column is X'y
	for i := range equations {
		equations[i] = make([]float64, k+1)
		equations[i][i] = ridge
	}
	for _, s := range samples {
		row := append(append([]float64{1}, s.x...), s.y)
		for i := range k {
			for j := range row {
				equations[i][j] += row[i] * row[j]
			}
		}
	}
	loadings := make([]float64, k)
	for i := range k {
		for j := range k {
			if factor := equations[j][i] / equations[i][i]; j != i {
				for c := range k + 1 {
					equations[j][c] -= factor * equations[i][c]
				}
			}
		}
	}
	for i := range loadings {
		loadings[i] = equations[i][k] / equations[i][i]
	}
	return loadings
}

// squares are sums over judged episodes: about their mean, and about the prediction.
type squares struct{ total, residual float64 }

// explained returns the share of the variance between episodes that the witness
// explains. It is negative where the prediction is worse than the mean.
func (s squares) explained() float64 { return 1 - s.residual/s.total }

// judge learns loadings on the even rounds of the learned scenes, judges them on the
// odd rounds of the judged scenes, and adds the same with the rounds swapped.
func judge(samples []sample, learned, judged func(scene string) bool) (sum squares) {
	for half := range 2 {
		var known, asked []sample
		var costs []float64
		for _, s := range samples {
			if s.round%2 == half && learned(s.scene) {
				known = append(known, s)
			}
			if s.round%2 != half && judged(s.scene) {
				asked, costs = append(asked, s), append(costs, s.y)
			}
		}
		loadings, average := learn(known), mean(costs)
		for _, s := range asked {
			predicted := loadings[0]
			for i, x := range s.x {
				predicted += loadings[i+1] * x
			}
			sum.total += (s.y - average) * (s.y - average)
			sum.residual += (s.y - predicted) * (s.y - predicted)
		}
	}
	return sum
}

// clip moves values beyond the 5th and 95th percentile to these. Without it a few
// episodes decide both the loading and the share explained; the witness looks better so.
func clip(samples []sample, of func(*sample) *float64) {
	var values []float64
	for i := range samples {
		values = append(values, *of(&samples[i]))
	}
	slices.Sort(values)
	n := len(values) / 20
	for i := range samples {
		v := of(&samples[i])
		*v = min(max(*v, values[n]), values[len(values)-1-n])
	}
}

// components are the pieces of the witness; predictors are the sets that are compared.
var (
	components = []string{"arithmetic", "chase 32 kB", "chase 256 kB", "chase 2 MB"}
	predictors = []struct {
		name       string
		components []string
	}{{"arithmetic", components[:1]}, {"chase", components[1:]}, {"both", components}}
)

// metric is CPU or wall time: the scenes that count, and what ten readings are reduced to.
type metric struct {
	name   string
	of     func(cost) float64
	reduce func([]float64) float64
	scenes []string
}

// The median of wall readings would hide every reading during which the thread waited.
var metrics = []metric{
	{"CPU", func(c cost) float64 { return c.CPU }, median, scenes[:len(scenes)-1]},
	{"wall", func(c cost) float64 { return c.Wall }, mean, scenes},
}

// value returns the cost of a method, or the reduced readings of a component.
func (m metric) value(e episode, name string) float64 {
	if means, ok := e.Methods[name]; ok {
		return mean(m.values(means))
	}
	return m.reduce(m.values(e.Readings[name]))
}

func (m metric) values(costs []cost) (values []float64) {
	for _, c := range costs {
		values = append(values, m.of(c))
	}
	return values
}

// merge joins the episodes of n consecutive rounds by scene, as a judge joins intervals.
func merge(episodes []episode, n int) (merged []episode) {
	for _, e := range episodes {
		i := slices.IndexFunc(merged, func(m episode) bool { return m.Round == e.Round/n && m.Scene == e.Scene })
		if i < 0 {
			i = len(merged)
			merged = append(merged, episode{Round: e.Round / n, Scene: e.Scene, Methods: map[string][]cost{}, Readings: map[string][]cost{}})
		}
		for name, costs := range e.Methods {
			merged[i].Methods[name] = append(merged[i].Methods[name], costs...)
		}
		for name, costs := range e.Readings {
			merged[i].Readings[name] = append(merged[i].Readings[name], costs...)
		}
	}
	return merged
}

// goal is the number of methods of which the witness must explain half of the variance.
const goal = 4

// printTables prints, for each method and scene, the shift against idle and the shares
// explained, of this many rounds together, and adds the totals to the report.
func printTables(w io.Writer, report *figures.Run, episodes []episode, rounds int) {
	episodes = merge(episodes, rounds)
	for _, m := range metrics {
		m.name = fmt.Sprintf("%s over %d episodes", m.name, rounds)
		fmt.Fprintf(w, "\n%s per call: shift against idle, then R2 out of sample in idle and this scene, clipped, by arithmetic / chase / both\n", m.name)
		table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprint(table, "method\tidle us\trepeatable")
		for _, scene := range m.scenes[1:] {
			fmt.Fprintf(table, "\t%s", scene)
		}
		fmt.Fprintln(table, "\tall scenes\tunseen scene")
		counts := map[string]float64{}
		for _, name := range append(slices.Sorted(maps.Keys(episodes[0].Methods)), components...) {
			m.printRow(table, report, episodes, name, counts)
		}
		table.Flush()
		for _, of := range []string{"all scenes", "unseen scene"} {
			for _, p := range predictors {
				var wanted *float64
				if of == "all scenes" && p.name == "both" {
					wanted = figures.Goal(goal)
				}
				report.Add(fmt.Sprintf("%s, %s, %s: methods with half of the repeatable variance explained", m.name, of, p.name), counts[of+p.name], "methods", figures.Higher, wanted)
			}
		}
	}
	fmt.Fprintln(w)
}

// printRow prints one method or component; a component has shifts only. It counts the
// sets of predictors that explain at least half of the repeatable variance.
func (m metric) printRow(w io.Writer, report *figures.Run, episodes []episode, name string, counts map[string]float64) {
	levels := map[string][]float64{}
	for _, e := range episodes {
		levels[e.Scene] = append(levels[e.Scene], m.value(e, name))
	}
	idle, shares, repeatable := mean(levels["idle"]), map[string]string{}, ""
	if _, ok := episodes[0].Methods[name]; ok {
		reliable := m.reliability(episodes, name)
		repeatable = fmt.Sprintf("%.2f", reliable)
		for _, p := range predictors {
			all, unseen := m.judgeScenes(episodes, name, p.components, shares)
			for of, s := range map[string]squares{"all scenes": all, "unseen scene": unseen} {
				shares[of] += share(s.explained())
				if s.explained() >= 0.5*reliable {
					counts[of+p.name]++
				}
			}
			if p.name == "both" {
				report.Add(fmt.Sprintf("%s of %s: R2 of both components", m.name, name), all.explained(), "", figures.Higher, nil)
				report.Add(fmt.Sprintf("%s of %s: R2 of both, share of the repeatable variance", m.name, name), all.explained()/reliable, "", figures.Higher, nil)
			}
		}
	}
	fmt.Fprintf(w, "%s\t%.3g\t%s", name, idle/1e3, repeatable)
	for _, scene := range m.scenes[1:] {
		fmt.Fprintf(w, "\t%+.1f%%%s", 100*(mean(levels[scene])/idle-1), shares[scene])
	}
	fmt.Fprintf(w, "\t%s\t%s\n", shares["all scenes"], shares["unseen scene"])
}

// reliability returns the share of the variance between episodes that is not the noise
// of a finite number of calls: the correlation of the two halves of the calls, which
// had the same neighbours, stepped up to all calls (Spearman 1910, Brown 1910).
func (m metric) reliability(episodes []episode, name string) float64 {
	half := func(e episode, i int) float64 {
		var values []float64
		for ; i < len(e.Methods[name]); i += 2 {
			values = append(values, m.of(e.Methods[name][i]))
		}
		return mean(values)
	}
	var halves []sample
	for _, e := range episodes {
		if slices.Contains(m.scenes, e.Scene) {
			halves = append(halves, sample{y: math.Log(half(e, 0)), x: []float64{math.Log(half(e, 1))}})
		}
	}
	clip(halves, func(s *sample) *float64 { return &s.y })
	clip(halves, func(s *sample) *float64 { return &s.x[0] })
	var first, second, sums []float64
	for _, h := range halves {
		first, second, sums = append(first, h.y), append(second, h.x[0]), append(sums, h.y+h.x[0])
	}
	covariance := (variance(sums) - variance(first) - variance(second)) / 2
	r := covariance / math.Sqrt(variance(first)*variance(second))
	return 2 * r / (1 + r)
}

// judgeScenes judges one set of components in all scenes, in each (added to shares),
// and in each when the loadings were learned without it.
func (m metric) judgeScenes(episodes []episode, name string, components []string, shares map[string]string) (all, unseen squares) {
	var samples []sample
	counted := func(scene string) bool { return slices.Contains(m.scenes, scene) }
	for _, e := range episodes {
		if !counted(e.Scene) {
			continue
		}
		s := sample{round: e.Round, scene: e.Scene, y: math.Log(m.value(e, name))}
		for _, c := range components {
			s.x = append(s.x, math.Log(m.value(e, c)))
		}
		samples = append(samples, s)
	}
	clip(samples, func(s *sample) *float64 { return &s.y })
	for i := range components {
		clip(samples, func(s *sample) *float64 { return &s.x[i] })
	}
	for _, scene := range m.scenes[1:] {
		here := func(s string) bool { return s == scene || s == "idle" }
		shares[scene] += share(judge(samples, counted, here).explained())
		without := judge(samples, func(s string) bool { return counted(s) && s != scene }, here)
		unseen.total, unseen.residual = unseen.total+without.total, unseen.residual+without.residual
	}
	return judge(samples, counted, counted), unseen
}

// share formats a share explained; far below 0 the size says nothing.
func share(x float64) string {
	if x < -0.99 {
		return " <-1"
	}
	return fmt.Sprintf(" %.2f", x)
}

func mean(values []float64) (sum float64) {
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

func variance(values []float64) float64 {
	average := mean(values)
	squared := make([]float64, len(values))
	for i, v := range values {
		squared[i] = (v - average) * (v - average)
	}
	return mean(squared)
}

func median(values []float64) float64 {
	values = slices.Sorted(slices.Values(values))
	return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
}
