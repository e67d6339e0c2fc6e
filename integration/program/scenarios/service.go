package main

import (
	"sync/atomic"

	corehour "github.com/corehour/corehour/sdk"
)

var (
	orderMethod  = corehour.NewMethod("main.(*service).order")
	lookMethod   = corehour.NewMethod("main.(*service).look")
	stockMethod  = corehour.NewMethod("main.(*service).stock")
	printMethod  = corehour.NewMethod("main.(*service).print")
	payMethod    = corehour.NewMethod("main.(*service).pay")
	searchMethod = corehour.NewMethod("main.(*service).search")
	renderMethod = corehour.NewMethod("main.(*service).render")
)

// service is a tree of methods: order calls price, stock, print and pay; look calls price, search
// and render.
type service struct {
	release release
	priced  *corehour.Method // its rate depends on the release
	host    float64          // factor of this host
	times   float64          // current factor of all work
	upset   int              // current factor of price
}

func newService(r release) *service {
	return &service{release: r, priced: corehour.NewMethod("main.(*service).price", corehour.Rate(r.priceRate)), host: 1, times: 1, upset: 1}
}

func (s *service) order() {
	defer orderMethod.Begin().End()
	s.work(s.release.order)
	for range s.release.pricesPerOrder {
		s.price(s.release.priceOfOrder)
	}
	for range s.release.stocksPerOrder {
		s.stock()
	}
	s.print()
	s.pay()
}

func (s *service) browse() {
	defer lookMethod.Begin().End()
	s.work(s.release.look)
	for range s.release.pricesPerLook {
		s.price(s.release.priceOfLook)
	}
	s.search()
	s.render()
}

// price is timed at the release's rate.
func (s *service) price(thousands int) {
	defer s.priced.Begin().End()
	s.work(thousands * s.upset)
}

func (s *service) stock() {
	defer stockMethod.Begin().End()
	s.work(s.release.stock)
}

func (s *service) print() {
	defer printMethod.Begin().End()
	s.work(s.release.print)
}

func (s *service) pay() {
	defer payMethod.Begin().End()
	s.work(s.release.pay)
}

func (s *service) search() {
	defer searchMethod.Begin().End()
	s.work(s.release.search)
}

func (s *service) render() {
	defer renderMethod.Begin().End()
	s.work(s.release.render)
}

// work computes for a number of thousands of iterations. It is not inlined: the loop of one method
// would lie across two cache lines and that of another would not, which differ by a tenth.
//
//go:noinline
func (s *service) work(thousands int) {
	x := uint64(1)
	for range int(float64(thousands) * s.times * 1000) {
		x = x*6364136223846793005 + 1442695040888963407
	}
	result.Store(x)
}

var result atomic.Uint64 // keeps the work from being optimised away
