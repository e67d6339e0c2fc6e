// Package corehour is a probe for methods: it counts every call exactly, and samples the cost
// of calls.
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
// Its invariants: counts are exact and never sampled. A measurement carries its sampling
// probability, which is decided before its value is known. CPU time is true or absent.
// Records that the queue refuses are aggregated, and those that cannot be aggregated are
// counted. Nothing here blocks, slows or crashes the program, and all memory is bounded.
//
// It does not trace requests: a measurement can carry the ids of a trace, no more. CPU time
// belongs to the calling goroutine, not to goroutines that the method starts.
package corehour
