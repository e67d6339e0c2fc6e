package bigquery

import (
	"fmt"
	"sync"
)

// Spent counts the bytes that queries read, by their estimates. It may be used concurrently.
type Spent struct {
	mu    sync.Mutex
	bytes int64
}

// Bytes returns the total so far.
func (s *Spent) Bytes() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes
}

// countQuery adds a query of n bytes. It returns ErrQueryTooLarge if the total would exceed one of
// the limits; 0 means no limit.
func (s *Spent) countQuery(name string, n int64, limits ...int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, limit := range limits {
		if limit > 0 && s.bytes+n > limit {
			return fmt.Errorf("%w: %s reads %s, after %s of %s", ErrQueryTooLarge, name, Bytes(n), Bytes(s.bytes), Bytes(limit))
		}
	}
	s.bytes += n
	return nil
}
