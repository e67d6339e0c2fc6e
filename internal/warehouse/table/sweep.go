package table

import "time"

// sweep deletes what no commit refers to any more, once readers that have
// resolved an older commit had their grace.
type sweep struct {
	due []doomed // oldest first
}

type doomed struct {
	since time.Time
	path  string
}

func (s *sweep) addPaths(now time.Time, paths ...string) {
	for _, p := range paths {
		s.due = append(s.due, doomed{now, p})
	}
}

// deleteDue deletes what is due. What can't be deleted is dropped from the list: the
// next start lists it again.
func (s *sweep) deleteDue(c *committer, now time.Time) {
	n := 0
	for n < len(s.due) && now.Sub(s.due[n].since) >= c.opts.Grace {
		_ = c.opts.disk.remove(s.due[n].path)
		n++
	}
	s.due = s.due[n:]
}
