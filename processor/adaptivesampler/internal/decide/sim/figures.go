package sim

import (
	"fmt"
	"io"

	"github.com/corehour/corehour/processor/adaptivesampler/internal/decide"
)

// Figure is one line of the table, in the form that test/figures/show reads.
type Figure struct {
	Name      string   `json:"name"`
	Value     float64  `json:"value"`
	Unit      string   `json:"unit"`
	Better    string   `json:"better"`
	Goal      *float64 `json:"goal,omitempty"`
	Peer      string   `json:"peer,omitempty"`
	PeerValue *float64 `json:"peer_value,omitempty"`
}

// Met reports whether the figure reaches its goal.
func (f *Figure) Met() bool {
	switch {
	case f.Goal == nil:
		return true
	case f.Better == "lower":
		return f.Value <= *f.Goal
	}
	return f.Value >= *f.Goal
}

// Table is all figures of a run.
type Table struct {
	Name    string   `json:"name"`
	Results []Figure `json:"results"`

	size     int
	fewer    int // methods of scenarios that need no more
	seeds    []uint64
	runs     int
	hours    int // of steady load
	peers    bool
	progress io.Writer
}

// seeds draw the populations of which the two peers whose rule leaves nothing
// open come nearest to the design's figures, of the first 400.
var seeds = []uint64{56, 117, 121}

// All returns the whole table.
func All(progress io.Writer) *Table {
	return runScenarios(&Table{Name: "sim-sampling", size: designSize, fewer: 240, seeds: seeds, runs: 500, hours: 12, peers: true, progress: progress})
}

// Short returns the configuration with few methods, one population, few runs and no peers.
func Short(progress io.Writer) *Table {
	return runScenarios(&Table{Name: "sim-sampling-short", size: 200, fewer: 60, seeds: seeds[:1], runs: 20, hours: 1, progress: progress})
}

func runScenarios(t *Table) *Table {
	for _, part := range []struct {
		name string
		add  func()
	}{{"days", t.days}, {"service", t.service}, {"steps", t.steps}, {"rest", t.steadyFleet}, {"first", t.first}, {"deployments", t.deployments}, {"tiers", t.tiers}, {"scorecard", t.scorecard}, {"bias", t.unbiased}} {
		fmt.Fprintf(t.progress, "%s ...\n", part.name)
		part.add()
	}
	return t
}

func (t *Table) lower(name string, value float64, unit string, goal float64) {
	t.Results = append(t.Results, Figure{Name: name, Value: value, Unit: unit, Better: "lower", Goal: &goal})
}

func (t *Table) higher(name string, value float64, unit string, goal float64) {
	t.Results = append(t.Results, Figure{Name: name, Value: value, Unit: unit, Better: "higher", Goal: &goal})
}

// compare adds a figure and a peer's, without a goal.
func (t *Table) compare(name string, value float64, unit, better, peer string, peerValue float64) {
	t.Results = append(t.Results, Figure{Name: name, Value: value, Unit: unit, Better: better, Peer: peer, PeerValue: &peerValue})
}

