package decide

import (
	"math"
	"time"

	"github.com/corehour/corehour/internal/methodfile"
)

// tiny keeps quotients finite.
const tiny = 1e-12

// budget distributes a number of records per second over methods by their own cost O, the time of a method's calls
// without the methods they call, and by CV, the coefficient of variation of a call. One part follows O * CV
// (Neyman's allocation), the best for the total. The largest part gives all methods above 1% of the service's own cost
// the same precision, with records in proportion to CV^2; below 1% it falls with O^2. The part for the rest follows
// sqrt(O) * CV.
type budget struct{ *methodStore }

func (b *budget) Step(now time.Time, seen []Observation) []Decision {
	b.learnInterval(now, seen)
	b.prepare(now)
	b.stats.OverdrawnBudgets = 0
	for _, p := range b.allocations() {
		p.hold(&b.cfg, b.seconds)
		*p.trim = p.trimmed(*p.trim)
		p.left /= *p.trim
		if p.share(&b.cfg) {
			b.stats.OverdrawnBudgets++
		}
	}
	return b.report()
}

// The rates in force overspend if they exceed the budget by more than this factor and chance.
const (
	overspent       = 1.1
	overspentSigmas = 4
)

// hold lets no rate rise while the rates in force overspend the budget.
func (p *allocation) hold(cfg *Config, seconds float64) {
	var asked float64
	for _, c := range p.claims {
		asked += c.m.now.asked
	}
	there := max(p.left, leftByPins*cfg.Budget.RecordsPerSecond) * seconds
	if asked <= overspent*there+overspentSigmas*math.Sqrt(there) {
		return
	}
	for _, c := range p.claims {
		c.m.still = true
		c.rising, _ = c.m.rising(cfg)
	}
}

// allocation is one budget and the claims on it.
type allocation struct {
	trim   *float64 // of the service, or of the budget of all
	left   float64  // records per second, after what is pinned
	calls  float64  // per second, of all claims
	claims []*claim
	pairs  []*pairClaim
}

// claim is the demand of one method.
type claim struct {
	m     *method
	calls float64 // per second, now
	own   float64 // own cost of its calls, ns per second
	power float64 // rate for each unit of the allocation's price
	heavy float64 // own time of a call times its spread: the demand of the total
	rest  float64 // rate for each unit of the share for all methods
	floor float64 // rate
	rateBounds
	rising     float64 // highest rate in this step
	rate       float64 // decided
	paired     bool
	suspicious bool
}

// pairClaim is the demand of a comparison.
type pairClaim struct {
	head  *claim
	old   []*claim
	calls float64 // calls of the old versions together
	power float64 // records per second and side, for each unit of the price
}

// allocations groups the methods by budget.
func (b *budget) allocations() []*allocation {
	var all []*allocation
	of := make(map[*service]*allocation)
	find := func(s *service) *allocation {
		trim := &s.trim
		if b.cfg.Budget.Per == PerAll {
			s, trim = nil, &b.trim
		}
		p, ok := of[s]
		if !ok {
			p = &allocation{trim: trim, left: b.cfg.Budget.RecordsPerSecond}
			of[s] = p
			all = append(all, p)
		}
		return p
	}
	claims := make(map[*method]*claim)
	for _, m := range b.order {
		p := find(m.version.service)
		switch {
		case m.free():
			c := b.claim(m)
			claims[m] = c
			p.claims = append(p.claims, c)
			p.calls += c.calls
		case m.mode == methodfile.ModeSample && m.version.heard:
			p.left -= m.p * m.calls.Now
		}
	}
	for _, p := range all {
		p.weigh()
	}
	for _, pair := range b.pairs() {
		p := find(pair.head.version.service)
		p.pairs = append(p.pairs, b.pairClaim(pair, claims))
	}
	return all
}

func (b *budget) claim(m *method) *claim {
	usual := max(m.usual(), tiny)
	c := &claim{m: m, calls: m.calls.Now, floor: m.floorRate(&b.cfg), rateBounds: m.limits(&b.cfg)}
	c.rising, _ = m.rising(&b.cfg)
	own := m.cost() * m.ownPart()
	c.own = usual * own
	c.heavy = own * m.cv()
	c.rest = math.Sqrt(c.own) * m.cv() / usual
	return c
}

