// Package corehour is a probe for methods: how often each one runs, exactly, and
// what it costs, by sampling.
//
//	shutdown, err := corehour.Start(ctx, corehour.WithService("shop", "1.4.2"))
//
//	var total = corehour.NewMethod("shop/cart.(*Cart).Total")
//
//	func (c *Cart) Total(ctx context.Context) Money {
//		defer total.Begin().End()
//		...
//	}
//
// Its invariants: counts are exact and are never thinned; a measurement bears the
// probability it was taken with, decided before its value was seen; CPU time is
// true or absent; whatever a full queue refuses is added up, and what cannot even
// be added up is a counter with a name; nothing here blocks, slows or crashes the
// program it watches, and everything it holds is bounded.
//
// It does not trace requests: a measurement may carry the ids of a trace, but
// spans that tell a request's story are another tool's work. CPU time is that of
// the calling goroutine alone, not of goroutines the method starts.
package corehour
