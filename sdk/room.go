package corehour

// A request that nobody answers lasts up to a minute, and the queue is full long before.
// From then on each record would be added up by the goroutine that made it, in memory
// that is cold there, which costs a program several times what a place in the queue
// does. So while a request lasts the minder adds up the oldest records of a queue that
// has little room left. Only who is faster than the minder still finds it full.

// roomOf is how many places of a queue are kept free so: none of a very small one.
func roomOf(c *config) int { return min(c.batch, c.queue/8) }

// askForRoom tells the minder, unless it has been told.
func (e *engine) askForRoom() {
	select {
	case e.crowded <- struct{}{}:
	default:
	}
}

// makeRoom adds up the oldest records while a request is under way. If there is none
// the sender is about to take them.
func (e *engine) makeRoom() {
	const few = 64 // a buffer for the stack
	var batch [few]record
	for e.delivering.Load() && e.ring.length() > len(e.ring.places)-e.room {
		taken := e.ring.take(batch[:0], min(few, e.room))
		if len(taken) == 0 {
			return // the oldest is not finished yet
		}
		for i := range taken {
			e.fold(&taken[i])
		}
	}
}
