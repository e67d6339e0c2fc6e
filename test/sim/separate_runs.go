package sim

import (
	"math"
	"math/rand/v2"

	"github.com/corehour/corehour/regression/compare/evidence"
)

// judgedDays is the number of days of a comparison: seven base days and the head's day.
const judgedDays = 7 + 1

// dates draws the effect of the date: an autocorrelated part and weekday effects. The last day, which is the
// head's, has the weekday of the first.
func dates(r *rand.Rand, sd, rho, weekdays float64) (out [judgedDays]float64) {
	of := autoregression(r, judgedDays, sd, rho)
	var week [7]float64
	for w := range week {
		week[w] = weekdays * r.NormFloat64()
	}
	for day := range out {
		out[day] = of[day] + week[day%7]
	}
	return out
}

// runSeparately draws the cells of a method if the versions do not overlap. The base ran in the same minutes of the seven
// days before, or in the buckets immediately before.
func (d *Deployment) runSeparately(r *rand.Rand, n int, instances []instance) {
	m := &d.Truth[n]
	records := m.Records / d.headMinutes * bucketMinutes
	own := dates(r, ofMethodDay, dayCorrelation, methodWeekdays)
	var incident [judgedDays][Looks]float64
	for day := range incident {
		for bucket := range Looks {
			incident[day][bucket] = m.incidentAt(bucket)
		}
		m.drawIncident(r)
	}
	m.incident = -1 // already drawn for every day
	for i := range instances {
		in := &instances[i]
		instance := ofInstanceMethod * r.NormFloat64()
		cold := warmUp * r.Float64()
		for bucket := in.from; bucket < in.to; bucket++ {
			common := in.factor[bucket] + instance + math.Log1p(cold*in.cold(bucket))
			at, first, last := bucket, 0, judgedDays-2
			switch {
			case in.side == evidence.Head:
				common += m.Effect
				at, first, last = bucket+d.before, judgedDays-1, judgedDays-1
			case d.Overlap == evidence.Sequential:
				first = judgedDays - 2 // one pass; the day selects only the incident
			}
			for class := range classes {
				var s drawnSums
				for day := first; day <= last; day++ {
					shift := common + m.at(at) + incident[day][bucket]
					if d.Overlap == evidence.PreviousDays {
						shift += d.days[day] + own[day]
					}
					s.join(m.draw(r, class, records*m.share[in.side][class], shift))
				}
				if s.n > 0 {
					d.addCell(n, class, i, in.side, bucket, at, s)
				}
			}
		}
	}
}

func (s *drawnSums) join(o drawnSums) {
	s.n, s.x, s.xx, s.capped, s.log = s.n+o.n, s.x+o.x, s.xx+o.xx, s.capped+o.capped, s.log+o.log
}

// addCell adds a cell and updates the totals.
func (d *Deployment) addCell(method, class, instance int, side evidence.Side, bucket, at int, s drawnSums) {
	d.Cells = append(d.Cells, evidence.Cell{
		Method: int32(method), Caller: int32(class), Instance: int32(instance), Bucket: int32(at),
		Records: s.n, Weight: s.n, Sum: s.x, Capped: s.capped, Log: s.log, Calls: s.n, Timed: s.n,
	})
	t := &d.Totals[method][side][bucket]
	t.Records += s.n
	t.Sum += s.x
	t.Squares += s.xx
}

// Name returns a description of how the versions overlap.
func (p Plan) Name() string {
	return [...]string{"pipeline", "same minutes of seven days before", "one version after the other"}[p.Overlap]
}
