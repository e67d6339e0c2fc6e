//go:build linux

// Command truth scores `corehour cost` and `corehour regress` by services whose work is known:
// three services with probes on one host, one of them in two versions, for three minutes idle and
// three minutes next to a busy neighbour. Each reports the cost of an iteration of its bodies
// during the run. A twin without probes runs at the same time and reports the cost of a call on top
// of its iterations. `corehour report` and `corehour explain` must have the same figures.
//
// It fails where a figure is further from the truth than its 99.99% interval and the error of the
// truth, and where fewer than 90% of all 95% intervals hold the truth.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/corehour/corehour/integration/harness"
	"github.com/corehour/corehour/test/figures"
)

// Services sample at rates that differ tenfold: the cost of a method must not depend on it. All
// requests of the third service are timed, so that their total cost is known except for the probes'
// own cost.
var services = []struct{ name, rate, methods string }{
	{"often", "0.02", ""},
	{"seldom", "0.002", ""},
	{allTimed, "0.02", `{"version": 1, "methods": [{"class": "main.service", "method": "root", "rate": 1}]}`},
}

const (
	allTimed = "all requests timed"
	// sumError is the largest accepted error of the sum of a service's own costs.
	sumError = 0.03
)

const (
	burst = 5 * time.Second // of the twin
	// truthError is the error of the truth as a share and in ns per call: the cost of a call amid
	// others is known to that precision.
	truthError, callError = 0.02, 2.0
	// costSlot is the time bucket of `corehour cost` for runs shorter than four minutes. changeSlot
	// is longer, so that a change with few clusters in `corehour regress` is compared by as few.
	costSlot, changeSlot = time.Second, 10 * time.Second
)

func main() {
	bin := flag.String("bin", "../bin", "directory of corehour and corehour-collector")
	out := flag.String("out", "../build/bench", "directory for the figures")
	duration := flag.Duration("duration", 3*time.Minute, "how long the services run in each scene")
	short := flag.Bool("short", false, "without the busy neighbour; as few intervals may miss the truth more often by chance")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := runBenchmark(ctx, *bin, *out, *duration, *short); err != nil {
		fmt.Fprintln(os.Stderr, "truth:", err)
		os.Exit(1)
	}
}

// programs are the paths of the built programs.
type programs struct{ bin, known, twin string }

func runBenchmark(ctx context.Context, bin, out string, duration time.Duration, short bool) error {
	if duration < 2*burst {
		return fmt.Errorf("--duration must be at least %s, found %s", 2*burst, duration)
	}
	bin, err := filepath.Abs(bin)
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "corehour-truth-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	p := programs{bin, filepath.Join(scratch, "calibrated"), filepath.Join(scratch, "twin")}
	for path, tags := range map[string]string{p.known: "", p.twin: "twin"} {
		build := exec.CommandContext(ctx, "go", "build", "-tags", tags, "-o", path, "./program/calibrated")
		if text, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("building ./program/calibrated: %w\n%s", err, text)
		}
	}
	report := figures.New("truth")
	var all score
	for _, busy := range []bool{false, true} {
		if busy && short {
			break
		}
		scene := map[bool]string{false: "idle", true: "busy neighbour"}[busy]
		fmt.Fprintf(os.Stderr, "%s: %s\n", scene, duration)
		s, err := p.play(ctx, filepath.Join(scratch, fmt.Sprint(busy)), duration, busy)
		if err != nil {
			return fmt.Errorf("%s: %w", scene, err)
		}
		s.addFigures(report, scene)
		all.join(s)
	}
	least := 0.9
	if short { // three standard errors less
		least -= 3 * math.Sqrt(0.9*0.1/float64(all.of))
	}
	report.Add("95% intervals that hold the truth", 100*float64(all.covered)/float64(all.of), "%", figures.Higher, figures.Goal(100*least))
	report.Add("figures of which report and explain say what cost and regress do", float64(all.compared), "", figures.Higher, nil)
	report.Add("figures beyond their 99.99% interval, or said differently", float64(len(all.beyond)), "", figures.Lower, figures.Goal(0))
	if err := errors.Join(report.Print(os.Stdout), report.Write(out)); err != nil {
		return err
	}
	if len(all.beyond) > 0 || float64(all.covered) < least*float64(all.of) {
		return fmt.Errorf("%d of %d intervals hold the truth; beyond it: %q", all.covered, all.of, all.beyond)
	}
	return nil
}

