package adaptivesampler

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/corehour/corehour/internal/methodfile"
	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/rates"
	"github.com/corehour/corehour/processor/adaptivesampler/internal/decide"
)

// fewRecords is the minimum number of records for an estimate of the variation between calls.
const fewRecords = 30

// maxExplained bounds the explanations per request: a service can have more versions than a user can read.
const maxExplained = 100

// Explain implements rates.Source. It returns an explanation for each version that has seen the method, newest
// first. If no version has seen it, it returns one explanation that states this.
func (l *controlLoop) Explain(target rates.Target, name string) []rates.Explanation {
	t := l.table
	t.mu.RLock()
	defer t.mu.RUnlock()
	var groups []*group
	for _, g := range t.groups {
		if matches(target.Namespace, g.Namespace) && target.Service == g.Service &&
			matches(target.Environment, g.Environment) && matches(target.Version, g.Version) {
			groups = append(groups, g)
		}
	}
	slices.SortFunc(groups, func(a, b *group) int { return cmp.Compare(b.ordinal, a.ordinal) })
	f := methodspan.ParseFunction(name)
	var all []rates.Explanation
	for _, g := range groups {
		found := g.findByName(name, f)
		for _, m := range found {
			all = append(all, l.explain(m))
		}
		if len(found) == 0 {
			all = append(all, l.explainAbsent(g, name, f))
		}
	}
	if len(groups) == 0 {
		g := &group{Group: decide.Group{Namespace: target.Namespace, Service: target.Service, Environment: target.Environment, Version: target.Version}, unknown: t.unknown}
		all = append(all, l.explainAbsent(g, name, f))
	}
	return all[:min(len(all), maxExplained)]
}

func matches(asked, is string) bool { return asked == "" || asked == is }

// findByName returns the methods of a name, which can be spelled as in spans, in normal form, or as the name of the
// method's spans. If there is none, it returns the methods whose full names end in it: Cart.Total of shop/cart.Cart.Total.
func (g *group) findByName(name string, f methodspan.Function) []*method {
	if m, ok := g.plain[name]; ok {
		return []*method{m}
	}
	if m, ok := g.methods[f]; ok {
		return []*method{m}
	}
	if name == methodspan.Overflow {
		return []*method{g.overflow}
	}
	var found []*method
	for have, m := range g.methods {
		if have.Full() == name || have.Full() == f.Full() || m.spanName() == name {
			found = append(found, m)
		}
	}
	if len(found) == 0 && name != "" {
		for have, m := range g.methods {
			if full := have.Full(); strings.HasSuffix(full, "."+f.Full()) || strings.HasSuffix(full, "/"+f.Full()) {
				found = append(found, m)
			}
		}
	}
	slices.SortFunc(found, func(a, b *method) int {
		return cmp.Or(cmp.Compare(a.function.Full(), b.function.Full()), cmp.Compare(a.function.Signature, b.function.Signature))
	})
	return found
}

func (m *method) spanName() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.operation
}

// base returns the part of an explanation that does not depend on whether the method is known.
func (l *controlLoop) base(g *group, name string, rule *methodfile.Rule, d *decision) rates.Explanation {
	e := rates.Explanation{
		Namespace: g.Namespace, Service: g.Service, Environment: g.Environment, Version: g.Version, Method: name,
		Strategy: l.config.Strategy, Tier: d.tier, Class: d.class, Score: d.score, Mode: string(d.mode),
		RateAsked: d.rate, Shadow: d.shadow,
	}
	if e.Mode == "" {
		e.Mode = string(methodfile.ModeSample)
	}
	switch {
	case rule != nil:
		e.Rule = rule.Reason
	case l.file != nil && setsDefaults(&l.table.rules.file.Default):
		e.Rule = l.table.rules.file.Default.Reason
	}
	return e
}

// setsDefaults reports whether the method file sets defaults.
func setsDefaults(d *methodfile.Rule) bool {
	return d.Rate > 0 || d.Min > 0 || d.Max < 1 || d.Mode != methodfile.ModeSample || d.Tier != "" ||
		d.CPURate > 0 || d.Tail || d.Stack || d.Blocking
}