// mattering is the part of a service's own cost from which on all methods are to be known equally well.
const mattering = 0.01

// weigh sets the demands that depend on the own cost of the whole service. A method of fewer records than priorRecords
// may cost anything, so it counts as one that matters.
func (p *allocation) weigh() {
	all := make(map[*service]float64)
	for _, c := range p.claims {
		all[c.m.version.service] += c.own
	}
	for _, c := range p.claims {
		part := min(c.own/max(mattering*all[c.m.version.service], tiny), 1)
		if own, _ := c.m.measured(); own.Records < priorRecords {
			part = 1
		}
		c.power = square(part*c.m.cv()) / max(c.m.usual(), tiny)
	}
}

func square(x float64) float64 { return x * x }

func (b *budget) pairClaim(p *pair, claims map[*method]*claim) *pairClaim {
	c := &pairClaim{head: claims[p.head]}
	c.head.paired = true
	usual, power := p.head.usual(), c.head.power*p.head.usual()
	for _, m := range p.old {
		old := claims[m]
		old.paired = true
		c.old = append(c.old, old)
		c.calls += old.calls
		usual += m.usual()
		power = max(power, old.power*m.usual())
	}
	lately := (c.calls + c.head.calls) / max(usual, tiny)
	c.power = b.cfg.Boost.Factor * power * lately / 2
	if p.suspicious() {
		c.head.suspicious = true
		c.power = max(c.power, suspicionPart*b.cfg.Boost.Factor*square(p.largerCV())) * suspicionFactor
	}
	return c
}

// trimShare is the weight of one interval in the trim, less where calls come in bursts;
// trimMost bounds the factor.
const (
	trimShare = 0.3
	trimMost  = 2
)

// trimmed returns the factor that corrects the common error of the levels. Each level follows its method
// slowly, and a thousand rare methods with fewer calls make a difference long before any one of them shows it.
// The factor is the ratio of the records expected from the last interval's calls to those expected from the
// levels, at the rates in force.
func (p *allocation) trimmed(before float64) float64 {
	var levels, calls, chance, bunched float64
	for _, c := range p.claims {
		if !c.m.version.late {
			levels += c.m.p * c.calls
			calls += c.m.p * c.m.lately
			chance += c.m.p * c.m.p * c.calls
			bunched += c.m.p * c.m.p * c.calls * c.m.burstiness()
		}
	}
	if levels <= 0 {
		return before
	}
	now := min(max(calls/levels, 1./trimMost), trimMost)
	return before + trimShare*chance/bunched*(now-before)
}

const (
	// leftByPins is the least part of a budget that pinned rates leave to other methods.
	leftByPins = 0.1

	// mostlyThere is the part of floors and lowest rates below which a budget is reported as too
	// small.
	mostlyThere = 0.5
)

// offer is the common price and shares that an allocation gives to all of its claims.
type offer struct {
	price   float64 // per unit of power
	part    float64 // part of the floors, lowest rates and shares that the budget covers
	uniform float64 // rate
	total   float64 // rate per unit of heavy
	rest    float64 // rate per unit of rest
}

// share finds the price at which the budget is spent, and sets the rates. If floors, lowest rates and the other
// shares together exceed the budget, all are reduced by the same factor. Pinned rates can take any amount, but a tenth
// of the budget remains for the others, so that no method falls to zero because of them. share reports whether the
// budget is too small for the minimum of all methods.
func (p *allocation) share(cfg *Config) (short bool) {
	least := leftByPins * cfg.Budget.RecordsPerSecond
	left := max(p.left, least)
	var heavy, rest float64
	for _, c := range p.claims {
		heavy += c.heavy * c.calls
		rest += c.rest * c.calls
	}
	whole := offer{part: 1, uniform: cfg.Budget.UniformShare * left / max(p.calls, tiny),
		total: cfg.Budget.TotalShare * left / max(heavy, tiny), rest: cfg.Budget.RestShare * left / max(rest, tiny)}
	found := whole
	if p.spend(whole) > left {
		at := func(part float64) offer {
			return offer{part: part, uniform: part * whole.uniform, total: part * whole.total, rest: part * whole.rest}
		}
		found = at(search(0, 1, func(part float64) bool { return p.spend(at(part)) <= left }))
	} else {
		at := func(price float64) offer { o := whole; o.price = price; return o }
		high := p.unbounded(left)
		for range 40 { // bounds can leave more to the others, up to all that they ask for
			if p.spend(at(high)) > left {
				break
			}
			high *= 4
		}
		found = at(search(0, high, func(price float64) bool { return p.spend(at(price)) <= left }))
	}
	p.spend(found)
	calm := p.canHold()
	for _, c := range p.claims {
		want := c.rate
		if calm {
			want = c.m.holdRate(want, c.rateBounds)
		}
		c.m.setRate(want, c.reason(found), c.rateBounds, cfg)
	}
	return len(p.claims) > 0 && (p.left < least || found.part < mostlyThere)
}

