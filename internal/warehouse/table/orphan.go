package table

import (
	"errors"
	"fmt"
	"os"
	"path"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/parquet"
)

// written are the files of one write that no manifest names.
type written struct {
	ids   warehouse.IDSet
	files []fileEntry
	rows  [][]methodspan.Row // of each
}

// together reads the files that were written with one of them. What a file says of
// others is believed only if all are there and each of them says the same: else it
// counts for nothing, and the others for what they are without it.
func (w *Writer) together(name string, present map[string]bool) (g *written, believed bool, err error) {
	own, ok, err := w.readMember(name)
	if !ok || !complete(own.group, name, present) {
		return nil, false, err
	}
	g = &written{ids: own.ids}
	for _, file := range own.group.Files {
		f := own
		if file != name {
			if f, ok, err = w.readMember(file); !ok || !reflect.DeepEqual(f.group, own.group) {
				return nil, false, err
			}
		}
		g.files, g.rows = append(g.files, f.entry), append(g.rows, f.rows)
	}
	return g, true, nil
}

// member is one file of a write.
type member struct {
	entry fileEntry
	group *parquet.WriteGroup
	ids   warehouse.IDSet // that its write settles
	rows  []methodspan.Row
}

// readMember reads a file that no manifest names. It is not ok if the file is not what
// was written; that the disk fails, or that this program is too old, is no reason to give
// up what is in it.
func (w *Writer) readMember(name string) (m *member, ok bool, err error) {
	data, err := os.ReadFile(w.path(name))
	if err != nil {
		return nil, false, warehouse.DiskError("read file", w.path(name), err)
	}
	m, err = readOrphan(name, data)
	var newer *warehouse.NewerError
	if errors.As(err, &newer) {
		return nil, false, warehouse.Damaged("adopt file", w.path(name), newer)
	}
	return m, err == nil, nil
}

// readOrphan believes a file only if it is what was written: raw rows of the date whose
// file it is, in their order, of items that its write settled. With others among them the
// date could not be looked after any more.
func readOrphan(name string, data []byte) (*member, error) {
	if err := parquet.CheckFooterSum(data); err != nil {
		return nil, err
	}
	c, err := parquet.ReadContent(data)
	if err != nil {
		return nil, err
	}
	if len(c.Rows) == 0 {
		return nil, errors.New("it has no rows")
	}
	ids, err := itemsOfWrite(&c.Group)
	if err != nil {
		return nil, err
	}
	date, err := time.Parse(warehouse.DateLayout, strings.TrimPrefix(path.Dir(name), warehouse.DatePrefix))
	if err != nil {
		return nil, err
	}
	day := int32(date.Unix() / 86400)
	before := &methodspan.Row{Resource: &methodspan.Resource{}}
	for i := range c.Rows {
		r := &c.Rows[i]
		if r.Level != methodspan.LevelRaw {
			return nil, fmt.Errorf("row %d is of the level %.80q", i, r.Level)
		}
		if parquet.Compare(r, before) < 0 {
			return nil, fmt.Errorf("row %d is out of order", i)
		}
		before = r
		if r.EventDay() != day {
			return nil, fmt.Errorf("row %d is of another date, day %d since 1970", i, r.EventDay())
		}
		if !ids.Has(r.BatchID) {
			return nil, fmt.Errorf("row %d is of the item %.80q, which was not written with it", i, r.BatchID)
		}
	}
	entry := describe(name, data, c)
	entry.Items = c.Group.Items
	return &member{entry, &c.Group, ids, c.Rows}, nil
}

// maxWriteIDs is more than one write can settle; a footer that says otherwise is
// none of ours.
const maxWriteIDs = 100_000_000

// itemsOfWrite are the ids that a write settles.
func itemsOfWrite(g *parquet.WriteGroup) (warehouse.IDSet, error) {
	ids := warehouse.IDSet{}
	if _, err := ids.Unpack(g.Items); err != nil {
		return nil, err
	}
	if ids.Count(maxWriteIDs) > maxWriteIDs {
		return nil, fmt.Errorf("it settles more than %d items", maxWriteIDs)
	}
	return ids, nil
}

// complete reports whether all files that were written together are there.
func complete(g *parquet.WriteGroup, name string, present map[string]bool) bool {
	return slices.Contains(g.Files, name) && !slices.ContainsFunc(g.Files, func(f string) bool { return !present[f] })
}

// describe makes the entry of a file from the file itself.
func describe(name string, data []byte, c *parquet.Content) fileEntry {
	rows := c.Rows
	entry := fileEntry{Path: name, Kind: KindRaw, Schema: c.Schema,
		Summary: parquet.Summary{Rows: int64(len(rows)), Bytes: int64(len(data)), GroupBytes: c.GroupBytes, Checksum: parquet.Checksum(data)}}
	entry.MinStartNS, entry.MaxStartNS = rows[0].StartNS, rows[0].StartNS
	for i := range rows {
		entry.MinStartNS = min(entry.MinStartNS, rows[i].StartNS)
		entry.MaxStartNS = max(entry.MaxStartNS, rows[i].StartNS)
	}
	return entry
}
