package adaptivesampler

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/corehour/corehour/internal/methodfile"
	"github.com/corehour/corehour/internal/rates"
	"github.com/corehour/corehour/processor/adaptivesampler/internal/decide"
)

const (
	// maxServed bounds the learned methods and the operations of one table. The busiest are named. The others
	// follow the default and the method file.
	maxServed = 10_000

	// mostRates is the maximum number of entries that an SDK accepts, including those of the method file.
	mostRates = 100_000

	// leastTTL is the minimum time for which an SDK that cannot reach the collector keeps its rates.
	leastTTL = 5 * time.Minute
)

// update rebuilds the tables of the groups whose rates changed. A group with a pending takeover gets no table, so
// its processes keep their rates. l.mu must be held.
func (l *controlLoop) update(now time.Time) {
	if !l.publishing() {
		return
	}
	t := l.table
	t.mu.RLock()
	var groups []*group
	dirty := false
	for _, g := range t.groups {
		if l.strategy != nil && g.takeover.pending(now) {
			continue
		}
		groups = append(groups, g)
		dirty = dirty || g.changed || l.tables[g.Group] == nil
	}
	dirty = dirty || len(groups) != len(l.tables)
	if !dirty && l.fallback != nil && l.tablesOf == t.rules {
		t.mu.RUnlock()
		return
	}
	if l.tablesOf != t.rules {
		l.tablesOf, l.patterns = t.rules, t.rules.patterns()
	}
	own := make(map[decide.Group]*rates.Table, len(groups))
	for _, g := range groups {
		own[g.Group] = l.tables[g.Group]
		if own[g.Group] == nil || g.changed {
			own[g.Group] = l.tableOf(g)
			g.changed = false // read and written only under t.mu and l.mu
		}
	}
	l.tables = own
	l.fallback = l.finish(&rates.Table{Default: l.defaultRate(t.unknown), Methods: l.patterns, Provisional: t.unknown != nil})
	t.mu.RUnlock()

	all := maps.Clone(own)
	aliases(all, groups)
	l.telemetry.served(l.served.replace(all, l.fallback))
}

func (l *controlLoop) finish(t *rates.Table) *rates.Table {
	t.TTLSeconds = max(leastTTL, 5*l.config.Interval).Seconds()
	if t.Methods == nil {
		t.Methods = []rates.Rate{}
	}
	t.Revision = revisionOf(t)
	return t
}

// tableOf builds the table of a group. The table's lock must be held for reading.
func (l *controlLoop) tableOf(g *group) *rates.Table {
	var named, operations []candidate
	own := make(map[string]bool) // methods with their own entry
	for f, m := range g.methods {
		c := m.candidate()
		if c.ours && m.decision.learned && m.decided > 0 && !m.decision.shadow {
			named = append(named, c)
			own[f.Full()] = true
		}
		if c.operation != "" && !m.decision.shadow && (m.decision.learned || !m.fixed.open || l.config.DefaultRate < 1) {
			operations = append(operations, c)
		}
	}
	t := &rates.Table{Default: l.defaultRate(g.unknown)}
	for _, c := range busiest(named, mostRates-len(l.patterns)) {
		t.Methods = append(t.Methods, rateOf(c.method))
	}
	for _, pattern := range l.patterns {
		if pattern.Name == "" || !own[pattern.Name] {
			t.Methods = append(t.Methods, pattern)
		}
	}
	slices.SortStableFunc(t.Methods, byName)
	places := make(map[string]int)
	for _, c := range busiest(operations, maxServed) {
		rate := c.method.decision.rate
		if c.method.decided == 0 && g.unknown != nil && c.method.decision.learned { // the SDK is served the lower rate, though the sampler keeps more
			rate = min(rate, g.unknown.P)
		}
		if at, ok := places[c.operation]; ok {
			t.Operations[at].P = max(t.Operations[at].P, rate)
			continue
		}
		places[c.operation] = len(t.Operations)
		t.Operations = append(t.Operations, rates.Operation{Name: c.operation, P: rate})
	}
	return l.finish(t)
}

func byName(a, b rates.Rate) int {
	return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Match, b.Match))
}