// play runs a scene and scores it.
func (p *programs) play(ctx context.Context, dir string, duration time.Duration, busy bool) (*score, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	c, err := harness.NewCollector(filepath.Join(p.bin, harness.CollectorBinary), dir, "", "")
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if err := c.Start(ctx); err != nil {
		return nil, err
	}
	if busy {
		neighbour, err := harness.Start("neighbour", filepath.Join(dir, "neighbour.log"), nil, p.twin,
			"--requests", "1e6", "--duration", duration.String(), "--report", filepath.Join(dir, "neighbour.json"))
		if err != nil {
			return nil, err
		}
		defer func() { _ = neighbour.Kill() }()
	}
	var running []*harness.Process
	start := func(name, service, rate, methods string, more ...string) error {
		env := []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.Endpoint()}
		if methods != "" {
			path := filepath.Join(dir, name+"-methods.json")
			if err := os.WriteFile(path, []byte(methods), 0o600); err != nil {
				return err
			}
			env = append(env, "COREHOUR_METHODS="+path)
		}
		process, err := harness.Start(name, filepath.Join(dir, name+".log"), env, p.known, append([]string{
			"--service", service, "--rate", rate, "--duration", duration.String(), "--report", filepath.Join(dir, name+".json")}, more...)...)
		if err == nil {
			running = append(running, process)
		}
		return err
	}
	for _, s := range services {
		if err := start(s.name, s.name, s.rate, s.methods); err != nil {
			return nil, err
		}
	}
	for _, v := range []struct{ version, slower string }{{base, ""}, {head, slower}} {
		if err := start(changed+v.version, changed, fmt.Sprint(changedShare), "", "--version", v.version, "--slower", v.slower); err != nil {
			return nil, err
		}
		time.Sleep(time.Second) // the version that started first is the base, and a process takes a while to start
	}
	var truths []twin
	for begin := time.Now(); time.Since(begin) < duration-burst; {
		t, err := p.measureTwin(ctx, dir)
		if err != nil {
			return nil, err
		}
		truths = append(truths, t)
	}
	for _, process := range running {
		if err := process.Wait(ctx); err != nil {
			return nil, fmt.Errorf("%w; %s", err, process.LastLines(5))
		}
	}
	if err := c.Stop(); err != nil {
		return nil, err
	}
	truth := median(truths)
	score := &score{wider: wider(duration, costSlot)}
	command := harness.Command{Binary: filepath.Join(p.bin, harness.CommandBinary), Warehouse: c.Warehouse}
	for _, s := range services {
		var counted counts
		if err := readJSON(filepath.Join(dir, s.name+".json"), &counted); err != nil {
			return nil, err
		}
		costs, err := command.Cost(ctx, "--service", s.name)
		if err != nil {
			return nil, err
		}
		score.judge(s.name, truth, counted.undisturbed(), costs)
		if err := score.judgeSums(ctx, command, s.name, s.name == allTimed, truth, counted); err != nil {
			return nil, err
		}
		if err := score.sameEverywhere(ctx, command, s.name, costs, nil); err != nil {
			return nil, err
		}
	}
	score.wider = wider(duration, changeSlot)
	return score, p.compareVersions(ctx, command, dir, truth, score)
}

// compareVersions scores the verdicts on the service that runs in two versions.
func (p *programs) compareVersions(ctx context.Context, command harness.Command, dir string, truth twin, score *score) error {
	runs := map[string]counts{}
	for _, version := range []string{base, head} {
		var counted counts
		if err := readJSON(filepath.Join(dir, changed+version+".json"), &counted); err != nil {
			return err
		}
		runs[version] = counted.undisturbed()
	}
	findings, err := command.Regress(ctx, "--service", changed, "--all")
	if err != nil {
		return err
	}
	var verdicts []harness.Verdict
	for _, c := range findings.Comparisons {
		verdicts = append(verdicts, c.Methods...)
	}
	score.judgeChanges(truth, runs, verdicts)
	return score.sameEverywhere(ctx, command, changed, harness.Costs{}, verdicts)
}

// twin is the cost of a call on top of its iterations, in ns, as measured by the program without
// probes.
type twin struct {
	PerCall float64 `json:"ns_per_call"`
}

// perCall returns the cost of a method's body in the process of c.
func (t twin) perCall(c counts, method string) float64 {
	iteration := c.PerIteration
	if method == "heavy" {
		iteration = c.PerLongIteration
	}
	return iteration*float64(c.Iterations[method]) + t.PerCall
}

func (p *programs) measureTwin(ctx context.Context, dir string) (t twin, err error) {
	path := filepath.Join(dir, "twin.json")
	if out, err := exec.CommandContext(ctx, p.twin, "--duration", burst.String(), "--report", path).CombinedOutput(); err != nil {
		return t, fmt.Errorf("the twin: %w\n%s", err, out)
	}
	return t, readJSON(path, &t)
}

func median(of []twin) twin {
	slices.SortFunc(of, func(a, b twin) int { return cmp.Compare(a.PerCall, b.PerCall) })
	return twin{max(0, of[len(of)/2].PerCall)}
}

