package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/corehour/corehour/regression/compare/evidence"
	"github.com/corehour/corehour/regression/ledger"
	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
)

// Texts shown for empty tables.
const (
	noCosts   = "No CPU time was measured in this window, so no method has a cost."
	wallNote  = "Wall time of the methods of services of which no CPU time was measured. Own time is without the calls that a method makes; a c marks methods whose calls took longer than they did, so that some ran at the same time and own time is not known. A ~ marks what is too uncertain to act on."
	noChanges = "No two versions could be compared in this window."
)

func (r *Report) window() string {
	return output.Time(r.From, r.zone) + " to " + output.Time(r.To, r.zone)
}

func (r *Report) basis() string {
	return output.Several(r.Records, "record") + " of " + processes(r.Instances)
}

func processes(n int) string {
	if n == 1 {
		return "1 process"
	}
	return strconv.Itoa(n) + " processes"
}

func (r *Report) metricName() string {
	if r.Metric == string(query.CPU) {
		return "CPU"
	}
	return r.Metric
}

func (r *Report) healthVerdict() string {
	verdict := "The accounts balance: every call that was emitted is stored once."
	switch {
	case r.Health.CouldNotTell:
		return "Whether the accounts balance is unknown: " + r.Health.Why() + "."
	case !r.Health.Balanced:
		verdict = "The accounts do not balance: " + strings.Join(r.Health.Faults, "; ")
	}
	if note := r.Health.LeftOut(); note != "" {
		verdict += " (" + note + ")"
	}
	return verdict
}

func healthFigures(s ledger.Service) []string {
	return []string{
		strconv.Itoa(s.Processes), strconv.Itoa(s.DeadProcesses), strconv.FormatInt(s.HandedOutCalls, 10), strconv.FormatInt(s.CountedCalls, 10),
		strconv.FormatInt(s.LostInTransit, 10), strconv.FormatInt(s.ForeignRows, 10), output.Share(s.UnpricedShare),
	}
}

// high returns the upper end of the interval, or the cost if there is none.
func (c Cost) high() float64 {
	if c.Interval == nil {
		return c.SelfCoreHours
	}
	return c.Interval[1]
}

func (c Cost) mark() string {
	if c.Uncertain != "" {
		return "~ "
	}
	if c.Warning != "" {
		return ">= "
	}
	return ""
}

func (c Cost) usd() string {
	if c.SelfUSD == nil {
		return "unpriced"
	}
	return c.mark() + output.Priced(c.SelfUSD, c.GenericPrice)
}

func (c *Change) change() string {
	switch {
	case c.Proven:
		return output.Change(*c.ChangePercent)
	case c.State == evidence.Explained:
		if c.Measured == nil { // with the threshold rule this is the inclusive change
			return output.Change(*c.ChangePercent) + " by its callees"
		}
		return "~ " + output.Change(*c.ChangePercent) + ", inclusive by its callees"
	case c.State == evidence.WithService:
		return output.Change(*c.ChangePercent) + " as the service"
	case c.State == evidence.NotDistinguishable:
		return output.Change(*c.ChangePercent) + ", not distinguishable"
	case c.State == evidence.Small:
		return output.Change(*c.ChangePercent) + ", below --min-share"
	case c.State == evidence.Undecided:
		return output.Change(*c.ChangePercent) + ", not enough data"
	}
	return "~ " + output.Change(*c.ChangePercent)
}

// measured returns the measured change and the common part that was subtracted from it.
func (c *Change) measured() string {
	switch {
	case c.Measured == nil:
		return "-"
	case c.Common == nil:
		return output.Change(c.Measured.Percent) + ", nothing"
	}
	return output.Change(c.Measured.Percent) + ", " + output.Change(c.Common.Percent)
}

func (c *Change) records() string { return fmt.Sprintf("%d / %d", c.BaseRecords, c.HeadRecords) }

// self returns the self wall time, with its mark.
func (w *Wall) self() string {
	switch {
	case w.Clipped:
		return "c " + output.Amount(w.SelfWallHours)
	case w.Uncertain != "":
		return "~ " + output.Amount(w.SelfWallHours)
	}
	return output.Amount(w.SelfWallHours)
}

// versionText describes the distribution of a version's call times in a sentence.
func (m Method) versionText(version string) string {
	i := slices.IndexFunc(m.Distributions, func(s Distribution) bool { return s.Version == version })
	if i < 0 {
		return "not measured"
	}
	s := m.Distributions[i]
	return fmt.Sprintf("half of the calls take up to %s, 95%% up to %s, 99%% up to %s",
		output.Nanos(s.quantile(.5)), output.Nanos(s.quantile(.95)), output.Nanos(s.quantile(.99)))
}

// quantile returns the upper end of the bin that contains quantile q: at most 19% too high.
func (s Distribution) quantile(q float64) float64 {
	sum := 0.0
	for _, bin := range slices.Sorted(maps.Keys(s.Bins)) {
		if sum += s.Bins[bin]; sum >= q-1e-9 {
			return query.BinStart(bin + 1)
		}
	}
	return math.NaN()
}

// each calls visit for every node of the tree, parents first.
func (t Tree) each(visit func(n *Node, level int)) {
	var walk func(nodes []*Node, level int)
	walk = func(nodes []*Node, level int) {
		for _, n := range nodes {
			visit(n, level)
			walk(n.Children, level+1)
		}
	}
	walk(t.Roots, 0)
}
