package decide

import (
	"math"
	"time"

	"github.com/corehour/corehour/internal/methodfile"
)

// tiny keeps quotients finite.
const tiny = 1e-12

// budget distributes a number of records per second over methods, in proportion to sqrt(T) * CV, where T is a
// method's total time and CV its coefficient of variation, until a day of the method is known well enough. This
// lies between T * CV (Neyman's allocation), which serves the total only, and an equal share, which brings most
// methods below a given error. A separate part of the budget serves the total through the most expensive methods.
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
	m      *method
	calls  float64 // per second, now
	power  float64 // rate for each unit of the allocation's price
	heavy  float64 // time of a call times its spread: the demand of the total
	floor  float64 // rate
	enough float64 // rate from which a day of it is known well enough
	rateBounds
	rising float64 // highest rate in this step
	rate   float64 // decided
	paired bool
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
	c.power = math.Sqrt(usual*m.cost()) * m.cv() / usual
	c.heavy = m.cost() * m.cv()
	c.enough = m.enoughRate(b.cfg.Budget.Enough)
	return c
}

func (b *budget) pairClaim(p *pair, claims map[*method]*claim) *pairClaim {
	c := &pairClaim{head: claims[p.head]}
	c.head.paired = true
	usual, cost := p.head.usual(), p.head.usual()*p.head.cost()
	for _, m := range p.old {
		old := claims[m]
		old.paired = true
		c.old = append(c.old, old)
		c.calls += old.calls
		usual += m.usual()
		cost += m.usual() * m.cost()
	}
	lately := (c.calls + c.head.calls) / max(usual, tiny)
	c.power = b.cfg.Boost.Factor * math.Sqrt(cost) * p.largerCV() * lately / 2
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
	beyond  bool    // all have enough, and the price is for more
	part    float64 // part of the floors, lowest rates and shares that the budget covers
	uniform float64 // rate
	total   float64 // rate per unit of heavy
}

// share finds the price at which the budget is spent, and sets the rates. If floors, lowest rates, the uniform
// share and the share for the total together exceed the budget, all are reduced by the same factor. If there is
// more than enough for all, the rest is distributed by the same rule. Pinned rates can take any amount, but a
// tenth of the budget remains for the others, so that no method falls to zero because of them. share reports
// whether the budget is too small for the minimum of all methods.
func (p *allocation) share(cfg *Config) (short bool) {
	least := leftByPins * cfg.Budget.RecordsPerSecond
	left := max(p.left, least)
	heavy := 0.0
	for _, c := range p.claims {
		heavy += c.heavy * c.calls
	}
	whole := offer{part: 1, uniform: cfg.Budget.UniformShare * left / max(p.calls, tiny), total: cfg.Budget.TotalShare * left / max(heavy, tiny)}
	found := whole
	if p.spend(whole) > left {
		at := func(part float64) offer {
			return offer{part: part, uniform: part * whole.uniform, total: part * whole.total}
		}
		found = at(search(0, 1, func(part float64) bool { return p.spend(at(part)) <= left }))
	} else {
		most := whole
		most.price = math.MaxFloat64
		whole.beyond = p.spend(most) <= left
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
		c.rate = c.bound(max(c.share(o), o.total*c.heavy, o.part*c.floor)+o.uniform, o.part)
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

// share returns the claim's own rate. At first it is at most enough, so that unused records reach the others.
func (c *claim) share(o offer) float64 {
	if o.beyond {
		return max(o.price*c.power, c.enough)
	}
	return min(o.price*c.power, c.enough)
}

func (c *claim) reason(o offer) string {
	share, total, floor := c.share(o), o.total*c.heavy, o.part*c.floor
	switch {
	case c.rate >= c.high:
		return reasonMaximum
	case c.rate >= c.rising && c.m.still:
		return reasonStill
	case c.rate >= c.rising:
		return reasonRising
	case c.rate <= o.part*c.low:
		return reasonMinimum
	case c.paired:
		return reasonCompared
	case o.uniform > max(share, total, floor):
		return reasonUniform
	case floor > max(share, total):
		return reasonFloor
	case total > share:
		return reasonTotal
	case share == c.enough:
		return reasonEnough
	}
	return reasonShare
}
