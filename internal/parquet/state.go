package parquet

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// filesPerPart is how many files a date's manifest lists itself before they
// move to a part that is never written again.
const filesPerPart = 256

// datesInMemory bounds the manifests that a writer keeps at hand. More dates
// than Options.Late spans are never written to at once.
const datesInMemory = 48

// state is what CURRENT leads to, as far as a writer needs it.
type state struct {
	generation int64
	dates      []dateRef // sorted
	loaded     map[string]dateState
	dirs       map[string]bool // known to exist and to be durable
}

type dateState struct {
	ref      dateRef
	manifest *dateManifest
}

func (s *state) clone() *state {
	return &state{generation: s.generation, dates: slices.Clone(s.dates), loaded: maps.Clone(s.loaded), dirs: s.dirs}
}

func (s *state) hasDir(dir string) bool { return s.dirs[dir] }

func (s *state) addDir(dir string) {
	if s.dirs == nil || len(s.dirs) >= datesInMemory {
		s.dirs = map[string]bool{}
	}
	s.dirs[dir] = true
}

func (s *state) find(date string) (int, bool) {
	return slices.BinarySearchFunc(s.dates, date, func(r dateRef, date string) int { return strings.Compare(r.Date, date) })
}

// load is the manifest of a date, empty if it has none yet.
func (s *state) load(root, date string) (dateState, error) {
	if d, ok := s.loaded[date]; ok {
		return d, nil
	}
	d := dateState{ref: dateRef{Date: date}, manifest: &dateManifest{Schema: SchemaVersion, Date: date}}
	if i, ok := s.find(date); ok {
		m, err := readDate(root, s.dates[i])
		if err != nil {
			return dateState{}, err
		}
		d = dateState{ref: s.dates[i], manifest: m}
	}
	return d, nil
}

func (s *state) set(d dateState) {
	i, ok := s.find(d.ref.Date)
	if ok {
		s.dates[i] = d.ref
	} else {
		s.dates = slices.Insert(s.dates, i, d.ref)
	}
	if s.loaded == nil || len(s.loaded) >= datesInMemory && s.loaded[d.ref.Date].manifest == nil {
		s.loaded = map[string]dateState{}
	}
	s.loaded[d.ref.Date] = d
}

func (s *state) encode(sequence int64, now time.Time) *generation {
	return &generation{Schema: SchemaVersion, Generation: s.generation, Sequence: sequence, Committed: now.UTC(), Dates: s.dates}
}

// clone copies the lists, so that a failed commit leaves the old ones alone.
func (m *dateManifest) clone() *dateManifest {
	c := *m
	c.Parts, c.Files = slices.Clone(m.Parts), slices.Clone(m.Files)
	return &c
}
