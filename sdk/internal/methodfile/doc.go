// Package methodfile reads the method file, which sets how methods are sampled. Its schema is
// config/methods.schema.json of the project:
//
//	{"version": 1,
//	 "defaults": {"rate": 0.01},
//	 "tiers": {"entry": {"rate": 1, "cpu_rate": 0.05}, "inner": {"rate": 0.001}},
//	 "methods": [
//	   {"class": "shop/cart.Cart", "method": "Total", "tier": "inner"},
//	   {"class": "shop/web.Handler", "method": "*", "tier": "entry"},
//	   {"match": "shop/codec.*", "rate": 0.0005, "mode": "sample"}]}
//
// Its invariant: a faulty entry is left out, with a message that contains its key, line and
// value, and all others are used. The most specific entry of a method applies: its exact name,
// else its class with any method, else the longest prefix, and the later of two equal ones.
//
// It does not know which methods a program has, nor what a build does with them. Methods of Go
// have no signature, so entries with one apply to no method of Go.
//
// The collector reads the same file with internal/methodfile of the root module. This package
// imports the standard library only and is a parser of its own; both read the cases in
// internal/methodfile/testdata of the root module and must give the same results and messages.
package methodfile