func (l *controlLoop) explain(m *method) rates.Explanation {
	d, t := m.inForce(), m.traffic()
	name := m.name
	if m.function.Class != "" && name == m.function.Method { // spans carry class and method separately
		name = m.function.Full()
	}
	e := l.base(m.group, name, m.rule, d)
	e.CallsPerSecond, e.RecordsPerSecond = t.calls, t.kept
	side, of := t.side()
	e.SpreadOf = of
	cv, mean, records := coefficientOfVariation(side), side.Mean(), side.Records
	entry := t.entryShare
	if info := m.info; info.SpreadRecords > 0 { // the evidence for the decision
		cv, mean, records, e.SpreadOf = info.Spread, info.Mean, info.SpreadRecords, info.SpreadOf
		if !math.IsNaN(info.EntryShare) {
			entry = info.EntryShare
		}
		if info.CallsPerSecond > 0 {
			e.CallsPerSecond = info.CallsPerSecond
		}
	}
	if !math.IsNaN(entry) {
		e.EntryShare = &entry
	}
	if mean > 0 && e.SpreadOf == "cpu" {
		e.MeanCPUNs = &mean
	}
	if mean > 0 && e.SpreadOf == "wall" {
		e.MeanWallNs = &mean
	}
	if t.arrived > 0 {
		e.RateInForce = &t.arrived
	}
	e.State = stateOf(m, d, records)
	if records >= 2 && mean > 0 {
		e.Spread = &cv
	}
	if e.State == rates.Known {
		share := 1.0
		if e.SpreadOf == "cpu" && t.wall.Records > 0 {
			share = min(t.cpu.Records/t.wall.Records, 1)
		}
		inForce := d.rate
		if d.shadow || t.arrived > 0 && t.arrived < inForce {
			inForce = t.arrived
		}
		e.ErrorOfDay = finiteOrNil(dayError(cv, e.CallsPerSecond, inForce*share))
		e.ErrorOfDayDouble = finiteOrNil(dayError(cv, e.CallsPerSecond, min(1, 2*inForce*share)))
	}
	e.Reason = l.sentence(&e, d)
	return e
}

func finiteOrNil(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

func stateOf(m *method, d *decision, records float64) rates.MethodState {
	switch {
	case m == m.group.overflow:
		return rates.Overflow
	case d.off():
		return rates.Off
	case m.info.State == rates.Rare, records < fewRecords:
		return rates.Rare
	}
	return rates.Known
}

// explainAbsent explains a method without its own place: it is unknown or shares the overflow place.
func (l *controlLoop) explainAbsent(g *group, name string, f methodspan.Function) rates.Explanation {
	t := l.table
	rule, d := t.rules.find(f)
	state := rates.Unseen
	switch {
	case d.open && g.overflow != nil && (rule == nil || rule.Rate == 0):
		d = g.overflow.decision
	case d.open && g.unknown != nil:
		d = t.prepare.learned(g.unknown, d, d, t.rules.bounds(rule))
	}
	switch {
	case d.off():
		state = rates.Off
	case g.overflow != nil && g.overflow.used > 0:
		state = rates.Overflow
	}
	e := l.base(g, name, rule, d)
	e.State = state
	e.Reason = l.sentence(&e, d)
	return e
}

// sentence returns the reason as a sentence.
func (l *controlLoop) sentence(e *rates.Explanation, d *decision) string {
	said := d.reason
	switch {
	case d.learned:
	case e.Rule != "" && !d.open:
		said = "the method file says so, by " + e.Rule
	default:
		said = "nothing but `default_rate` speaks of it"
	}
	switch e.State {
	case rates.Unseen:
		said = "no span of it has arrived; until one does: " + said
	case rates.Overflow:
		said = fmt.Sprintf("the table of %d methods was full, so it may share one place and one rate with others: %s", l.config.MaxMethods, said)
	case rates.Off:
		said = "it is not measured: " + said
	case rates.Rare:
		said = fmt.Sprintf("fewer than %d records say how much its calls differ: %s", fewRecords, said)
	}
	if d.shadow {
		said += "; its tier is in shadow, so nothing of this is done"
	}
	return said
}
