package sim

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/corehour/corehour/processor/adaptivesampler/internal/decide"
)

// fleet simulates processes and their collectors, second by second: the records that an interval keeps before its
// strategy decides, and after.
type fleet struct {
	methods    []*Method
	processes  []*process
	collectors []*collector
	either     bool    // each batch goes to whichever collector a balancer picks
	times      float64 // the load, over the ordinary one
	bunch      float64
	second     int
	random     *rand.Rand
	arrivals   []int
	kept       map[string]*intervalTally
}

// intervalTally holds the records that all collectors kept of a service, by interval of the first collector.
type intervalTally struct {
	since     int // the second in which the interval began, or the service in it
	now       float64
	perSecond []float64
}

// process calls methods and follows the rates of the collector that it asks.
type process struct {
	home   int       // of the collectors
	calls  []float64 // a second, by place in methods
	p      []float64 // in force
	counts []float64 // that have not left
}

const (
	countsEvery  = 60 // seconds: SDKs send counts at the full minute
	intervalLong = 60
	ratesTake    = 2 // seconds until processes go by rates that were decided
)

// collector works like the processor: a strategy decides once per interval, and each service has its limit
// meanwhile.
type collector struct {
	strategy decide.Strategy
	target   float64 // records a second and service
	begins   int     // the second at which its first interval begins
	services map[decide.Group]*simulatedService
	methods  []*Method
	group    []*simulatedService // by place
	decided  []float64           // 0 = not yet
	flows    []decide.Flow
	asked    []float64
	arrived  []float64
	wall     []decide.WeightedSums
	counted  []float64
	seen     []decide.Observation
}

// simulatedService is a service at a collector.
type simulatedService struct {
	limit  decide.Limit
	places []int
	flows  []decide.Flow // used again
}

func newFleet(methods []*Method, cfg decide.Config, collectors int, seed uint64) *fleet {
	f := &fleet{methods: methods, times: 1, bunch: 1, random: newRandom(seed, 7), kept: make(map[string]*intervalTally)}
	n := len(methods)
	for range collectors {
		c := &collector{strategy: decide.New(cfg), target: decide.Headroom * cfg.Budget.RecordsPerSecond, begins: -intervalLong / 2, methods: methods,
			services: make(map[decide.Group]*simulatedService), group: make([]*simulatedService, n), decided: make([]float64, n), flows: make([]decide.Flow, n),
			asked: make([]float64, n), arrived: make([]float64, n), wall: make([]decide.WeightedSums, n), counted: make([]float64, n)}
		f.collectors = append(f.collectors, c)
	}
	return f
}

// join starts a process that makes a share of the calls of a service's methods.
func (f *fleet) join(service string, home int, share float64) {
	n := len(f.methods)
	p := &process{home: home, calls: make([]float64, n), p: make([]float64, n), counts: make([]float64, n)}
	for i, m := range f.methods {
		p.p[i] = coldStart
		if m.Key.Service == service {
			p.calls[i] = m.Calls / 60 * share
		}
	}
	f.processes = append(f.processes, p)
	if f.kept[service] == nil {
		f.kept[service] = &intervalTally{since: f.second}
	}
}

// pass lets so many seconds pass.
func (f *fleet) pass(seconds int) {
	for range seconds {
		for _, p := range f.processes {
			f.call(p)
		}
		f.second++
		for i, c := range f.collectors {
			switch at := (f.second - c.begins) % intervalLong; at {
			case 0:
				c.step(f.now())
				if i == 0 {
					f.tally()
				}
			case ratesTake:
				f.serve(i)
			}
		}
	}
}

// tally ends an interval of the counts.
func (f *fleet) tally() {
	for _, t := range f.kept {
		t.perSecond = append(t.perSecond, t.now/float64(max(f.second-t.since, intervalLong/4)))
		t.since, t.now = f.second, 0
	}
}

func (f *fleet) now() time.Time { return start.Add(time.Duration(f.second) * time.Second) }

// collectorFor returns the collector that a batch of a process goes to.
func (f *fleet) collectorFor(p *process) *collector {
	if f.either {
		return f.collectors[f.random.IntN(len(f.collectors))]
	}
	return f.collectors[p.home]
}

