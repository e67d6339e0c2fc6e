package decide

import (
	"math"
	"time"

	"github.com/corehour/corehour/internal/methodfile"
)

// tiny keeps quotients finite.
const tiny = 1e-12

// budget shares a number of records per second out among methods: each gets in
// proportion to sqrt(T) * CV, T the time it takes in all and CV its spread. That
// is between one that serves the total only (T * CV, Neyman's) and one that
// serves every method alike, and brings most methods below a given error.
type budget struct{ *book }

func newBudget(cfg Config) *budget { return &budget{newBook(cfg)} }

func (b *budget) Step(now time.Time, seen []Seen) []Decision {
	b.learn(now, seen)
	b.prepare(now)
	for _, p := range b.pots() {
		p.share(&b.cfg)
	}
	return b.report()
}

// pot is one budget and those who draw on it.
type pot struct {
	left   float64 // records per second, after what is pinned
	calls  float64 // per second, of all who draw
	claims []*claim
	pairs  []*pairClaim
}

// claim is what one method asks for.
type claim struct {
	m         *method
	calls     float64 // per second, now
	power     float64 // rate for each unit of the pot's price
	floor     float64 // rate
	low, high float64
	rate      float64 // decided
	paired    bool
}

// pairClaim is what a comparison asks for.
type pairClaim struct {
	head  *claim
	old   []*claim
	calls float64 // of the old ones together
	power float64 // records per second and side, for each unit of the price
}

// pots divides the methods up by budget.
func (b *budget) pots() []*pot {
	var all []*pot
	of := make(map[*service]*pot)
	find := func(s *service) *pot {
		if b.cfg.Budget.Per == PerAll {
			s = nil
		}
		p, ok := of[s]
		if !ok {
			p = &pot{left: b.cfg.Budget.RecordsPerSecond}
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
	c := &claim{m: m, calls: m.calls.Now, floor: m.floorRate(&b.cfg)}
	c.power = math.Sqrt(usual*m.cost()) * m.spread() / usual
	c.low, c.high = m.bounds(&b.cfg)
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
	c.power = b.cfg.Boost.Factor * math.Sqrt(cost) * p.spread() * lately / 2
	return c
}

// share finds the price at which the pot is spent and sets the rates. Where even
// the floors cost more than there is, all get the same part of them.
func (p *pot) share(cfg *Config) {
	left := max(p.left, 0)
	uniform := cfg.Budget.UniformShare * left / max(p.calls, tiny)
	floors := 1.0
	price := 0.0
	if spent := p.spend(0, 1, uniform); spent > left {
		floors = search(0, 1, func(part float64) bool { return p.spend(0, part, uniform*part) <= left })
		p.spend(0, floors, uniform*floors)
	} else {
		high := p.unbounded(left)
		for range 40 { // bounds may leave more to the others, up to all that is asked
			if p.spend(high, 1, uniform) > left {
				break
			}
			high *= 4
		}
		price = search(0, high, func(price float64) bool { return p.spend(price, 1, uniform) <= left })
		p.spend(price, 1, uniform)
	}
	for _, c := range p.claims {
		c.m.settle(c.rate, c.reason(price, floors, uniform), cfg)
	}
}

// unbounded is the price there would be if no rate had bounds.
func (p *pot) unbounded(left float64) float64 {
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

// spend sets the rates that a price leads to and returns what they cost, in
// records per second.
func (p *pot) spend(price, floors, uniform float64) float64 {
	for _, c := range p.claims {
		c.rate = c.bound(max(price*c.power, floors*c.floor) + uniform)
	}
	for _, pair := range p.pairs {
		pair.level(price)
	}
	total := 0.0
	for _, c := range p.claims {
		total += c.rate * c.calls
	}
	return total
}

func (c *claim) bound(rate float64) float64 { return min(max(rate, c.low), c.high) }

// level gives both sides of a comparison the same number of records: what the
// comparison asks for, and no less than either side would have by itself. What
// one side cannot reach the other is not given for its sake.
func (p *pairClaim) level(price float64) {
	var own, most, ordinary float64
	own = p.head.rate * p.head.calls
	for _, c := range p.old {
		most += c.high * c.calls
		ordinary += c.rate * c.calls
	}
	records := max(price*p.power, own, ordinary)
	records = min(records, p.head.high*p.head.calls, most)
	if records > own {
		p.head.rate = p.head.bound(records / max(p.head.calls, tiny))
	}
	if records > ordinary {
		for _, c := range p.old {
			c.rate = max(c.rate, c.bound(records/max(p.calls, tiny)))
		}
	}
}

func (c *claim) reason(price, floors, uniform float64) string {
	share, floor := price*c.power, floors*c.floor
	switch {
	case c.rate >= c.high:
		return reasonMaximum
	case c.rate <= c.low:
		return reasonMinimum
	case c.paired:
		return reasonCompared
	case share >= max(floor, uniform):
		return reasonShare
	case floor >= uniform:
		return reasonFloor
	}
	return reasonUniform
}
