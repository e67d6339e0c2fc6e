package bucket

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/table"
)

// takeover says what counted of a directory when another took its prefix over: raw
// files up to the sequence. What its collector had written beyond it is in the
// directory alone.
type takeover struct {
	Owner    string `json:"owner"`
	Sequence int64  `json:"sequence"`
}

// maxHanded bounds how many are remembered, the newest ones.
const maxHanded = 64

// addTakeover notes that the owner of a commit is another from now on.
func addTakeover(before *bucketCommit, sequence int64, to string) []takeover {
	if before == nil {
		return nil
	}
	left := slices.Clone(before.Handed)
	if before.Owner == to || before.Scratch {
		return left
	}
	left = slices.DeleteFunc(left, func(h takeover) bool { return h.Owner == before.Owner })
	left = append(left, takeover{before.Owner, sequence})
	return left[max(0, len(left)-maxHanded):]
}

// takenOverAt is how far an owner had come when another took the prefix over, 0 if nobody
// knows any more.
func takenOverAt(head *bucketCommit, owner string) int64 {
	for _, h := range head.Handed {
		if h.Owner == owner {
			return h.Sequence
		}
	}
	return 0
}

// Imported is what came of the rows that a directory still held.
type Imported struct {
	Address string `json:"address"` // of the prefix where they are now
	Items   int    `json:"items"`
	Rows    int64  `json:"rows"`
	// Repeated items are stored by the collector that has the prefix now.
	Repeated int `json:"repeated_items"`
	// Already: an earlier import has brought them.
	Already bool `json:"already"`
}

// abandonedPrefix is where the rows of a directory go whose prefix another has.
func abandonedPrefix(owner string) string { return "left-" + owner }

// unlimitedAge is longer than any row is old.
const unlimitedAge = 100 * 365 * 24 * time.Hour

// Import brings what the directory of a collector that is gone holds beyond what it
// has uploaded. If nobody has taken its prefix over, it is uploaded there; else it goes
// to a prefix of its own, in one commit, which is made once however often it is tried.
// Items that the new owner of the prefix remembers are left out.
func Import(ctx context.Context, b *Bucket, directory, scratch string) (*Imported, error) {
	found, err := readMarker(directory)
	if err != nil {
		return nil, err
	}
	if found == nil {
		return nil, &warehouse.Error{Op: "import", Path: directory, Kind: warehouse.ErrMissing, Hint: "want the `path` of a collector with the option `bucket`: it holds a file " + table.SpoolName}
	}
	name, ours := strings.CutPrefix(found.Address, b.String()+"/")
	if !ours || CheckPrefix(name) != nil {
		return nil, &warehouse.Error{Op: "import", Path: directory, Kind: ErrTaken, Hint: fmt.Sprintf("the directory belongs to %s: name that bucket", found.Address)}
	}
	// A writer adopts what is finished and not committed; it fails if one is at work.
	w, err := table.NewWriter(directory, table.Options{})
	if err != nil {
		return nil, err
	}
	defer w.Close()
	tree, err := table.CurrentTree(directory)
	if err != nil {
		return nil, err
	}
	into := &Imported{Address: found.Address}
	if tree == nil {
		return into, nil
	}
	m, err := NewMirror(ctx, b, Options{Address: b.String(), Prefix: name, Directory: directory, CloseWithin: patience})
	if err == nil {
		return into, errors.Join(m.Push(ctx), m.Close())
	}
	if !errors.Is(err, ErrTaken) {
		return nil, err
	}
	head, herr := b.Store(name).head(ctx)
	if herr != nil || head == nil {
		return nil, errors.Join(err, herr)
	}
	i := slices.IndexFunc(head.Handed, func(h takeover) bool { return h.Owner == found.Owner })
	if i < 0 {
		return nil, &warehouse.Error{Op: "import", Path: directory, Kind: ErrTaken, Err: err, Hint: "how much of it was uploaded when the prefix was taken over is not known any more"}
	}
	work, err := newScratch(scratch, importScratch)
	if err != nil {
		return nil, err
	}
	defer work.remove()
	l := &leftRows{bucket: b, from: b.Store(name), to: abandonedPrefix(found.Owner), scratch: work.path, Imported: into}
	// A collector must not write to it any more, also while nobody can be asked.
	found.Imported = true
	if err := found.write(directory); err != nil {
		return nil, err
	}
	return into, l.importRows(ctx, tree, head, max(head.Handed[i].Sequence, found.Sequence, tree.Common))
}

// leftRows is an import to a prefix of its own.
type leftRows struct {
	*Imported
	bucket  *Bucket
	from    *Store
	to      string
	scratch string
}

func (l *leftRows) importRows(ctx context.Context, tree *table.Tree, taken *bucketCommit, sequence int64) error {
	to := l.bucket.Store(l.to)
	l.Address = to.Address()
	before, err := to.head(ctx)
	if err != nil {
		return err
	}
	if before != nil && before.Generation > 0 {
		l.Already = true
		return nil
	}
	known, err := l.openKnown(ctx, taken)
	if err != nil {
		return err
	}
	root := filepath.Join(l.scratch, "warehouse")
	w, err := table.NewWriter(root, table.Options{Late: unlimitedAge, Future: unlimitedAge})
	if err != nil {
		return errors.Join(err, known.Close())
	}
	err = tree.ItemsAfter(ctx, sequence, func(items []methodspan.Item) error {
		fresh := slices.DeleteFunc(items, func(it methodspan.Item) bool { return known.Committed(it.ID) })
		l.Repeated += len(items) - len(fresh)
		if len(fresh) == 0 {
			return nil
		}
		res, err := w.Write(ctx, fresh)
		l.Items += len(fresh)
		l.Rows += int64(res.Rows)
		return err
	})
	if err = errors.Join(err, w.Close(), known.Close()); err != nil || l.Items == 0 {
		return err
	}
	m, err := NewMirror(ctx, l.bucket, Options{Address: l.bucket.String(), Prefix: l.to, Directory: root, CloseWithin: patience, Scratch: true})
	if err != nil {
		return err
	}
	return errors.Join(m.Push(ctx), m.Close())
}

// openKnown is what the new owner of the prefix remembers to have stored: all that its
// manifests still tell, whatever the owner's bounds are.
func (l *leftRows) openKnown(ctx context.Context, taken *bucketCommit) (*table.Writer, error) {
	root := filepath.Join(l.scratch, "known")
	if taken.Manifest != "" {
		_, err := table.ReadTree(root, taken.Manifest, taken.Checksum, table.TreeOptions{Fetch: l.from.manifests(ctx, root)})
		if err == nil {
			err = table.SetCurrent(root, taken.Manifest, taken.Checksum)
		}
		if err != nil {
			return nil, err
		}
	}
	return table.NewWriter(root, table.Options{RememberFor: unlimitedAge, RememberMax: math.MaxInt})
}
