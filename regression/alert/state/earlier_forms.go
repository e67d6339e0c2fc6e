package state

import "github.com/corehour/corehour/regression/alert"

// renew brings what earlier forms of the file say into this one.
func (s *State) renew() {
	for i := range s.Accepted {
		a := &s.Accepted[i]
		if s.Version == 1 {
			a.Level = a.LevelNS
		}
		a.LevelNS = 0
	}
	s.Version, s.Checksum = Version, ""
}

// ofNoCaller reports whether a says more calls of a method and not by which caller, as
// version 1 did. It is about each of its callers between the two versions.
func (a *Accepted) ofNoCaller(b *alert.Alert) bool {
	return a.Kind == alert.MoreCalls && a.Caller == "" && a.BaseVersion == b.BaseVersion && a.HeadVersion == b.HeadVersion
}
