package integration

import (
	"fmt"
	"testing"
	"time"
)

// hotInterval is the interval in tests of the hot program: short, so that a test sees several.
const hotInterval = 5 * time.Second

// hotProgram starts a service of 60 methods that are called 0.5 to 200,000 times a second, more
// than a million calls in all. Like any program that knows where to ask for rates, it starts with
// the rates of unknown methods.
func hotProgram(t *testing.T, p *pipeline, service string) *load {
	t.Helper()
	return startLoadByEnvironment(t, p.askingForRates(), service, "--service", service, "--methods", "60", "--fastest", "200000",
		"--rate", "0.01", "--cpu-rate", "1", "--flush", "100ms", "--interval", hotInterval.String())
}

// TestShippedSampling_HotProgramKeepsToBudget proves that the shipped configuration keeps at most
// twice its budget of records a second in every interval from the first on: for a program that
// starts with the collector, and for a new service at a running collector. Counts stay complete.
func TestShippedSampling_HotProgramKeepsToBudget(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-full runs it")
	}
	t.Parallel()
	withRetries(t, func() faults { return runHotPrograms(t) })
}

func runHotPrograms(t *testing.T) faults {
	const intervals, lateFrom = 6, 2
	p := newShippedPipeline(t, fmt.Sprintf("processors: {adaptive_sampler: {interval: %s}}\n", hotInterval))
	p.start(t)
	ends := []time.Time{time.Now()}
	loads := []*load{hotProgram(t, p, "early")}
	for i := 1; i <= intervals; i++ {
		p.awaitMetric(t, float64(i), "otelcol_processor_adaptive_sampler_steps")
		ends = append(ends, time.Now())
		if i == lateFrom {
			loads = append(loads, hotProgram(t, p, "late"))
		}
	}
	early, late := loads[0].end(t), loads[1].end(t)
	p.stop(t)
	requireExact(t, p, early, late)
	requireQuietLog(t, p)

	f := faults{}
	if calls := float64(sum(countedCalls(early))) / ends[intervals].Sub(ends[0]).Seconds(); calls < 300_000 {
		f.addf("the load", "%.0f calls a second were made: this proves little", calls)
	}
	kept := keptBetween(t, p, ends)
	t.Logf("of %d and %d calls, kept over the target by interval: early %.2f, late %.2f", sum(countedCalls(early)), sum(countedCalls(late)), kept["early"], kept["late"])
	for service, from := range map[string]int{"early": 0, "late": lateFrom} {
		for i, most := range kept[service] {
			if most > 2 {
				f.addf(service, "it keeps %.2f times the target in interval %d", most, i+1)
			}
			if i > from && most < 0.3 {
				f.addf(service, "it keeps %.2f times the target in interval %d: too little to prove anything", most, i+1)
			}
		}
	}
	return f
}

// keptBetween returns by service the stored measurements of each interval, divided by the target of
// the shipped configuration.
func keptBetween(t *testing.T, p *pipeline, ends []time.Time) map[string][]float64 {
	t.Helper()
	const target = 100 // records per second and service
	kept := map[string][]float64{}
	for i, end := range ends[1:] {
		for _, row := range query[struct {
			Service string  `json:"service"`
			Kept    float64 `json:"kept"`
		}](t, p, fmt.Sprintf(`SELECT service, COUNT(*) AS kept FROM method_calls
			WHERE kind = 'call' AND end_ns >= %d AND end_ns < %d GROUP BY service`, ends[i].UnixNano(), end.UnixNano())) {
			if kept[row.Service] == nil {
				kept[row.Service] = make([]float64, len(ends)-1)
			}
			kept[row.Service][i] = row.Kept / (target * max(end.Sub(ends[i]), hotInterval/2).Seconds())
		}
	}
	return kept
}