// candidate is a method that a table can name.
type candidate struct {
	method    *method
	ours      bool
	operation string // "" if no other SDK sends it
	calls     float64
}

func (m *method) candidate() candidate {
	m.mu.Lock()
	defer m.mu.Unlock()
	return candidate{m, m.ours, m.operation, m.recent.calls}
}

// busiest returns the candidates with the most calls, at most min(most, maxServed).
func busiest(all []candidate, most int) []candidate {
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.calls, a.calls), strings.Compare(a.method.name, b.method.name))
	})
	return all[:min(len(all), max(most, 0), maxServed)]
}

func rateOf(m *method) rates.Rate {
	d := m.decision
	r := rates.Rate{Name: m.name, Mode: string(d.mode), Tier: d.tier, Reason: d.reason}
	if r.Mode == "" {
		r.Mode = string(methodfile.ModeSample)
	}
	if d.rate > 0 {
		r.P = &d.rate
	}
	if d.cpuRate > 0 {
		r.CPUP = &d.cpuRate
	}
	if m.rule != nil {
		addRule(&r, m.rule)
	}
	return r
}

// addRule adds the settings that only the method file can make.
func addRule(r *rates.Rate, rule *methodfile.Rule) {
	if r.CPUP == nil && !math.IsNaN(rule.CPURate) {
		r.CPUP = &rule.CPURate
	}
	r.Blocking = rule.Blocking
	if rule.Tail {
		r.Tail = &rule.Tail
	}
	if rule.Stack {
		r.Stack = &rule.Stack
	}
}

// defaultRate returns the rate of methods that the table does not name. If any tier is in shadow the rate is
// empty, because an unnamed method can belong to that tier.
func (l *controlLoop) defaultRate(unknown *decide.Decision) rates.Rate {
	rule, d := &l.table.rules.file.Default, l.table.rules.otherwise
	if l.prepare.shadow.any() {
		return rates.Rate{}
	}
	if unknown != nil && d.open {
		d = l.prepare.learned(unknown, d, d, rule)
	}
	r := fileRate(rule, d)
	if d.open && l.config.DefaultRate < 1 {
		r.P = &d.rate
	}
	return r
}

// fileRate returns the rate of a rule of the file, without a name or pattern.
func fileRate(rule *methodfile.Rule, d *decision) rates.Rate {
	r := rates.Rate{Tier: d.tier, Reason: d.reason, Blocking: rule.Blocking}
	switch {
	case d.shadow:
		return rates.Rate{Tier: d.tier, Reason: "shadow"}
	case d.off():
		r.Mode = string(methodfile.ModeOff)
		return r
	case rule.Mode == methodfile.ModeAggregate:
		r.Mode = string(rule.Mode)
	}
	if !d.open {
		r.P = &d.rate
	}
	addRule(&r, rule)
	return r
}

// patterns returns the entries of the file for SDKs. It omits entries with a signature: SDKs know neither signatures
// nor tiers.
func (r *rules) patterns() []rates.Rate {
	var all []rates.Rate
	for rule, d := range r.decisions {
		name, match := rule.Names()
		if name == "" && match == "" {
			continue
		}
		rate := fileRate(rule, d)
		rate.Name, rate.Match = name, match
		all = append(all, rate)
	}
	slices.SortFunc(all, byName)
	return all
}

// revisionOf returns a hash of everything in a table that changes the behaviour of SDKs. Reasons are left out:
// they can change when the behaviour does not.
func revisionOf(t *rates.Table) string {
	h := sha256.New()
	number := func(x *float64) string {
		if x == nil {
			return ""
		}
		return fmt.Sprint(*x)
	}
	line := func(r *rates.Rate) {
		fmt.Fprintf(h, "%q %q %q %s %s %t %t %t %q\n", r.Name, r.Match, r.Mode, number(r.P), number(r.CPUP),
			r.Tail != nil, r.Stack != nil, r.Blocking, r.Tier)
	}
	line(&t.Default)
	for i := range t.Methods {
		line(&t.Methods[i])
	}
	for _, op := range t.Operations {
		fmt.Fprintf(h, "%q %v\n", op.Name, op.P)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
