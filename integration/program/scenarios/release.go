package main

import (
	"fmt"
	"time"
)

// release is the behaviour of one version of the service. Work is in thousands of iterations, each
// of which takes about a nanosecond.
type release struct {
	ordersInTen int // of ten requests; the others browse

	pricesPerOrder, pricesPerLook, stocksPerOrder int

	order, look, stock, print, pay, search, render int
	priceOfOrder, priceOfLook                      int

	priceRate float64       // share of the calls of price that are timed
	coldFor   time.Duration // how long after the start everything is slower
	incidents bool          // price becomes slower while there is an incident
}

const (
	coldTimes      = 3 // factor of a cold process
	incidentTimes  = 4
	incidentLength = 3 * time.Second
)

func firstRelease() release {
	return release{
		ordersInTen: 5, pricesPerOrder: 4, pricesPerLook: 4, stocksPerOrder: 1,
		order: 20, look: 20, stock: 20, print: 40, pay: 30, search: 30, render: 40,
		priceOfOrder: 20, priceOfLook: 20,
		priceRate: 1,
	}
}

// scenarios are the changes of versions 1 and 2 to the first release.
var scenarios = map[string]struct{ before, after func(*release) }{
	"steady":   {},
	"slower":   {after: func(r *release) { r.priceOfOrder, r.priceOfLook = 30, 30 }},
	"slightly": {after: func(r *release) { r.priceOfOrder, r.priceOfLook = 22, 22 }},
	"mix": {
		before: func(r *release) { r.ordersInTen, r.priceOfLook = 7, 60 },
		after:  func(r *release) { r.ordersInTen, r.priceOfLook = 3, 60 },
	},
	"moved": {
		before: func(r *release) { r.stock, r.print = 140, 20 },
		after:  func(r *release) { r.stock, r.print = 20, 140 },
	},
	"oftener": {after: func(r *release) { r.stocksPerOrder = 6 }},
	"rates": {
		before: func(r *release) { r.manyPrices(); r.priceRate = 0.001 },
		after:  func(r *release) { r.manyPrices() },
	},
	"whole": {before: (*release).longCallers, after: func(r *release) { r.longCallers(); r.everythingSlower() }},
	"cold":  {after: func(r *release) { r.coldFor = 2 * time.Second }},
	// The other scenarios change where, when and how long the versions run.
	"host":       {},
	"incident":   {before: func(r *release) { r.incidents = true }, after: func(r *release) { r.incidents = true }},
	"rolledback": {after: func(r *release) { r.priceOfOrder, r.priceOfLook = 30, 30 }},
}

// manyPrices makes price so short, and called so often, that timing it costs its callers more than
// a threshold.
func (r *release) manyPrices() {
	r.pricesPerOrder, r.pricesPerLook = 60, 60
	r.priceOfOrder, r.priceOfLook = 2, 2
}

// longCallers makes callers work for longer than the probes of the calls that they make. Half of
// the cost of these probes is unknown, and with cold caches it is up to 4 us each.
func (r *release) longCallers() { r.order, r.look = 100, 100 }

func (r *release) everythingSlower() {
	for _, work := range []*int{&r.order, &r.look, &r.stock, &r.print, &r.pay, &r.search, &r.render, &r.priceOfOrder, &r.priceOfLook} {
		*work += *work / 2
	}
}

func releaseOf(scenario, version string) (release, error) {
	changes, ok := scenarios[scenario]
	if !ok {
		return release{}, fmt.Errorf("--scenario %q is none: --help lists them", scenario)
	}
	r := firstRelease()
	change := changes.before
	switch version {
	case "1":
	case "2":
		change = changes.after
	default:
		return release{}, fmt.Errorf("--version must be 1 or 2, found %q", version)
	}
	if change != nil {
		change(&r)
	}
	return r, nil
}
