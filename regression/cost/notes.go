package cost

import (
	"fmt"
	"slices"
	"time"
)

// clockSlack is how far the clock of an instance may be ahead of this machine's clock without a note.
const clockSlack = 5 * time.Minute

// AheadOf returns a note if rows end after now.
func AheadOf(last, now time.Time) []string {
	ahead := last.Sub(now)
	if ahead <= clockSlack {
		return nil
	}
	return []string{fmt.Sprintf("rows end %s after now: the clock of an instance is ahead, or that of this machine behind; calls of such instances have wrong times",
		ahead.Round(time.Second))}
}

// countsDue is the time after a measurement within which its counts are still expected.
const countsDue = 3 * time.Minute

// pendingNotes returns a note for each service with measurements that no figure includes yet.
func (r *Table) pendingNotes(now time.Time) []string {
	var notes []string
	for i := range r.Services {
		s := &r.Services[i]
		if s.PendingRecords == 0 {
			continue
		}
		until := "nothing is counted yet"
		if s.CountedUntil != nil {
			until = "figures are up to " + s.CountedUntil.UTC().Format(time.RFC3339)
		}
		since := s.PendingSince.UTC().Format(time.RFC3339)
		if now.Sub(*s.PendingSince) < countsDue {
			notes = append(notes, fmt.Sprintf("counts pending: %s: %d calls measured since %s are in no figure until their counts arrive, within about a minute; %s",
				s.Service, s.PendingRecords, since, until))
			continue
		}
		notes = append(notes, fmt.Sprintf("counts pending: %s: %d calls measured since %s are in no figure: processes ended without their last counts (corehour check lists them as dead) or counts are late; %s",
			s.Service, s.PendingRecords, since, until))
	}
	return notes
}

// missingNotes returns a note for each service with missing calls.
func (r *Table) missingNotes() (notes []string) {
	if r.NoCalls() { // Notes reports it in another note
		return nil
	}
	for i := range r.Services {
		if s := &r.Services[i]; s.MissingCalls > 0 {
			notes = append(notes, fmt.Sprintf("missing: %s: %d of %d calls of its processes are not stored here, so figures are too low by what they cost: corehour check names the processes",
				s.Service, s.MissingCalls, s.EmittedCalls))
		}
	}
	return notes
}

// AssumedNotes returns a note for each service whose number of calls is only a lower bound, because their sampling
// probability is assumed, or whose processes may be merged.
func (r *Table) AssumedNotes() (notes []string) {
	for i := range r.Services {
		s := &r.Services[i]
		if s.AssumedCalls > 0 {
			notes = append(notes, AssumedNote(s.Service, s.AssumedCalls))
		}
		if s.MayBeMerged {
			notes = append(notes, MergedNote(s.Service))
		}
	}
	return notes
}

func (s Service) pending() bool { return s.PendingRecords > 0 }

// NoCalls reports whether no call of a method is stored. It also checks services, because calls that were
// only counted have no line by caller.
func (r *Table) NoCalls() bool {
	return !slices.ContainsFunc(r.Services, func(s Service) bool { return s.pending() || s.UnmeasuredCalls > 0 }) &&
		!slices.ContainsFunc(r.Lines(), func(l Line) bool { return l.Calls > 0 || l.Measured > 0 })
}

// notes explain why lines have no cost, and what to do.
func (r *Table) notes(now time.Time) []string {
	var measured, withCPU, uncounted, untimed int
	untimedCalls := 0.0
	for _, l := range r.Lines() {
		if l.Measured > 0 {
			measured++
		}
		if l.CPUMeasured > 0 {
			withCPU++
		}
		if l.Measured > 0 && !(l.Calls > 0) {
			uncounted++
		}
		if l.CPUMeasured == 0 && l.Calls >= 1 && l.PendingRecords == 0 {
			untimed++
			untimedCalls += l.Calls
		}
	}
	notes := slices.Concat(AheadOf(r.LastRow, now), Few(r.pendingNotes(now)), Few(r.missingNotes()), Few(r.AssumedNotes()))
	switch {
	case slices.ContainsFunc(r.Services, Service.pending):
	case r.Instances > 0 && r.NoCalls():
		notes = append(notes, "no call of a method was stored: no method is on, or only rows of processes arrived; corehour check shows the calls that SDKs emitted")
	case measured == 0:
		notes = append(notes, "calls were counted and none was measured, so no cost is known: corehour explain METHOD shows at what rates methods are measured")
	}
	if withCPU > 0 && untimed > 0 {
		notes = append(notes, fmt.Sprintf("not timed: %d of %d lines, with %.0f calls, have no call with measured CPU: what they cost is in the self costs of their callers, or unattributed",
			untimed, len(r.Lines()), untimedCalls))
	}
	if uncounted > 0 {
		notes = append(notes, fmt.Sprintf("%d lines were measured and not counted, so the weight of a measured call is unknown and they have no cost: corehour check shows what was lost", uncounted))
	}
	return notes
}

// uncertainNotes give the reasons of lines marked with ~.
func uncertainNotes(shown []Line) []string {
	lines := map[string]int{}
	var reasons []string
	for i := range shown {
		if l := &shown[i]; l.Uncertain {
			if lines[l.Why]++; lines[l.Why] == 1 {
				reasons = append(reasons, l.Why)
			}
		}
	}
	for i, why := range reasons {
		reasons[i] = fmt.Sprintf("~ %s: %d of the lines above", why, lines[why])
	}
	return Few(reasons)
}

// markNotes explain the marks of lines whose figures depend on probes or on process CPU.
func (r *Table) markNotes(shown []Line) (notes []string) {
	below, clipped, reconciled := 0, 0, false
	for i := range shown {
		if shown[i].BelowResolution {
			below++
		}
		if shown[i].SelfWallClipped {
			clipped++
		}
		reconciled = reconciled || shown[i].Reconciled
	}
	if below > 0 {
		notes = append(notes, fmt.Sprintf("below resolution: %d of the lines above are within the uncertainty of their probes: the figure is an upper bound per call", below))
	}
	if clipped > 0 {
		notes = append(notes, fmt.Sprintf("c: callees of %d of the lines above took longer than these, so some ran concurrently: their self time is not known", clipped))
	}
	var excesses []string
	for i := range r.Services {
		if excess := r.Services[i].Excess(); excess != "" && reconciled {
			excesses = append(excesses, "r: "+excess)
		}
	}
	return append(notes, Few(excesses)...)
}

// hostNotes returns the assumptions made about hosts and the rule that shares idle cores.
func (r *Table) hostNotes() (notes []string) {
	var h Hosts
	for i := range r.Services {
		s := &r.Services[i].Hosts
		h.Intervals, h.ByProcess, h.ByName, h.Limited = h.Intervals+s.Intervals, h.ByProcess+s.ByProcess, h.ByName+s.ByName, h.Limited+s.Limited
	}
	note := func(n int64, what string) {
		if n > 0 {
			notes = append(notes, fmt.Sprintf("assumed for %d of %d intervals of processes: %s", n, h.Intervals, what))
		}
	}
	note(h.ByProcess, "no host is known, or not its cores: each process pays its own cores x time")
	note(h.ByName, "hosts of one name, cloud and region are one host")
	note(h.Limited, "the process is the only one of its container and pays the CPU limit")
	if h.Intervals > h.ByProcess+h.Limited {
		notes = append(notes, "idle cores of a host are shared by its processes without a CPU limit, in proportion to the CPU they used")
	}
	return notes
}
