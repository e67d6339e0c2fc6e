package table

import (
	"errors"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/regular"
	"github.com/corehour/corehour/internal/warehouse"
	"github.com/corehour/corehour/internal/warehouse/parquet"
)

// written holds the files of one write that no manifest names.
type written struct {
	ids   warehouse.IDSet
	files []fileEntry
	rows  [][]methodspan.Row // of each file
}

// together reads the file name and the files of the same write. believed is true only if all files of the
// write are present and all of them list the same group. Otherwise name is ignored; the other files are
// judged separately.
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
	ids   warehouse.IDSet // ids of all items of the write
	rows  []methodspan.Row
}

// maxOrphan is larger than any file of one write.
const maxOrphan = 4 << 30

// readMember reads a file that no manifest names. ok is false if the file is not as the writer wrote it.
// A disk error, or a file of a newer program, is returned as err, so that the file is not given up.
func (w *Writer) readMember(name string) (m *member, ok bool, err error) {
	data, err := regular.ReadFile(w.path(name), maxOrphan)
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

// readOrphan accepts a file only if it is as the writer wrote it: raw rows of the date of its directory,
// in order, whose items belong to its write. With any other rows maintenance of the date would fail.
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

// maxWriteIDs is larger than the number of ids of any write. A footer with more ids was not written by
// this program.
const maxWriteIDs = 100_000_000

// itemsOfWrite returns the ids of the items of a write.
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

// complete reports whether all files of the write g are present, and name is one of them.
func complete(g *parquet.WriteGroup, name string, present map[string]bool) bool {
	return slices.Contains(g.Files, name) && !slices.ContainsFunc(g.Files, func(f string) bool { return !present[f] })
}

// describe returns the manifest entry of a file, computed from its content.
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
