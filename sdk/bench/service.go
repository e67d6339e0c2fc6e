package main

import "github.com/corehour/corehour/sdk"

// service is a synthetic service: a request takes some 200 us of CPU in 21 probed calls, including the
// request itself.
type service struct {
	handle, parse, price, tax, render *corehour.Method
}

var (
	probesOn  = newService("on", corehour.Rate(0.01))
	probesOff = newService("off", corehour.WithMode(corehour.Off))
)

func newService(name string, option corehour.MethodOption) *service {
	method := func(of string) *corehour.Method {
		return corehour.NewMethod("bench/service/"+name+"."+of, option)
	}
	return &service{method("handle"), method("parse"), method("price"), method("tax"), method("render")}
}

// stepsPerCall make a request last 200 us, about; set once by fit.
var stepsPerCall = 5000

//go:noinline
func (s *service) serve() {
	defer s.handle.Begin().End()
	for range 5 {
		s.parsing()
		s.pricing()
		s.rendering()
	}
}

//go:noinline
func (s *service) parsing() {
	defer s.parse.Begin().End()
	work()
}

//go:noinline
func (s *service) pricing() {
	defer s.price.Begin().End()
	work()
	s.taxing()
}

//go:noinline
func (s *service) taxing() {
	defer s.tax.Begin().End()
	work()
}

//go:noinline
func (s *service) rendering() {
	defer s.render.Begin().End()
	work()
}

func work() { _ = spin(stepsPerCall) }