// canHold reports whether rates close to those in force can stay: many skipped small changes can add up.
func (p *allocation) canHold() bool {
	var asked, spent float64
	for _, c := range p.claims {
		asked += c.rate * c.calls
		spent += c.m.holdRate(c.rate, c.rateBounds) * c.calls
	}
	return math.Abs(spent-asked) <= balanced*asked
}

// unbounded returns the price if no rate had bounds.
func (p *allocation) unbounded(left float64) float64 {
	var asked float64
	for _, c := range p.claims {
		asked += c.power * c.calls
	}
	return left / max(asked, tiny)
}

// search finds the largest x between low and high for which ok holds; it holds
// at low.
func search(low, high float64, ok func(float64) bool) float64 {
	for range 100 {
		middle := low + (high-low)/2
		if low > 0 && high > 2*low { // orders of magnitude first
			middle = math.Sqrt(low * high)
		}
		if ok(middle) {
			low = middle
		} else {
			high = middle
		}
		if high-low <= 1e-6*high {
			break
		}
	}
	return low
}

// bound moves a rate inside its limits. A share that cannot rise yet goes to the others, so that the budget is
// spent meanwhile.
func (c *claim) bound(rate, part float64) float64 {
	return min(c.rateBounds.bound(rate, part), c.most())
}

func (c *claim) most() float64 { return min(c.high, max(c.rising, c.least)) }

// spend sets the rates for an offer and returns their cost in records per second.
func (p *allocation) spend(o offer) float64 {
	for _, c := range p.claims {
		c.rate = c.bound(max(o.price*c.power, o.total*c.heavy, o.rest*c.rest, o.part*c.floor)+o.uniform, o.part)
	}
	for _, pair := range p.pairs {
		pair.level(o.price, o.part)
	}
	total := 0.0
	for _, c := range p.claims {
		total += c.rate * c.calls
	}
	return total
}

// level gives both sides of a comparison the same number of records: the demand of the comparison, and at least
// as many as either side would have by itself. If one side cannot reach that number, the other does not get it.
func (p *pairClaim) level(price, part float64) {
	var own, most, ordinary float64
	own = p.head.rate * p.head.calls
	for _, c := range p.old {
		most += c.most() * c.calls
		ordinary += c.rate * c.calls
	}
	records := max(price*p.power, own, ordinary)
	records = min(records, p.head.most()*p.head.calls, most)
	if records > own {
		p.head.rate = p.head.bound(records/max(p.head.calls, tiny), part)
	}
	if records > ordinary {
		for _, c := range p.old {
			c.rate = max(c.rate, c.bound(records/max(p.calls, tiny), part))
		}
	}
}

func (c *claim) reason(o offer) string {
	share, total, floor := max(o.price*c.power, o.rest*c.rest), o.total*c.heavy, o.part*c.floor
	switch {
	case c.rate >= c.high:
		return reasonMaximum
	case c.rate >= c.rising && c.m.still:
		return reasonStill
	case c.rate >= c.rising:
		return reasonRising
	case c.rate <= o.part*c.low:
		return reasonMinimum
	case c.suspicious:
		return reasonSuspicious
	case c.paired:
		return reasonCompared
	case o.uniform > max(share, total, floor):
		return reasonUniform
	case floor > max(share, total):
		return reasonFloor
	case total > share:
		return reasonTotal
	}
	return reasonShare
}
