package bigquery

import (
	"fmt"
	"sync"
)

// Spent is how many bytes queries read, by the estimates.
type Spent struct {
	mu    sync.Mutex
	bytes int64
}

// Bytes is how many they are so far.
func (s *Spent) Bytes() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes
}

// countQuery counts a query, unless it would go above a limit. 0 = no limit.
func (s *Spent) countQuery(name string, n int64, limits ...int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, limit := range limits {
		if limit > 0 && s.bytes+n > limit {
			return fmt.Errorf("%w: %s reads %s, after %s of %s", ErrTooDear, name, Bytes(n), Bytes(s.bytes), Bytes(limit))
		}
	}
	s.bytes += n
	return nil
}