func (t *Table) days() {
	cfg, budget := budgetOf(t.size)
	group := decide.Group{Service: "shop", Version: "1"}
	floor := cfg.FloorRecordsPerDay
	ways := []struct {
		name     string
		learning int
		of       func([]*Method) Stepper
	}{
		{"budget", minutesPerDay, func([]*Method) Stepper { return decide.New(cfg) }},
		{"tiers", minutesPerDay, func(ms []*Method) Stepper {
			tiers := cfg
			tiers.Strategy = decide.StrategyTiers
			setEntryShares(ms)
			return decide.New(tiers)
		}},
		{"uniform", 5, func([]*Method) Stepper { return Uniform(budget) }},
		{"throughput per key", 5, func([]*Method) Stepper { return Throughput(budget) }},
		{"Neyman, truth known", 5, func(ms []*Method) Stepper { return Neyman(budget, ms) }},
		{"power without floor, truth known", 5, func(ms []*Method) Stepper { return Power(budget, ms) }},
	}
	if !t.peers {
		ways = ways[:1]
	}
	days := make([]Day, len(ways))
	for i, way := range ways {
		for _, seed := range t.seeds {
			methods := Population(seed, t.size, group)
			day := OneDay(methods, way.of(methods), budget, floor, way.learning, seed)
			n := float64(len(t.seeds))
			days[i].TotalError += day.TotalError / n
			days[i].TopShare += day.TopShare / n
			days[i].Floor += day.Floor / n
			days[i].Records += day.Records / n
			days[i].Worst = max(days[i].Worst, day.Worst)
		}
		fmt.Fprintf(t.progress, "  %s: %+v\n", way.name, days[i])
	}
	ours := days[0]
	if t.size == designSize { // the design's figures are about so many
		t.lower("relative error of the total cost", 100*ours.TotalError, "%", 0.175)
	}
	t.higher("methods with 200 records a day or all their calls", 100*ours.Floor, "%", 100)
	t.lower("fullest minute of a day, of what is allowed", ours.Worst, "", 1)
	t.higher("budget spent in a day", ours.Records/(budget*minutesPerDay), "", 0.9)
	for i, way := range ways[1:] {
		peer := days[i+1]
		t.compare("relative error of the total cost", 100*ours.TotalError, "%", "lower", way.name, 100*peer.TotalError)
		t.compare("of the most expensive tenth, known to 2%", 100*ours.TopShare, "%", "higher", way.name, 100*peer.TopShare)
		t.compare("methods with 200 records a day or all their calls", 100*ours.Floor, "%", "higher", way.name, 100*peer.Floor)
		t.compare("records of a day, of the budget", ours.Records/(budget*minutesPerDay), "", "lower", way.name, peer.Records/(budget*minutesPerDay))
	}
}

// service shows the precision at the shipped budget, and at others to choose from.
func (t *Table) service() {
	budgets := []float64{shipped, 3 * shipped, 10 * shipped}
	if !t.peers {
		budgets = budgets[:1]
	}
	for _, budget := range budgets {
		var sums [3]Service
		for _, seed := range t.seeds {
			first, later, compared := FirstMinutes(budget, seed)
			for i, s := range []Service{first, later, compared} {
				sums[i].Known += s.Known / float64(len(t.seeds))
				sums[i].Total += s.Total / float64(len(t.seeds))
				sums[i].Worst = max(sums[i].Worst, s.Worst)
			}
		}
		name := fmt.Sprintf("service of %d methods, %.0f records a second, methods of 1%% of its own cost known to 5%% in ten minutes: ", serviceSize, budget)
		fmt.Fprintf(t.progress, "  %s%+v\n", name, sums)
		t.higher(name+"in its second hour", 100*sums[1].Known, "%", 95)
		t.higher(name+"from its first minute on", 100*sums[0].Known, "%", 60)
		t.higher(name+"in the new of two versions", 100*sums[2].Known, "%", 40)
		t.lower(name+"largest error in the second hour", 100*sums[1].Worst, "%", 7)
		t.lower(name+"error of the service in the second hour", 100*sums[1].Total, "%", 0.75)
	}
}

func (t *Table) steps() {
	cfg, budget := budgetOf(t.size)
	half := func(m *Method, _ int) float64 { // every other method
		if m.Key.Method[len(m.Key.Method)-1]%2 == 0 {
			return 100
		}
		return 0.01
	}
	w := settledWorld(t.size, cfg, settled, 1, t.seeds[0])
	for _, step := range []struct {
		name string
		load Load
		up   bool
	}{
		{"all x100", times(100), true},
		{"all back, /100", steady, false},
		{"half x100, half /100", half, true},
		{"back", steady, true},
		{"all /100", times(0.01), false},
	} {
		after := Change(w, budget, step.load)
		if step.up {
			t.lower(step.name+": last interval above what is allowed", float64(after.TooMany), "", 2)
		} else {
			t.lower(step.name+": first interval with 90% of the budget spent", float64(after.Spent), "", 10)
		}
		t.higher(step.name+": budget spent from the 11th interval on", after.Later, "", 0.9)
		t.lower(step.name+": fullest later interval, of what is allowed", after.Most, "", 1)
		turns := 0.1
		if !step.up { // most methods keep every call, and what they leave to the others varies
			turns = 0.3
		}
		t.lower(step.name+": turns of a rate later", after.Turns, "per hour", turns)
	}
}