// call makes the calls of a second and sends what is sampled of them, in random order, and
// at the full minute the counts.
func (f *fleet) call(p *process) {
	f.arrivals = f.arrivals[:0]
	for i, mean := range p.calls {
		if mean == 0 {
			continue
		}
		calls := f.bunch * poisson(f.random, mean*f.times/f.bunch)
		p.counts[i] += calls
		for range int(binomial(f.random, calls, p.p[i])) {
			f.arrivals = append(f.arrivals, i)
		}
	}
	f.random.Shuffle(len(f.arrivals), func(i, j int) { f.arrivals[i], f.arrivals[j] = f.arrivals[j], f.arrivals[i] })
	to := f.collectorFor(p)
	for _, i := range f.arrivals {
		if to.receive(i, p.p[i], f.methods[i].values.draw(f.random), f.random, f.now()) {
			f.kept[f.methods[i].Key.Service].now++
		}
	}
	if f.second%countsEvery == 0 {
		to = f.collectorFor(p)
		for i, calls := range p.counts {
			to.counted[i] += calls
		}
		clear(p.counts)
	}
}

// serve gives the processes that ask this collector its rates.
func (f *fleet) serve(at int) {
	for _, p := range f.processes {
		if f.either && f.random.IntN(len(f.collectors)) != 0 || !f.either && p.home != at {
			continue
		}
		for i, rate := range f.collectors[at].decided {
			if rate > 0 {
				p.p[i] = rate
			}
		}
	}
}

// receive learns from a record and reports whether it is kept.
func (c *collector) receive(i int, p, x float64, random *rand.Rand, now time.Time) bool {
	s := c.serviceOf(i, now)
	flow := &c.flows[i]
	flow.Records++
	flow.Weight += 1 / p
	c.arrived[i] = p
	w := &c.wall[i]
	w.Records++
	w.Weight += 1 / p
	w.Sum += x / p
	w.Squares += x * x / p
	decided := c.decided[i]
	if decided == 0 {
		decided = 1 // a method without a decision is kept, up to the limit
	}
	c.asked[i] += min(1, decided/p)
	if flow.Rate < p && random.Float64()*p >= flow.Rate {
		return false
	}
	if s.limit.Keep(1, false) {
		s.review(c, now)
	}
	return true
}

// serviceOf finds the service of a method, which has a limit from its first record on.
func (c *collector) serviceOf(i int, now time.Time) *simulatedService {
	if c.group[i] != nil {
		return c.group[i]
	}
	id := c.methods[i].Key.Group
	id.Version = ""
	s := c.services[id]
	if s == nil {
		s = &simulatedService{}
		c.services[id] = s
		passed := int(now.Sub(start).Seconds()) - c.begins
		s.limit.Begin(now, now.Add(time.Duration(intervalLong-passed%intervalLong)*time.Second), intervalLong*time.Second, c.target)
	}
	s.places = append(s.places, i)
	c.group[i], c.flows[i].Rate = s, 1
	return s
}

func (s *simulatedService) review(c *collector, now time.Time) {
	s.flows = s.flows[:0]
	for _, i := range s.places {
		s.flows = append(s.flows, c.flows[i])
	}
	level, ahead := s.limit.Review(now, s.flows)
	for _, i := range s.places {
		if rate, less := c.flows[i].Cut(level, ahead); less {
			c.flows[i].Rate = min(c.flows[i].Rate, rate)
		}
	}
}

// band is the change of a rate from which the rate in force follows, as in the processor.
const band = 1.1

// step ends an interval.
func (c *collector) step(now time.Time) {
	c.seen = c.seen[:0]
	place := make(map[decide.Key]int)
	for i, m := range c.methods {
		if c.counted[i] > 0 || c.wall[i].Records > 0 {
			c.serviceOf(i, now)
			c.seen = append(c.seen, decide.Observation{Key: m.Key, Calls: c.counted[i], Wall: c.wall[i], CPU: c.wall[i],
				Called: c.wall[i].Weight, Arrived: c.arrived[i], Asked: c.asked[i]})
		}
		place[m.Key] = i
	}
	for _, d := range c.strategy.Step(now, c.seen) {
		if i, ok := place[d.Key]; ok && math.Max(d.P/c.decided[i], c.decided[i]/d.P) > band {
			c.decided[i] = d.P
		}
	}
	for i := range c.methods {
		rate := c.decided[i]
		if rate == 0 {
			rate = 1
		}
		c.flows[i] = decide.Flow{Rate: rate}
		c.wall[i] = decide.WeightedSums{}
	}
	clear(c.counted)
	clear(c.asked)
	for _, s := range c.services {
		s.limit.Begin(now, now.Add(intervalLong*time.Second), intervalLong*time.Second, c.target)
	}
}
