// Command hostile attacks a real collector from another address while two services send, and
// compares the output of the commands with their output without an attack.
//
//	hostile --bin ../bin --out ../build/bench
//
// The attackers send requests that would take gigabytes, bodies that never end, extreme values in
// every attribute of every kind of span, forged batch numbers of another process, invented services
// and methods, many more measurements than are kept, and requests for rates. The output about a
// service must be identical to the last byte, no call may be missing, and the collector must stay
// within its memory.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/corehour/corehour/integration/harness"
	"github.com/corehour/corehour/test/figures"
)

const (
	memoryLimit = 512 // MiB, of the memory limiter
	decoding    = 256 // MiB, limits::decoding_mib
	margin      = 128 // MiB, for everything else: stacks, buffers of connections, the program

	totalRecords = 300 // records per second that the sampler keeps in total
)

// settings are those of the shipped configuration, except that the collector flushes sooner and
// that one method of a stock SDK has a rate.
const settings = `
processors:
  memory_limiter: {check_interval: 1s, limit_mib: %d, spike_limit_mib: 128}
  adaptive_sampler:
    strategy: budget
    budget: {records_per_second: 100}
    limit: {total_records_per_second: %d}
    methods_file: %q
exporters:
  warehouse: {sending_queue: {batch: {flush_timeout: 2s}}}
service:
  pipelines:
    traces:
      processors: [memory_limiter, adaptive_sampler, cost_attribution]
`

const methodFile = `{"version": 1, "methods": [{"class": "web.server", "method": "*", "rate": 0.1}]}`

func main() {
	bin := flag.String("bin", "../bin", "directory of corehour and corehour-collector")
	out := flag.String("out", "../build/bench", "directory for the figures")
	strict := flag.Bool("strict", false, "fail if a figure misses its goal")
	services := flag.Int("services", 60_000, "services that the attackers invent")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := runBenchmark(ctx, *bin, *out, *services, *strict)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "hostile:", err)
		os.Exit(1)
	}
}

func runBenchmark(ctx context.Context, bin, out string, services int, strict bool) error {
	scratch, err := os.MkdirTemp("", "corehour-hostile-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	end := time.Now().Truncate(time.Minute)

	attack := &attack{services: services, end: end}
	var alone, attacked played
	if err := together(
		func() (err error) { alone, err = play(ctx, bin, filepath.Join(scratch, "alone"), end, nil); return err },
		func() (err error) {
			attacked, err = play(ctx, bin, filepath.Join(scratch, "attacked"), end, attack)
			return err
		},
	); err != nil {
		return err
	}

	differ := 0
	for _, line := range commandLines(end) {
		if alone.printed[line.name] != attacked.printed[line.name] {
			differ++
			fmt.Fprintf(os.Stderr, "%s prints something else with attackers:\n%s\n", line.name, firstDifference(alone.printed[line.name], attacked.printed[line.name]))
		}
	}
	report := figures.New("hostile")
	most := figures.Goal
	report.Add("requests of the attackers", float64(attack.requests.Load()), "", figures.Higher, nil)
	report.Add("refused, as they saw it", float64(attack.refused.Load()), "", figures.Higher, nil)
	report.Add("spans refused by the memory limiter, as they saw it", float64(attack.limited.Load()), "", figures.Higher, nil)
	report.Add("accepted measurements of the flood, for each that is kept of all", attack.flooded/totalRecords, "", figures.Higher, nil)
	report.Add("outputs compared", float64(len(commandLines(end))), "", figures.Higher, nil)
	report.Add("outputs that differ", float64(differ), "", figures.Lower, most(0))
	report.Add("calls of the victim that are missing", float64(alone.calls-attacked.calls), "", figures.Lower, most(0))
	report.Add("calls behind forged batch numbers that are missing", float64(forgedCalls)-attacked.forged, "", figures.Lower, most(0))
	report.Add("forged batch numbers, named by check", attacked.conflicts, "", figures.Higher, most(20))
	report.Add("calls of the stock SDK, of those without attackers", attacked.stockCalls/alone.stockCalls, "", figures.Higher, figures.Goal(0.999))
	report.Add("refusals that no metric counts", max(float64(attack.refused.Load())-attacked.refused, float64(attack.limited.Load())-attacked.limited), "", figures.Lower, most(0))
	report.Add("faults counted by reason", attacked.faults, "", figures.Higher, nil)
	report.Add("lines of the longest answer about all services", attacked.longest, "", figures.Lower, most(1000))
	report.Add("longest time of such an answer", attacked.slowest, "s", figures.Lower, most(60))
	report.Add("memory at the peak", attacked.peak, "MiB", figures.Lower, most(memoryLimit+decoding+margin))
	report.Add("restarts of the collector", attacked.deaths, "", figures.Lower, most(0))
	err = errors.Join(report.Print(os.Stdout), report.Write(out))
	if strict {
		err = errors.Join(err, report.Missed())
	}
	return err
}

// played is the result of a play.
type played struct {
	printed    map[string]string // by command line
	calls      float64           // of the victim
	forged     float64
	conflicts  float64
	stockCalls float64
	refused    float64
	limited    float64
	faults     float64
	peak       float64
	deaths     float64
	longest    float64 // lines of an answer about all services
	slowest    float64 // seconds of one
}

// play runs the victims, and the attackers if there are any, and then the commands.
func play(ctx context.Context, bin, dir string, end time.Time, attack *attack) (played, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return played{}, err
	}
	methods := filepath.Join(dir, "methods.json")
	if err := os.WriteFile(methods, []byte(methodFile), 0o600); err != nil {
		return played{}, err
	}
	c, err := harness.NewCollector(filepath.Join(bin, harness.CollectorBinary), dir, "", fmt.Sprintf(settings, memoryLimit, totalRecords, methods))
	if err != nil {
		return played{}, err
	}
	if err := c.Start(ctx); err != nil {
		return played{}, err
	}
	defer c.Close()

	during, stop := context.WithCancel(ctx)
	defer stop()
	attacking := make(chan error, 1)
	if attack != nil {
		go func() { attacking <- attack.attackInAllWays(during, c) }()
	} else {
		attacking <- nil
	}
	if err := sendVictims(ctx, c, end, attack); err != nil {
		return played{}, errors.Join(err, errors.New(c.Process().LastLines(60)))
	}
	stop()
	if err := <-attacking; err != nil {
		return played{}, errors.Join(err, errors.New(c.Process().LastLines(60)))
	}
	var p played
	metrics, err := c.Scrape(ctx)
	if err != nil {
		return played{}, err
	}
	const asked = "otelcol_extension_sampling_rates_requests"
	p.refused = metrics.Sum("otelcol_receiver_method_spans_refused") + metrics.Sum(asked, "result", "bad_request") + metrics.Sum(asked, "result", "unavailable")
	p.limited = metrics.Sum("otelcol_processor_memory_limiter_refused_spans")
	p.faults = metrics.Sum("otelcol_receiver_method_spans_faults")
	if p.peak, err = peakMemory(c.Process().Pid()); err != nil {
		return played{}, err
	}
	if err := c.Stop(); err != nil {
		p.deaths++
	}
	command := harness.Command{Binary: filepath.Join(bin, harness.CommandBinary), Warehouse: c.Warehouse}
	return p, errors.Join(p.ask(ctx, command, end), p.askOfAll(ctx, command, end))
}
