package table

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/corehour/corehour/internal/warehouse/parquet"
)

// filesPerPart is the number of files that a date's manifest lists itself. When there are more, the oldest
// ones move to an immutable part.
const filesPerPart = 256

// datesInMemory bounds the number of manifests that a writer caches. It exceeds the number of dates in
// Options.Late, so all dates that are written to fit.
const datesInMemory = 48

// state is the state that CURRENT refers to, as far as a writer needs it.
type state struct {
	generation
	checksum string // of the generation
	loaded   map[string]dateState
	dirs     map[string]bool // known to exist and to be synced
}

type dateState struct {
	ref      dateRef
	manifest *dateManifest
}

func (s *state) clone() *state {
	c := *s
	c.Dates, c.loaded, c.Removed = slices.Clone(s.Dates), maps.Clone(s.loaded), slices.Clone(s.Removed)
	return &c
}

// say copies to the state the writer's options that maintenance needs.
func (s *state) say(o *Options) {
	s.Remember, s.RememberMax, s.Grace = o.RememberFor, o.RememberMax, o.Grace
}

func (s *state) addDir(dir string) {
	if s.dirs == nil || len(s.dirs) >= datesInMemory {
		s.dirs = map[string]bool{}
	}
	s.dirs[dir] = true
}

func (s *state) find(date string) (int, bool) {
	return slices.BinarySearchFunc(s.Dates, date, func(r dateRef, date string) int { return strings.Compare(r.Date, date) })
}

// load returns the manifest of a date, or an empty one if there is none yet.
func (s *state) load(root, date string) (dateState, error) {
	d := dateState{ref: dateRef{Date: date}, manifest: &dateManifest{Schema: parquet.SchemaVersion, Date: date}}
	if i, ok := s.find(date); ok {
		if d, ok := s.loaded[date]; ok && d.ref.Manifest == s.Dates[i].Manifest && d.ref.Checksum == s.Dates[i].Checksum {
			return d, nil
		}
		m, err := readDate(root, s.Dates[i])
		if err != nil {
			return dateState{}, err
		}
		d = dateState{ref: s.Dates[i], manifest: m}
	}
	return d, nil
}

// loadFiles is load, and also returns the files of the date.
func (s *state) loadFiles(root, date string) (dateState, []fileEntry, error) {
	d, err := s.load(root, date)
	if err != nil {
		return d, nil, err
	}
	files, err := d.manifest.allFiles(root)
	return d, files, err
}

func (s *state) set(d dateState) {
	i, ok := s.find(d.ref.Date)
	if ok {
		s.Dates[i] = d.ref
	} else {
		s.Dates = slices.Insert(s.Dates, i, d.ref)
	}
	if s.loaded == nil || len(s.loaded) >= datesInMemory && s.loaded[d.ref.Date].manifest == nil {
		s.loaded = map[string]dateState{}
	}
	s.loaded[d.ref.Date] = d
}

// drop removes a date.
func (s *state) drop(date string) {
	if i, ok := s.find(date); ok {
		s.Dates = slices.Delete(s.Dates, i, i+1)
	}
	delete(s.loaded, date)
}

// bytes returns the size of all live files.
func (s *state) bytes() (n int64) {
	for _, d := range s.Dates {
		n += d.Bytes
	}
	return n
}

// sumsBytes returns the size of the pre-aggregated rollups. They do not count towards the writer's limit:
// no row is refused because of files that can be made again.
func (s *state) sumsBytes() (n int64) {
	for _, d := range s.Dates {
		n += d.SumsBytes
	}
	return n
}

func (s *state) encode(now time.Time) *generation {
	g := s.generation
	g.Schema, g.Committed = parquet.SchemaVersion, now.UTC()
	return &g
}

// clone copies the lists, so that a failed commit does not change the old ones.
func (m *dateManifest) clone() *dateManifest {
	c := *m
	c.Parts, c.Files, c.Settled = slices.Clone(m.Parts), slices.Clone(m.Files), slices.Clone(m.Settled)
	return &c
}
