package ledger

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/corehour/corehour/regression/cost"
)

// Verdict describes whether the accounts balance.
func (r *Accounts) Verdict() string {
	switch {
	case r.CouldNotTell:
		return "could not tell: " + r.Why()
	case !r.Balanced:
		return "NOT BALANCED: " + strings.Join(r.Faults, "; ")
	}
	return "balanced: every emitted call is stored once"
}

// Notes describes faults and unknowns in the rows of services.
func (r *Accounts) Notes() []string {
	var notes []string
	for _, s := range r.Services {
		if s.ConflictingBatches > 0 {
			notes = append(notes, fmt.Sprintf("conflict: %s: %d batches came with a number that other content of their process came with: two processes have one "+
				"instance id and start, or another client sends in their name; all are stored", s.Service, s.ConflictingBatches))
		}
		if s.ImpossibleRows > 0 {
			notes = append(notes, fmt.Sprintf("impossible: %s: %d rows have impossible numbers, which are read as missing, or start in the future and are not read", s.Service, s.ImpossibleRows))
		}
		if s.MeasuredAboveCounted > 0 {
			notes = append(notes, fmt.Sprintf("measured above counted: %s: %.0f measurements more than the calls that their processes counted: counts are missing or in another warehouse, "+
				"or a process measured calls that it did not make", s.Service, s.MeasuredAboveCounted))
		}
		if s.AssumedCalls > 0 {
			notes = append(notes, cost.AssumedNote(s.Service, s.AssumedCalls))
		}
		if s.MayBeMerged {
			notes = append(notes, cost.MergedNote(s.Service))
		}
	}
	return cost.Few(notes)
}

// Advice returns suggestions on where to find missing calls.
func (r *Accounts) Advice() []string {
	one := len(r.Warehouses) == 1
	moved := slices.ContainsFunc(r.Losses.DeadProcess, func(d DeadProcess) bool { return d.KnowsOthers })
	proxied := slices.ContainsFunc(r.Processes, func(p Process) bool { return p.LostInTransit > 0 && p.MissingBatches != nil })
	switch {
	case r.Losses.NotJudgedCalls > 0 && one:
		return []string{"pass the other --warehouse too: corehour check --warehouse A --warehouse B"}
	case r.Losses.NotJudgedCalls > 0:
		return []string{"pass the --warehouse of every collector that these processes may send to"}
	case moved && one:
		return []string{"a process that is dead here may have moved to another collector: pass the other --warehouse too"}
	case proxied && one:
		return []string{"if a proxy spreads requests over several collectors, pass the other --warehouse too"}
	}
	return nil
}

// Loss is one line of the list of losses.
type Loss struct {
	Where, What string
	Amount      float64
}

// List returns the losses. Counters of processes and of the collector are listed only if they are not 0, except the
// collector's writes of unknown outcome, which are always listed.
func (l *Losses) List() []Loss {
	out := []Loss{{"ledger", "lost_in_transit", float64(l.LostInTransit)}}
	if n := l.NotJudgedCalls; n > 0 {
		out = append(out, Loss{"ledger", "not_judged", float64(n)})
	}
	out = append(out, Loss{"ledger", "over_counted", float64(l.OverCounted)}, Loss{"ledger", "dead_process", float64(len(l.DeadProcess))},
		Loss{"warehouse", "duplicate_rows", float64(l.DuplicateRows)})
	for _, name := range slices.Sorted(maps.Keys(l.SDK)) {
		if v := l.SDK[name]; v != 0 {
			out = append(out, Loss{"sdk", name, v})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.Collector)) {
		if v := l.Collector[name]; v != 0 || strings.Contains(name, "write_unknown") {
			out = append(out, Loss{"collector", name, v})
		}
	}
	return out
}
