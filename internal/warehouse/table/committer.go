package table

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"time"

	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/parquet"
)

// committer is what all who change a warehouse have in common: the newest state
// they know, and the one way to replace it. Between two commits of one of them
// another process may commit, so each begins by looking again.
type committer struct {
	root  string
	opts  Options
	state state
	sweep sweep
	// lastGeneration is the highest number that was used, committed or not.
	lastGeneration int64
	// unsettled is set after a commit whose outcome is not known; the next one
	// resolves it before it does anything else.
	unsettled bool
}

// change makes the next state of the newest one. What it writes it must note in
// the commit, and what it replaces too.
type change func(c *commit, next *state) error

// commit is one replacement of CURRENT under way, with the commit lock held.
type commit struct {
	*committer
	now      time.Time
	created  []string // manifests, and CURRENT.tmp
	replaced []string // manifests that are not needed afterwards
}

// publish makes a change count: manifests first, CURRENT last. If it fails with
// anything but ErrUnknown nothing has changed.
func (c *committer) publish(now time.Time, apply change) error {
	held, err := warehouse.LockCommit(c.root, commitLock)
	if err != nil {
		return err
	}
	defer held.Close()
	if err := c.refresh(); err != nil {
		return err
	}
	t := &commit{committer: c, now: now}
	err = t.commitChange(apply)
	if err != nil && !c.unsettled {
		if c.state.Generation == 0 {
			// The number of a manifest tells readers whether there was a commit before.
			c.lastGeneration--
		}
		// What can't be removed does no harm: no manifest names it, and a start
		// finds it.
		for _, path := range t.created {
			_ = c.opts.disk.remove(path)
		}
	}
	return err
}

func (t *commit) commitChange(apply change) error {
	c := t.committer
	next := c.state.clone()
	// No number is used twice, so a name is never that of an older attempt.
	c.lastGeneration++
	next.Generation = c.lastGeneration
	if c.state.Generation > 0 {
		t.replaced = append(t.replaced, c.path(manifestDir, generationName(c.state.Generation)))
	}
	if err := apply(t, next); err != nil {
		return err
	}
	name := generationName(next.Generation)
	sum, err := t.writeManifest(name, next.encode(t.now))
	if err != nil {
		return err
	}
	next.checksum = sum
	dir := c.path(manifestDir)
	if err := c.opts.disk.syncDir(dir); err != nil {
		return warehouse.DiskError("sync directory", dir, err)
	}
	current := c.path(currentName)
	tmp := current + tmpSuffix
	t.created = append(t.created, tmp)
	if err := writeFile(c.opts.disk, tmp, []byte(name+" "+sum+"\n")); err != nil {
		return warehouse.DiskError("write file", tmp, err)
	}
	// Once this rename was tried the commit may count, whatever it returns.
	err = c.opts.disk.rename(tmp, current)
	if err == nil {
		err = c.opts.disk.syncDir(c.root)
	}
	if err != nil {
		c.unsettled = true
		typed := warehouse.DiskError("replace", current, err)
		typed.Kind = warehouse.ErrUnknown
		typed.Hint = hintUnknown
		return typed
	}
	c.sweep.addPaths(t.now, t.replaced...)
	c.state = *next
	return nil
}

// refresh looks whether another process has committed, and takes over its state.
func (c *committer) refresh() error {
	name, sum, err := readCurrent(c.root)
	if errors.Is(err, fs.ErrNotExist) {
		if c.state.Generation > 0 {
			return warehouse.Damaged("read", c.path(currentName), err)
		}
		return nil
	}
	if err != nil {
		return err
	}
	if c.state.Generation > 0 && name == generationName(c.state.Generation) && sum == c.state.checksum {
		return nil
	}
	g, err := readGeneration(c.root, name, sum)
	if err != nil {
		return err
	}
	if g.Generation < c.state.Generation {
		return &warehouse.Error{Op: "read", Path: c.path(currentName), Kind: warehouse.ErrCorrupt, Hint: "start again to go on with it, or bring the newer one back",
			Err: fmt.Errorf("it was replaced by an older one while it was in use: it names generation %d, and %d counted", g.Generation, c.state.Generation)}
	}
	c.setKnown(g, sum)
	return nil
}

// setKnown makes a generation the state that is known.
func (c *committer) setKnown(g *generation, sum string) {
	c.state = state{generation: *g, checksum: sum, loaded: c.state.loaded}
	c.lastGeneration = max(c.lastGeneration, g.Generation)
}

// setDate rewrites the manifest of a date; its parts stay as they are.
func (t *commit) setDate(next *state, old dateState, ref dateRef, m *dateManifest) error {
	if old.ref.Manifest != "" {
		t.replaced = append(t.replaced, t.path(manifestDir, old.ref.Manifest))
	}
	ref.Date = m.Date
	ref.Manifest = fmt.Sprintf("%s%s-%012d.json", warehouse.DatePrefix, m.Date, next.Generation)
	var err error
	if ref.Checksum, err = t.writeManifest(ref.Manifest, m); err != nil {
		return err
	}
	next.set(dateState{ref: ref, manifest: m})
	return nil
}

// setFiles is setDate with these files in the manifest, whose oldest move to parts while they
// are too many.
func (t *commit) setFiles(next *state, old dateState, ref dateRef, m *dateManifest, files []fileEntry) error {
	for n := 0; len(files) > filesPerPart; n++ {
		part := fmt.Sprintf("%s%s-%012d-part.json", warehouse.DatePrefix, m.Date, next.Generation)
		if n > 0 {
			part = fmt.Sprintf("%s%s.%d-%012d-part.json", warehouse.DatePrefix, m.Date, n, next.Generation)
		}
		sum, err := t.writeManifest(part, &dateManifest{Schema: parquet.SchemaVersion, Date: m.Date, Files: files[:filesPerPart]})
		if err != nil {
			return err
		}
		m.Parts = append(m.Parts, partRef{Manifest: part, Checksum: sum, Files: filesPerPart})
		files = files[filesPerPart:]
	}
	m.Files = files
	return t.setDate(next, old, ref, m)
}

// writeManifest writes v under a name that nothing refers to yet.
func (t *commit) writeManifest(name string, v any) (sum string, err error) {
	path := t.path(manifestDir, name)
	data, err := json.Marshal(v)
	if err != nil {
		return "", &warehouse.Error{Op: "encode manifest", Path: path, Err: err}
	}
	t.created = append(t.created, path)
	if err := writeFile(t.opts.disk, path, data); err != nil {
		return "", warehouse.DiskError("write manifest", path, err)
	}
	return parquet.Checksum(data), nil
}

func (c *committer) path(elems ...string) string {
	return filepath.Join(c.root, filepath.FromSlash(path.Join(elems...)))
}

const hintUnknown = "writing the same items again settles it"
