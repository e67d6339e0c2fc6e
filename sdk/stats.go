package corehour

// Snapshot holds the SDK's own counters. Start resets those of the export; all others only grow,
// except lengths and costs.
type Snapshot struct {
	Methods        int   // known by name
	MethodsRefused int64 // methods beyond the bound, never on
	Calls          int64 // calls of methods while they were on, since the program began
	HandedOut      int64 // emitted calls: sent, and accepted or of unknown outcome
	WriteUnknown   int64 // emitted calls of unknown outcome, given up

	Recorded      int64 // timed calls taken by the queue
	Dropped       int64 // timed calls refused by the full queue; they are in Folded or FoldLost
	Folded        int64 // timed calls aggregated instead of being sent one by one
	FoldLost      int64 // timed calls without a cell: lost
	FoldWidened   int64 // timed calls aggregated without their caller, because the cells by caller were full
	QueueLength   int
	QueueCapacity int
	Cells         int // sums that wait to be sent
	Intervals     int // counts that wait to be sent

	Endpoints          int   // collectors to choose from
	Sent               int64 // spans accepted
	Failed             int64 // spans refused; their data was put back
	Retried            int64 // attempts after the first
	MeasurementsUnsure int64 // timed calls in requests of unknown outcome, given up

	CPUExact        int64 // timed calls by CPU state
	CPUNotSampled   int64
	CPUUntrusted    int64
	CPUUnavailable  int64
	CPUSlotRefusals int64 // part of CPUUnavailable: no slot was free
	CPUSlotsHeld    int
	CPUSlotsLost    int64 // part of CPUSlotsHeld: lost for good, by calls that ended on another goroutine
	RatesLowered    int64 // methods whose default rate is lowered now: too many of their calls would be timed
	CPUWallOnly     int64 // methods whose CPU is no longer timed: they held a slot too long, or lost one

	FileReloads int64 // changes of the method file that were applied
	FileFaults  int64 // changes that were not: the file was broken or missing

	Recovered   int64 // faults of the SDK's own goroutines
	TraceFaults int64 // panics of the trace hook, and calls without a trace because too many hooks were running

	WallProbeNS int64 // CPU cost of one call timed by the wall
	CPUProbeNS  int64 // CPU cost of one call whose CPU is timed
	// Standard deviation of single calls for both, once measured in place.
	WallProbeSpreadNS, CPUProbeSpreadNS int64
	CountedProbePS                      int64 // CPU cost of one call that is only counted, in ps
	CountedProbeSpreadPS                int64 // standard deviation of single calls, once measured in place
	// CPU cost of one wait of a call whose CPU is timed, and its standard deviation.
	WaitNS, WaitSpreadNS int64
	// Time that the probe adds to the measured time of a call, and its standard deviation.
	ProbeInsideNS, ProbeInsideSpreadNS int64
}

// Stats returns the SDK's own figures.
func Stats() Snapshot {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	if registry.engine != nil {
		return registry.engine.snapshot()
	}
	return registrySnapshot()
}

// registrySnapshot returns the counters that exist without an engine. registry.mu is held.
func registrySnapshot() Snapshot {
	s := Snapshot{
		Methods:        len(registry.ordered),
		MethodsRefused: registry.refused,
		HandedOut:      ledger.emitted.Load(),
		WriteUnknown:   ledger.writeUnknown.Load(),
		CPUSlotsHeld:   cpuSlots.Held(),
		CPUSlotsLost:   cpuSlots.Lost.Load(),
	}
	for _, m := range registry.ordered {
		s.Calls += m.Calls()
		if m.halvings > 0 {
			s.RatesLowered++
		}
	}
	return s
}

// snapshot adds the engine's own counters. registry.mu is held.
func (e *engine) snapshot() Snapshot {
	s := registrySnapshot()
	s.Recorded = e.ring.Accepted()
	s.QueueLength = e.ring.Length()
	s.QueueCapacity = len(e.ring.Places)
	s.Intervals = e.intervals.length()
	s.Endpoints = len(e.config.collectors)
	e.cells.snapshot(&s)

	c := &e.counters
	s.Dropped = c.dropped.Load()
	s.Sent = c.sent.Load()
	s.Failed = c.failed.Load()
	s.Retried = c.retried.Load()
	s.MeasurementsUnsure = c.unknownOutcome.Load()
	s.CPUExact = c.states[cpuExact].Load()
	s.CPUNotSampled = c.states[cpuNotSampled].Load()
	s.CPUUntrusted = c.states[cpuUntrusted].Load()
	s.CPUUnavailable = c.states[cpuUnavailable].Load()
	s.CPUSlotRefusals = c.slotRefusals.Load()
	s.CPUWallOnly = c.wallOnly.Load()
	s.FileReloads = c.reloads.Load()
	s.FileFaults = c.fileFaults.Load()
	s.Recovered = c.recovered.Load()
	s.TraceFaults = c.traceFaults.Load()
	e.probe.snapshot(&s)
	return s
}

type namedCounter struct {
	name  string
	value int64
}

// list returns the counters in the form of the process span.
func (s *Snapshot) list() []namedCounter {
	return []namedCounter{
		{"methods", int64(s.Methods)},
		{"methods_refused", s.MethodsRefused},
		{"recorded", s.Recorded},
		{"dropped", s.Dropped},
		{"folded", s.Folded},
		{"fold_lost", s.FoldLost},
		{"fold_widened", s.FoldWidened},
		{"queue.length", int64(s.QueueLength)},
		{"queue.capacity", int64(s.QueueCapacity)},
		{"export.endpoints", int64(s.Endpoints)},
		{"export.sent", s.Sent},
		{"export.failed", s.Failed},
		{"export.retried", s.Retried},
		{"export.write_unknown", s.WriteUnknown},
		{"export.measurements_unsure", s.MeasurementsUnsure},
		{"cpu.exact", s.CPUExact},
		{"cpu.not_sampled", s.CPUNotSampled},
		{"cpu.untrusted", s.CPUUntrusted},
		{"cpu.unavailable", s.CPUUnavailable},
		{"cpu.slot_refusals", s.CPUSlotRefusals},
		{"cpu.slots_lost", s.CPUSlotsLost},
		{"cpu.wall_only_methods", s.CPUWallOnly},
		{"rates.lowered_methods", s.RatesLowered},
		{"method_file.reloads", s.FileReloads},
		{"method_file.faults", s.FileFaults},
		{"recovered", s.Recovered},
		{"trace_faults", s.TraceFaults},
		{"probe.wall.cost_ns", s.WallProbeNS},
		{"probe.cpu.cost_ns", s.CPUProbeNS},
		{"probe.wall.spread_ns", s.WallProbeSpreadNS},
		{"probe.cpu.spread_ns", s.CPUProbeSpreadNS},
		{"probe.counted.cost_ps", s.CountedProbePS},
		{"probe.counted.spread_ps", s.CountedProbeSpreadPS},
		{"probe.wait_ns", s.WaitNS},
		{"probe.wait.spread_ns", s.WaitSpreadNS},
		{"probe.inside_ns", s.ProbeInsideNS},
		{"probe.inside.spread_ns", s.ProbeInsideSpreadNS},
	}
}
