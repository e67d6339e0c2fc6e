package table

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/parquet"
)

// committer is the part that the Writer and the Maintainer share: the newest known state, and the only
// way to replace it. Another process may commit between two commits, so each commit reads CURRENT first.
type committer struct {
	root     string
	opts     Options
	lockFile *os.File // nil after Close
	state    state
	sweep    sweep
	// lastGeneration is the highest generation number used, committed or not.
	lastGeneration int64
	// unsettled is set after a commit whose outcome is unknown. The next commit finds out the outcome
	// before it does anything else.
	unsettled bool
}

// change turns the newest state into the next one. It must record in c all manifests that it writes and
// replaces.
type change func(c *commit, next *state) error

// commit is one replacement of CURRENT in progress, with the commit lock held.
type commit struct {
	*committer
	now      time.Time
	held     *os.File // the commit lock
	created  []string // manifests, and CURRENT.tmp
	replaced []string // manifests that are obsolete after the commit
}

// publish applies a change and commits it: it writes manifests first and CURRENT last. If it fails with
// any error but ErrUnknown, nothing has changed.
func (c *committer) publish(now time.Time, apply change) error {
	held, err := warehouse.LockCommit(c.root, commitLock)
	if err != nil {
		return err
	}
	defer held.Close()
	if err := c.refresh(); err != nil {
		return err
	}
	t := &commit{committer: c, now: now, held: held}
	err = t.commitChange(apply)
	if err != nil && !c.unsettled {
		if c.state.Generation == 0 {
			// Readers conclude from the number of a manifest whether there was an earlier commit.
			c.lastGeneration--
		}
		// A file that cannot be removed is harmless: no manifest names it, and the next start finds it.
		for _, path := range t.created {
			_ = c.opts.disk.remove(path)
		}
	}
	return err
}

func (t *commit) commitChange(apply change) error {
	c := t.committer
	next := c.state.clone()
	// No number is used twice, so the name differs from those of earlier attempts.
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
	// Another process that has the locks may have recovered the files of this commit.
	if err := cmp.Or(warehouse.Held(t.held), warehouse.Held(c.lockFile)); err != nil {
		c.unsettled = true
		return &warehouse.Error{Op: "replace", Path: current, Kind: warehouse.ErrUnknown, Err: err}
	}
	// After this rename was attempted the commit may be in effect, whatever error it returns.
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

// refresh loads the newest state if another process has committed.
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

// setKnown makes g the newest known state.
func (c *committer) setKnown(g *generation, sum string) {
	c.state = state{generation: *g, checksum: sum, loaded: c.state.loaded}
	c.lastGeneration = max(c.lastGeneration, g.Generation)
}

// setDate rewrites the manifest of a date without changing its parts.
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

// setFiles is setDate with the given files in the manifest. While the manifest has too many files, it
// moves the oldest ones to parts.
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

// writeManifest writes v under a name that nothing refers to yet, and returns its checksum.
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