func (t *Table) steadyFleet() {
	cfg, _ := budgetOf(t.size)
	for _, strategy := range []string{decide.StrategyBudget, decide.StrategyTiers} {
		cfg.Strategy = strategy
		for _, bunch := range []float64{1, 20} {
			perHour, often := Rest(settledWorld(t.size, cfg, minutesPerDay, bunch, t.seeds[0]), 6)
			name := fmt.Sprintf("%s, steady load, %.0f calls at a time: ", strategy, bunch)
			t.lower(name+"turns of a rate", perHour, "per hour", 0.1)
			t.lower(name+"hours of a method with more than one", 100*often, "%", 0.1)
		}
	}
}

func (t *Table) deployments() {
	with, without := Deploy(t.size, true, t.seeds[0]), Deploy(t.size, false, t.seeds[0])
	t.lower("new version: last interval above what is allowed", float64(with.TooMany), "", 2)
	t.higher("new version: budget spent in the second half hour", with.Spent, "", 0.9)
	t.higher("new version at 10% of calls: its records by the old one's", with.Even, "", 0.8)
	t.compare("new version at 10% of calls: its records by the old one's", with.Even, "", "higher", "no boost", without.Even)
	t.compare("new version: records of the scarcer side", with.Scarcer, "", "higher", "no boost", without.Scarcer)
}

func (t *Table) tiers() {
	r := Tier(t.fewer, t.seeds[0])
	t.lower("tiers: turns of a rate in all of it", r.Turns, "per hour", 0.1)
	t.lower("tiers: returns to a class left within half an hour", r.Returns, "per hour", 0.01)
	t.higher("tiers: methods with 200 records a day or all their calls", 100*r.Floor, "%", 100)
	t.higher("tiers: methods at the rate of their class, or above it, at the end", 100*r.Settled, "%", 100)
	t.higher("tiers: checks that found a pin in force", 100*r.Pins, "%", 100)
}

func (t *Table) scorecard() {
	r := Score(t.fewer, t.seeds[0])
	t.compare("scorecard: calls of cheap methods without a probe on the second day", 100*r.Off[1], "%", "higher", "the first day", 100*r.Off[0])
	t.lower("scorecard: methods worth a probe that were ever off", 100*r.Wrong, "%", 0)
	t.higher("scorecard: of them hotspots or unmanaged after two days", 100*r.Heavy, "%", 100)
	t.higher("scorecard: cheap ones that became expensive and passed their probation", 100*r.Back, "%", 100)
	t.lower("scorecard: changes of a mode on the second day", r.Switches, "per hour", 0.1)
	t.higher("scorecard: checks that found a pin in force", 100*r.Pins, "%", 100)
	t.lower("scorecard: calls that records stand for, relative to those counted while on", 100*max(r.Counted, -r.Counted), "%", 1)
}

func (t *Table) unbiased() {
	u := Measure(t.runs, 1)
	t.lower(fmt.Sprintf("bias of totals while rates change (%d estimates)", u.Estimates), 100*max(u.Bias, -u.Bias), "%", 1)
	t.higher("intervals of 95% with the truth inside", 100*u.Coverage, "%", 91)
	t.compare("bias of totals while rates change", 100*u.Bias, "%", "lower", "calls x plain mean", 100*u.Plain)
	t.compare("bias of totals while rates change", 100*u.Bias, "%", "lower", "drops not aggregated", 100*u.Dropped)
}
