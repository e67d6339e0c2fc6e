//go:build linux

// Command benchtruth judges `corehour cost` by a service whose work is known: two services
// with probes on one host, for three minutes idle and three next to a busy neighbour, and a
// twin without probes that runs at the same time and says what the same bodies cost.
//
// It fails where a figure is further from the truth than its 99.99% interval and the error of the
// truth, and where fewer than 90% of all 95% intervals hold the truth.
package main

import (
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

	"github.com/corehour/corehour/test/figures"
	"github.com/corehour/corehour/test/integration/harness"
)

// Services sample at rates that differ tenfold: what a method costs must not depend on it.
var services = []struct {
	name string
	rate string
}{{"often", "0.02"}, {"seldom", "0.002"}}

const (
	burst = 5 * time.Second // of the twin
	// truthError is the error of what the twin says, as a share and in ns a call: the cost of a
	// call in the midst of others is known to that.
	truthError, callError = 0.02, 2.0
	// bucket is the length of a cluster in `corehour cost` of some minutes.
	slot = 10 * time.Second
)

func main() {
	bin := flag.String("bin", "../../bin", "directory of corehour and corehour-collector")
	out := flag.String("out", "../../build/bench", "directory for the figures")
	duration := flag.Duration("duration", 3*time.Minute, "how long the services run in each scene")
	short := flag.Bool("short", false, "without the busy neighbour; as few intervals may miss the truth more often by chance")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := runBenchmark(ctx, *bin, *out, *duration, *short); err != nil {
		fmt.Fprintln(os.Stderr, "benchtruth:", err)
		os.Exit(1)
	}
}

// programs are built for the bench.
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
	p := programs{bin, filepath.Join(scratch, "known"), filepath.Join(scratch, "twin")}
	for path, tags := range map[string]string{p.known: "", p.twin: "twin"} {
		build := exec.CommandContext(ctx, "go", "build", "-tags", tags, "-o", path, "./known")
		if text, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("building ./known: %w\n%s", err, text)
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
	report.Add("figures beyond their 99.99% interval", float64(len(all.beyond)), "", figures.Lower, figures.Goal(0))
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
	env := []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.Endpoint()}
	var running []*harness.Process
	for _, s := range services {
		process, err := harness.Start(s.name, filepath.Join(dir, s.name+".log"), env, p.known,
			"--service", s.name, "--rate", s.rate, "--duration", duration.String(), "--report", filepath.Join(dir, s.name+".json"))
		if err != nil {
			return nil, err
		}
		running = append(running, process)
	}
	var truths []bodies
	for begin := time.Now(); time.Since(begin) < duration-burst; {
		b, err := p.measureTwin(ctx, dir)
		if err != nil {
			return nil, err
		}
		truths = append(truths, b)
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
	score := &score{wider: wider(duration)}
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
		score.judge(s.name, truth, counted, costs)
	}
	return score, nil
}

// bodies are what the twin says that an iteration and a call cost, in ns.
type bodies struct {
	PerIteration float64 `json:"ns_per_iteration"`
	PerCall      float64 `json:"ns_per_call"`
}

func (p *programs) measureTwin(ctx context.Context, dir string) (b bodies, err error) {
	path := filepath.Join(dir, "twin.json")
	if out, err := exec.CommandContext(ctx, p.twin, "--duration", burst.String(), "--report", path).CombinedOutput(); err != nil {
		return b, fmt.Errorf("the twin: %w\n%s", err, out)
	}
	return b, readJSON(path, &b)
}

func median(of []bodies) (b bodies) {
	middle := func(value func(bodies) float64) float64 {
		var all []float64
		for _, b := range of {
			all = append(all, value(b))
		}
		slices.Sort(all)
		return all[len(all)/2]
	}
	b.PerIteration = middle(func(b bodies) float64 { return b.PerIteration })
	b.PerCall = max(0, middle(func(b bodies) float64 { return b.PerCall }))
	return b
}

// counts are what a service says of itself.
type counts struct {
	Calls      map[string]int64 `json:"calls"`
	Iterations map[string]int   `json:"iterations"`
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
	beyond      []string
	lines       []line
	wider       float64 // a 99.99% interval by a 95% one
}

// wider returns how many times as wide a 99.99% interval is as one of 95%. Both are Student's, with
// a degree of freedom less than there are buckets.
func wider(duration time.Duration) float64 {
	t := distuv.StudentsT{Sigma: 1, Nu: max(1, math.Floor(duration.Seconds()/slot.Seconds())-1)}
	return t.Quantile(0.99995) / t.Quantile(0.975)
}

// line is one method of one service, in ns a call.
type line struct {
	name         string
	truth, found float64
	total        bool
}

func (s *score) join(o *score) {
	s.covered, s.of = s.covered+o.covered, s.of+o.of
	s.beyond = append(s.beyond, o.beyond...)
}

func (s *score) addFigures(report *figures.Run, scene string) {
	for _, l := range s.lines {
		name := fmt.Sprintf("%s: %s", scene, l.name)
		if l.total {
			report.Compare(name, l.found, "core-s", "truth", l.truth, figures.Lower, nil)
			continue
		}
		report.Compare(name, l.found, "ns/call", "truth", l.truth, figures.Lower, nil)
	}
	report.Add(scene+": 95% intervals that hold the truth", 100*float64(s.covered)/float64(max(s.of, 1)), "%", figures.Higher, nil)
}

func (s *score) judge(service string, truth bodies, counted counts, costs harness.Costs) {
	var sumTruth, sumFound float64
	for _, m := range costs.Methods {
		calls := float64(counted.Calls[m.Method])
		if m.CPUMeasured == 0 {
			continue // of so few calls none was timed, which the command says
		}
		if calls == 0 || m.SelfCoreHours == nil && !m.BelowResolution {
			s.beyond = append(s.beyond, fmt.Sprintf("%s %s: no figure", service, m.Method))
			continue
		}
		perCall := truth.PerIteration*float64(counted.Iterations[m.Method]) + truth.PerCall
		slack := truthError*perCall + callError
		if m.BelowResolution { // it says no more than what a call costs at most
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
		sumTruth, sumFound = sumTruth+calls*perCall, sumFound+calls*found
		s.lines = append(s.lines, line{name: service + " " + m.Method, truth: perCall, found: found})
		if m.SelfCoreHours95 == nil {
			continue // it says that it does not know
		}
		low, high := m.SelfCoreHours95[0]*3.6e12/calls, m.SelfCoreHours95[1]*3.6e12/calls
		outside := func(times float64) bool {
			return perCall < found-times*(found-low)-slack || perCall > found+times*(high-found)+slack
		}
		s.of++
		if !outside(1) {
			s.covered++
		}
		if outside(s.wider) {
			s.beyond = append(s.beyond, fmt.Sprintf("%s %s: %.4g ns a call (%.4g to %.4g), truth %.4g", service, m.Method, found, low, high, perCall))
		}
	}
	s.lines = append(s.lines, line{service + ", own costs of all methods", sumTruth / 1e9, sumFound / 1e9, true})
}