// counts is a service's own record.
type counts struct {
	Calls      map[string]int64 `json:"calls"`
	Iterations map[string]int   `json:"iterations"`
	speed
	Undisturbed speed `json:"undisturbed"`
	Minutes     []struct {
		Begin time.Time        `json:"begin"`
		Calls map[string]int64 `json:"calls"`
		speed
	} `json:"minutes"`
}

// undisturbed returns the counts with the speed of most calls. The host delays few calls: a sum of
// all calls includes all of that time, but the figure of a method with one timed call in many
// mostly lacks it.
func (c counts) undisturbed() counts {
	c.speed = c.Undisturbed
	return c
}

// speed is the cost of iterations of a service in ns: in short bodies, and in the heavy one.
type speed struct {
	PerIteration     float64 `json:"ns_per_iteration"`
	PerLongIteration float64 `json:"ns_per_long_iteration"`
}

func readJSON(path string, into any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}

// score compares figures with the truth.
type score struct {
	covered, of int
	compared    int // with another command
	beyond      []string
	lines       []line
	wider       float64 // a 99.99% interval relative to a 95% one
}

// wider returns the width of a 99.99% interval relative to a 95% interval. Both are Student's, with
// one degree of freedom less than there are buckets.
func wider(duration, slot time.Duration) float64 {
	t := distuv.StudentsT{Sigma: 1, Nu: max(1, math.Floor(duration.Seconds()/slot.Seconds())-1)}
	return t.Quantile(0.99995) / t.Quantile(0.975)
}

// line is one figure of one service.
type line struct {
	name         string
	truth, found float64
	unit         string
}

func (s *score) join(o *score) {
	s.covered, s.of, s.compared = s.covered+o.covered, s.of+o.of, s.compared+o.compared
	s.beyond = append(s.beyond, o.beyond...)
}

func (s *score) addFigures(report *figures.Run, scene string) {
	for _, l := range s.lines {
		report.Compare(fmt.Sprintf("%s: %s", scene, l.name), l.found, l.unit, "truth", l.truth, figures.Lower, nil)
	}
	report.Add(scene+": 95% intervals that hold the truth", 100*float64(s.covered)/float64(max(s.of, 1)), "%", figures.Higher, nil)
}

func (s *score) judge(service string, truth twin, counted counts, costs harness.Costs) {
	heavyTimed := slices.ContainsFunc(costs.Methods, func(m harness.MethodCost) bool { return m.Method == "heavy" && m.CPUMeasured > 0 })
	for _, m := range costs.Methods {
		calls := float64(counted.Calls[m.Method])
		if m.CPUMeasured == 0 {
			continue // none of its few calls was timed, which the command reports
		}
		if calls == 0 || m.SelfCoreHours == nil && !m.BelowResolution {
			s.beyond = append(s.beyond, fmt.Sprintf("%s %s: no figure", service, m.Method))
			continue
		}
		perCall := truth.perCall(counted, m.Method)
		if m.Method == "root" && !heavyTimed { // only root calls it, so its cost is in root's own
			perCall += truth.perCall(counted, "heavy") * float64(counted.Calls["heavy"]) / calls
		}
		slack := truthError*perCall + callError
		if m.BelowResolution { // the figure is only an upper bound of the cost of a call
			s.of++
			if perCall <= m.ResolutionNS+slack {
				s.covered++
			}
			if perCall > m.ResolutionNS*s.wider+slack {
				s.beyond = append(s.beyond, fmt.Sprintf("%s %s: at most %.4g ns a call, truth %.4g", service, m.Method, m.ResolutionNS, perCall))
			}
			continue
		}
		found := *m.SelfCoreHours * 3.6e12 / calls
		s.lines = append(s.lines, line{name: service + " " + m.Method, truth: perCall, found: found, unit: "ns/call"})
		if m.SelfCoreHours95 == nil {
			continue // reported as unknown
		}
		s.hold(service+" "+m.Method+", ns a call", perCall, slack, found, [2]float64{m.SelfCoreHours95[0] * 3.6e12 / calls, m.SelfCoreHours95[1] * 3.6e12 / calls})
	}
}

// hold counts whether an interval, and the 99.99% one, holds the truth.
func (s *score) hold(what string, truth, slack, found float64, interval [2]float64) {
	outside := func(times float64) bool {
		return truth < found-times*(found-interval[0])-slack || truth > found+times*(interval[1]-found)+slack
	}
	s.of++
	if !outside(1) {
		s.covered++
	}
	if outside(s.wider) {
		s.note("%s: %.4g (%.4g to %.4g), truth %.4g", what, found, interval[0], interval[1], truth)
	}
}
