package pairs

import (
	"cmp"
	"slices"
	"time"

	"github.com/corehour/corehour/regression/query"
)

// Deployment is a version of a service from its first row to its last.
type Deployment struct {
	Version  string
	Revision string
	// Since is when it began: its first row, or the start of its oldest process
	// where that is known and earlier, as at the edge of the window.
	Since time.Time
	First time.Time // row
	Last  time.Time // end of the last row
	Until time.Time // end of the last unit with a row
	Alone bool      // it is the only deployment of its version

	ListPrice bool // some price is of a public list

	// order is the time that deployments are ordered by, see begins.
	order     time.Time
	byProcess bool // Since is the start of a process

	Measured    int64
	CPUMeasured int64
	Assumed     int64 // of Measured: nothing says how the spans were sampled
}

// assumedShare is the part of the measured calls of which nothing says how they were sampled.
func (d *Deployment) assumedShare() float64 {
	if d.Measured == 0 {
		return 0
	}
	return float64(d.Assumed) / float64(d.Measured)
}

// unseenFor is how long a version whose processes can't be distinguished must not be
// seen, while another is, for its return to be a new deployment.
const unseenFor = 30 * time.Minute

// Deployments makes deployments of one service's runs, sorted by when they began, those
// of one time in natural order of their versions.
// A version that returns after another one took its place is a new deployment;
// a hole in which processes live on, or in which nothing at all was seen, is none.
// Runs of unknown version are left out.
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
		// A process that lived through a return is older than its deployment.
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

// edgeUnits is for how long after the first row of a service a version that was running
// all the time may first be seen: runs have holes as long.
const edgeUnits = 2

// begins sets when deployments began. The start of a process is exact, and known from
// rows even where it lies before them. Where it is not known, the first row says
// no more than the unit in which it came, and of versions that run side by side from the
// first rows on nobody knows which began first.
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
	// A new process may have started so much sooner than the last row of the old ones.
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
