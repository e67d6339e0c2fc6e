package parquet

import (
	"reflect"

	"github.com/corehour/corehour/internal/columns"
	"github.com/corehour/corehour/internal/methodspan"
)

// heavyText is the size in bytes above which the text of a row group is counted row by row.
const heavyText = 1 << 20

// longNames are the string columns that can contain long texts.
var longNames = namesOf(func(c *columns.Column) bool { return c.Long })

// binPaths are the columns from which the number of a row's bins is counted.
var binPaths = func() (paths []string) {
	for i := range columns.All {
		if c := &columns.All[i]; c.GoType() == reflect.TypeFor[methodspan.Histogram]() {
			paths = append(paths, elementPath(c, 0))
		}
	}
	return paths
}()

// resourcePaths are the columns that derive from the resource.
var resourcePaths = namesOf(func(c *columns.Column) bool { return c.Part() == columns.OfResource })

func namesOf(is func(*columns.Column) bool) (names []string) {
	for i := range columns.All {
		if c := &columns.All[i]; is(c) {
			names = append(names, c.Name)
		}
	}
	return names
}

// weigh returns the weight of each row of the row group that a source reads next, or nil if it has no
// histograms and little text.
func (m *merger) weigh(s *source) ([]int32, error) {
	b := m.weighed
	b.begin(s.file.RowGroups()[s.group])
	weights, err := m.weighText(s, b)
	if err != nil {
		return nil, err
	}
	for _, c := range b.named(binPaths) {
		if meta := s.chunkOf(c); meta.Statistics.NullCount == meta.NumValues {
			continue
		}
		if weights == nil {
			weights = make([]int32, b.rows)
		}
		c.borrow(&m.spare)
		if err := b.readColumns(s.file.Schema(), s.file.RowGroups()[s.group], []blockColumn{c}); err != nil {
			return nil, err
		}
		bins := c.vector.(*listVector[int64])
		for i := range weights {
			weights[i] += int32(len(bins.get(i)) * binWeight)
		}
		c.giveBack(&m.spare)
	}
	return weights, nil
}

// weighText returns the bytes of each row's long names, or nil if there is little text.
func (m *merger) weighText(s *source, b *block) ([]int32, error) {
	columns := b.named(longNames)
	size := int64(0)
	for _, c := range columns {
		size += s.chunkOf(c).TotalUncompressedSize
	}
	if size <= heavyText {
		return nil, nil
	}
	texts := make([]int32, b.rows)
	distinct := 0
	for _, c := range columns {
		c.borrow(&m.spare)
		if err := b.readColumns(s.file.Schema(), s.file.RowGroups()[s.group], []blockColumn{c}); err != nil {
			return nil, err
		}
		names := c.vector.(*nameVector)
		for _, name := range names.values {
			distinct += len(name)
		}
		for i := range texts {
			texts[i] += int32(len(names.get(i)))
		}
		c.giveBack(&m.spare)
	}
	if distinct <= heavyText {
		return nil, nil
	}
	return texts, nil
}
