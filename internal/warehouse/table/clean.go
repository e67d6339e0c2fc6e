package table

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/corehour/corehour/internal/warehouse"
)

// manifestsStay is the minimum age at which maintenance deletes a manifest that nothing refers to.
// A reader that has just resolved such a manifest resolves CURRENT again.
const manifestsStay = time.Hour

// clean deletes the leftovers of an interrupted maintenance: unfinished files, files that no generation
// names, and old manifests. It does not touch the writer's files.
func (m *Maintainer) clean() error {
	held, err := warehouse.LockCommit(m.root, commitLock)
	if err != nil {
		return err
	}
	defer held.Close()
	if err := m.refresh(); err != nil {
		return err
	}
	named, err := m.named()
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(m.root)
	if err != nil {
		return warehouse.DiskError("list", m.root, err)
	}
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), warehouse.DatePrefix) {
			if err := m.cleanDate(e.Name(), named); err != nil {
				return err
			}
		}
	}
	return m.cleanManifests(named)
}

func (m *Maintainer) cleanDate(dir string, named map[string]bool) error {
	entries, err := os.ReadDir(m.path(dir))
	if err != nil {
		return warehouse.DiskError("list", m.path(dir), err)
	}
	for _, e := range entries {
		kind, _, ok := strings.Cut(e.Name(), "-")
		ours := ok && slices.Contains([]string{KindMerge, KindRoll, KindPreaggregated}, kind)
		if name := dir + "/" + e.Name(); ours && !named[name] {
			m.remove(m.path(name))
		}
	}
	return nil
}

func (m *Maintainer) cleanManifests(named map[string]bool) error {
	entries, err := os.ReadDir(m.path(manifestDir))
	if err != nil {
		return warehouse.DiskError("list", m.path(manifestDir), err)
	}
	before := m.opts.Now().Add(-max(manifestsStay, m.grace(&m.state)))
	for _, e := range entries {
		name := e.Name()
		if !strings.HasSuffix(name, ".json") || named[name] {
			continue
		}
		info, err := e.Info()
		if err != nil {
			continue // already deleted
		}
		if generationOf(name) > m.state.Generation || info.ModTime().Before(before) {
			m.remove(m.path(manifestDir, name))
		}
	}
	return nil
}

func (m *Maintainer) remove(path string) {
	if m.opts.disk.remove(path) == nil {
		m.removed++
	}
}

// removeDue deletes the files whose grace period is over. It deletes them before the lists that name
// them, so that an interruption leaves no file behind. A list stays until all of its files are deleted.
// A list whose due time is more than 24 hours after that of a list made now was written with a clock
// that was ahead: its due time is corrected. Smaller differences are not corrected, because the present
// clock may be the wrong one, and readers would lose their grace period.
func (m *Maintainer) removeDue() error {
	now := m.opts.Now()
	gone := map[string]bool{} // lists whose files are all deleted
	for _, r := range m.state.Removed {
		if now.Before(r.Due) {
			continue
		}
		files, err := m.readRemoved(r)
		if err != nil {
			return err
		}
		gone[r.Manifest] = m.removeAll(files)
	}
	done := func(r removedRef) bool { return gone[r.Manifest] }
	due := now.Add(m.grace(&m.state)).UTC()
	ahead := func(r removedRef) bool { return r.Due.After(due.Add(24 * time.Hour)) }
	changed := func(r removedRef) bool { return done(r) || ahead(r) }
	if !slices.ContainsFunc(m.state.Removed, changed) {
		return nil
	}
	return m.publishSettled(now, func(_ *commit, next *state) error {
		next.Removed = slices.DeleteFunc(next.Removed, done)
		for i, r := range next.Removed {
			if ahead(r) {
				next.Removed[i].Due = due
			}
		}
		return nil
	}, func() (bool, error) { return !slices.ContainsFunc(m.state.Removed, changed), nil })
}

// removeAll deletes the files and reports whether all of them are gone afterwards.
func (m *Maintainer) removeAll(files []string) bool {
	all := true
	dirs := map[string]bool{}
	for _, f := range files {
		path := m.path(f)
		switch err := m.opts.disk.remove(path); {
		case err == nil:
			m.removed++
		case !errors.Is(err, fs.ErrNotExist):
			all = false
		}
		dirs[filepath.Dir(path)] = true
	}
	for dir := range dirs {
		// A directory that contains a file stays. The writer creates it again if necessary.
		if date := strings.TrimPrefix(filepath.Base(dir), warehouse.DatePrefix); date < m.state.Floor {
			_ = m.opts.disk.remove(dir)
		}
	}
	return all
}

// named returns the files and manifests that the newest generation refers to, and the removed files
// whose grace period is not over.
func (c *committer) named() (map[string]bool, error) {
	named := map[string]bool{}
	if c.state.Generation > 0 {
		named[generationName(c.state.Generation)] = true
	}
	for _, r := range c.state.Removed {
		files, err := c.readRemoved(r)
		if err != nil {
			return nil, err
		}
		named[r.Manifest] = true
		for _, f := range files {
			named[f] = true
		}
	}
	for _, ref := range c.state.Dates {
		manifest, err := readDate(c.root, ref)
		if err != nil {
			return nil, err
		}
		files, err := manifest.onDisk(c.root)
		if err != nil {
			return nil, err
		}
		named[ref.Manifest] = true
		for _, p := range manifest.Parts {
			named[p.Manifest] = true
		}
		for _, f := range files {
			named[f.Path] = true
		}
	}
	return named, nil
}

// readRemoved returns the files that are listed as removed by a commit.
func (c *committer) readRemoved(r removedRef) ([]string, error) {
	var list removedFiles
	if err := readManifest(c.root, r.Manifest, r.Checksum, &list); err != nil {
		return nil, err
	}
	for _, f := range list.Files {
		date := strings.TrimPrefix(filepath.Dir(f), warehouse.DatePrefix)
		if !isFileOf(f, date) || !strings.HasPrefix(f, warehouse.DatePrefix) {
			return nil, warehouse.Damaged("read manifest", c.path(manifestDir, r.Manifest), fmt.Errorf("it lists the file %q", f))
		}
	}
	return list.Files, nil
}
