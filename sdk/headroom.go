package corehour

// A request without an answer lasts up to a minute, and the queue is full long before. From then
// on the goroutine that made a record would aggregate it, in memory that is cold there, which costs
// the program several times as much as a place in the queue. So while a request is in flight, the
// control loop aggregates the oldest records of a queue with little headroom. A program that is
// faster than that still finds the queue full.

// headroomOf returns the number of places that a queue keeps free: 0 for a very small queue.
func headroomOf(c *config) int { return min(c.batch, c.queue/8) }

// requestHeadroom wakes the control loop, unless a wake-up is pending.
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
