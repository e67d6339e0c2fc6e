package pairs

import (
	"cmp"
	"slices"
	"time"

	"github.com/corehour/corehour/regression/query"
)

// Deployment is a period in which a version of a service ran, from its first row to its last.
type Deployment struct {
	Version  string
	Revision string
	// Since is the start of the deployment: its first row, or the start of its oldest process if that is known and
	// earlier, for example before the window.
	Since time.Time
	First time.Time // time of the first row
	Last  time.Time // end of the last row
	Until time.Time // end of the last unit with a row
	Alone bool      // it is the only deployment of its version

	ListPrice bool // at least one price comes from a public list

	// order is the time by which deployments are sorted, see begins.
	order     time.Time
	byProcess bool // Since is the start of a process

	Measured    int64
	CPUMeasured int64
	Assumed     int64 // the part of Measured with unknown sampling
}

// assumedShare returns the share of the measured calls with unknown sampling.
func (d *Deployment) assumedShare() float64 {
	if d.Measured == 0 {
		return 0
	}
	return float64(d.Assumed) / float64(d.Measured)
}

// unseenFor is the minimum gap after which a version that returns is a new deployment, if its processes cannot be
// distinguished and another version was seen in the gap.
const unseenFor = 30 * time.Minute

// Deployments returns the deployments of one service's runs, sorted by their start and then by version in natural
// order. A version that returns after another one replaced it is a new deployment. A gap in which processes live
// on, or in which no version was seen, does not start one. Runs of an unknown version are left out.
func Deployments(runs []query.Run) []Deployment {
	byVersion := map[string][]query.Run{}
	for _, r := range runs {
		if r.Version != "" {
			byVersion[r.Version] = append(byVersion[r.Version], r)
		}
	}
	var out []Deployment
	for version, own := range byVersion {
		slices.SortFunc(own, func(a, b query.Run) int { return a.First.Compare(b.First) })
		start := len(out)
		for i, r := range own {
			d := Deployment{
				Version: version, Revision: r.Revision, Since: r.First, First: r.First, Last: r.Last, Until: r.Until,
				Measured: r.Measured, CPUMeasured: r.CPUMeasured, Assumed: r.Assumed, ListPrice: r.ListPrice,
			}
			if !r.OldestProcess.IsZero() && !r.OldestProcess.After(d.Since) {
				d.Since, d.byProcess = r.OldestProcess, true
			}
			if i == 0 || returned(version, out[len(out)-1], r, runs) {
				out = append(out, d)
				continue
			}
			last := &out[len(out)-1]
			last.Last, last.Until = later(last.Last, d.Last), d.Until
			last.Measured += d.Measured
			last.CPUMeasured += d.CPUMeasured
			last.Assumed += d.Assumed
			last.ListPrice = last.ListPrice || d.ListPrice
			last.Revision = cmp.Or(d.Revision, last.Revision)
			if d.Since.Before(last.Since) {
				last.Since, last.byProcess = d.Since, d.byProcess
			}
		}
		out[start].Alone = len(out) == start+1
		// A process that was already running before a return is older than the new deployment.
		for i := start + 1; i < len(out); i++ {
			if out[i].Since.Before(out[i-1].Last) {
				out[i].Since, out[i].byProcess = out[i].First, false
			}
		}
	}
	begins(out, runs)
	slices.SortFunc(out, func(a, b Deployment) int {
		return cmp.Or(a.order.Compare(b.order), compareVersions(a.Version, b.Version), a.First.Compare(b.First))
	})
	return out
}

// edgeUnits is the number of units after the first row of a service in which a version that was running before can
// first be seen. Gaps in runs are that long.
const edgeUnits = 2

// begins sets the time by which deployments are sorted. The start of a process is exact, and rows contain it even if it
// lies before them. If it is unknown, the first row is only accurate to a unit, and the order of versions that both run
// from the first rows on is unknown.
func begins(deployments []Deployment, runs []query.Run) {
	unit, edge := time.Minute, time.Time{}
	for _, r := range runs {
		unit = cmp.Or(r.Unit, unit)
		if edge.IsZero() || r.First.Before(edge) {
			edge = r.First
		}
	}
	for i := range deployments {
		d := &deployments[i]
		follows := slices.ContainsFunc(deployments, func(o Deployment) bool { return !o.Last.After(d.First) })
		switch {
		case d.byProcess:
			d.order = d.Since
		case follows:
			d.order = d.First
		case d.First.Sub(edge) <= edgeUnits*unit:
			d.order = edge.Truncate(unit)
		default:
			d.order = d.First.Truncate(unit)
		}
	}
}

// returned reports whether a run begins a new deployment of its version.
func returned(version string, before Deployment, r query.Run, all []query.Run) bool {
	replaced := slices.ContainsFunc(all, func(o query.Run) bool {
		return o.Version != "" && o.Version != version && o.First.Before(r.First) && o.Until.After(before.Until)
	})
	if !replaced {
		return false
	}
	if r.UnknownProcesses {
		return r.First.Sub(before.Until) >= unseenFor
	}
	// A new process can start up to one unit before the last row of the old processes.
	return !r.OldestProcess.Before(before.Last.Add(-cmp.Or(r.Unit, time.Minute)))
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func sooner(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
