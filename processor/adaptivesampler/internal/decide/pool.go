package decide

import "math"

// pooledRecords bounds the weight of one method in the spread of its service, so that an inner loop does not
// dominate.
const pooledRecords = 1000

// pooled are the sums of a service's pooled figures.
type pooled struct {
	cpu, wall       float64
	records, spread float64
	methods, logs   float64
}

// pool computes the common figures of the methods of each service. Without data the spread is 1, that of
// exponential times.
func (b *methodStore) pool() {
	for _, s := range b.services {
		s.sums = pooled{}
	}
	for _, m := range b.order {
		if cpu, wall := m.cpu.Mean(), m.wall.Mean(); cpu > 0 && wall > 0 {
			m.version.service.sums.cpu += cpu * m.calls.Now
			m.version.service.sums.wall += wall * m.calls.Now
		}
	}
	for _, s := range b.services {
		s.cpuPerWall = 1
		if s.sums.cpu > 0 && s.sums.wall > 0 {
			s.cpuPerWall = s.sums.cpu / s.sums.wall
		}
	}
	for _, m := range b.order {
		m.pool(m.version.service)
	}
	for _, s := range b.services {
		s.spread = (priorRecords + s.sums.spread) / (priorRecords + s.sums.records)
		s.cost = 1
		if s.sums.methods > 0 {
			s.cost = math.Exp(s.sums.logs / s.sums.methods)
		}
	}
}

// pool adds the method's data to the sums of its service.
func (m *method) pool(s *service) {
	own, name := m.measured()
	if own.Records < 2 || own.Mean() <= 0 {
		return
	}
	n := min(own.Records, pooledRecords)
	s.sums.records += n
	s.sums.spread += n * own.CV()
	mean := own.Mean()
	if name == MeterWall {
		mean *= s.cpuPerWall
	}
	s.sums.methods++
	s.sums.logs += math.Log(mean)
}

// inherit gives a new version's method the data of the version before. It is the best guess until the method has
// records of its own, but its spread is never taken below the service's. Versions that are first seen in one step
// do not inherit from each other: the sender of one would decide the rates of the other.
func (b *methodStore) inherit(m *method) {
	var before *method
	for _, v := range m.version.service.versions {
		if !v.first.Before(m.version.first) {
			continue
		}
		key := m.key
		key.Group = v.group
		if other, ok := b.methods[key]; ok && other != m && (before == nil || v.last.After(before.version.last)) {
			before = other
		}
	}
	if before == nil {
		return
	}
	m.priorSpread = max(before.cv(), m.version.service.spread)
	m.priorMean, m.priorOwn = before.cost(), before.ownPart()
	m.priorP = before.p
	m.class = before.class
	m.score = before.score.reborn(&b.cfg.Scorecard)
}
