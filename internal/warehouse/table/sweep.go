package table

import "time"

// sweep deletes files that no commit refers to any more, after the grace period for readers of older
// commits.
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

// deleteDue deletes the files that are due. A file that cannot be deleted is dropped from the list; the
// next start adds it again.
func (s *sweep) deleteDue(c *committer, now time.Time) {
	n := 0
	for n < len(s.due) && now.Sub(s.due[n].since) >= c.opts.Grace {
		_ = c.opts.disk.remove(s.due[n].path)
		n++
	}
	s.due = s.due[n:]
}
