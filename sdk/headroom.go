package corehour

// A request that is not answered lasts up to a minute, and the queue is full long before.
// From then on each record would be aggregated by the goroutine that made it, in memory
// that is cold there, which costs a program several times what a place in the queue
// does. So while a request is in flight the control loop aggregates the oldest records of
// a queue that has little headroom left. A program that is faster still finds it full.

// headroomOf returns how many places of a queue are kept free: none of a very small one.
func headroomOf(c *config) int { return min(c.batch, c.queue/8) }

// requestHeadroom wakes the control loop, unless it is already to wake.
func (e *engine) requestHeadroom() {
	select {
	case e.crowded <- struct{}{}:
	default:
	}
}

// freeHeadroom aggregates the oldest records while a request is in flight. If none is,
// the sender is about to dequeue them.
func (e *engine) freeHeadroom() {
	const few = 64 // a buffer for the stack
	var batch [few]record
	for e.delivering.Load() && e.ring.Length() > len(e.ring.Places)-e.headroom {
		taken := e.ring.Dequeue(batch[:0], min(few, e.headroom))
		if len(taken) == 0 {
			return // the oldest is not finished yet
		}
		for i := range taken {
			e.aggregateOverflow(&taken[i])
		}
	}
}
