// Package corehour is a probe for methods: it counts every call exactly, and measures
// what calls cost by sampling.
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
// The path of a call: Method.Begin counts it and, by the method's plan, decides whether
// it is timed. Call.End puts a record into the ring, or into the cell table if the ring
// is full or the mode is Aggregate. The sender (engine.send) makes requests of records,
// cells and counts, and delivers one at a time. The control loop (engine.controlLoop) cuts
// the counts each minute and applies method file and served rates.
//
// Its invariants: counts are exact and never thinned. A measurement carries its sampling
// probability, which is decided before its value is known. CPU time is true or absent.
// What the queue refuses is aggregated, and what cannot be aggregated is counted. Nothing
// here blocks, slows or crashes the program, and all memory is bounded.
//
// It does not trace requests: a measurement may carry the ids of a trace, no more. CPU
// time is that of the calling goroutine, not of goroutines that the method starts.
package corehour
