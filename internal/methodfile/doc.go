// Package methodfile reads the method file: a JSON document that says for which
// methods to measure how much (config/methods.schema.json describes its form,
// config/methods.json is an example).
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
// Its invariant: every entry is checked, a bad one becomes a Warning and is
// left out, and all others count. A value of an entry wins over that of its
// tier, which wins over that of the defaults. An exact method wins over all
// methods of a class, these over a pattern, a longer pattern over a shorter
// one, and of two equally specific entries the later.
//
// It does not know which methods exist, so it cannot tell that an entry matches
// none.
package methodfile
