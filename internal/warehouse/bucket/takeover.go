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

// takeover records the committed rows of a directory when another owner took its prefix over: raw files up to
// the sequence. Newer rows of its collector exist in the directory only.
type takeover struct {
	Owner    string `json:"owner"`
	Sequence int64  `json:"sequence"`
}

// maxHanded bounds the number of remembered takeovers. The newest ones are kept.
const maxHanded = 64

// addTakeover records that the owner of the commit before is replaced by to.
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

// takenOverAt returns the last committed sequence of an owner when another took the prefix over, 0 if the
// takeover is no longer remembered.
func takenOverAt(head *bucketCommit, owner string) int64 {
	for _, h := range head.Handed {
		if h.Owner == owner {
			return h.Sequence
		}
	}
	return 0
}

// Imported is the result of an import of rows that a directory still held.
type Imported struct {
	Address string `json:"address"` // of the prefix where they are now
	Items   int    `json:"items"`
	Rows    int64  `json:"rows"`
	// Repeated items are stored by the collector that has the prefix now.
	Repeated int `json:"repeated_items"`
	// Already means that an earlier import stored the rows.
	Already bool `json:"already"`
}

// abandonedPrefix returns the prefix for the rows of a directory whose own prefix has another owner.
func abandonedPrefix(owner string) string { return "left-" + owner }

// unlimitedAge exceeds the age of any row.
const unlimitedAge = 100 * 365 * 24 * time.Hour

// Import uploads the rows of a stopped collector's directory that are not in the bucket. If nobody has taken
// its prefix over, the rows go there. Otherwise they go to a prefix of their own in one commit, which is made
// once, even after retries. Items that the new owner of the prefix remembers are left out.
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
	// The writer recovers finished files without a commit. It fails if another writer is active.
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
	// A collector must not write to the directory any more, even while the store does not answer.
	found.Imported = true
	if err := found.write(directory); err != nil {
		return nil, err
	}
	return into, l.importRows(ctx, tree, head, max(head.Handed[i].Sequence, found.Sequence, tree.Common))
}

// leftRows is an import into a prefix of its own.
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

// openKnown opens the items that the new owner of the prefix remembers as stored: all items in its manifests,
// regardless of the owner's bounds.
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
