// Package methodfile reads the method file: a JSON document that sets how methods are sampled
// (config/methods.schema.json is its schema, config/methods.json an example).
//
//	{
//	  "version": 1,
//	  "defaults": {"rate": 0.1},
//	  "tiers": {"inner": {"rate": 0.001}},
//	  "methods": [
//	    {"class": "shop/cart.Cart", "method": "Total", "tier": "inner"},
//	    {"class": "shop/web.Handler", "method": "*", "rate": 1},
//	    {"match": "shop/codec.*", "mode": "off"}
//	  ]
//	}
//
// Its invariant: every entry is checked, a faulty one becomes a Warning and is left out, and
// all others are used. A value of an entry takes precedence over that of its tier, and that
// over the defaults. An exact method takes precedence over all methods of a class, a class over
// a pattern, a longer pattern over a shorter one, and the later of two equal entries over the
// earlier.
//
// It does not know which methods exist, so it cannot find entries that match none.
package methodfile
