package parquet

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/corehour/corehour/internal/methodspan"
)

// Files for other programs contain the same rows, and only encodings that every reader supports.
func TestEncode_ExchangeFilesPlain(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 1))
	e := NewExchangeEncoder()
	for round := range 20 {
		resources := anyResources(rng, 5)
		rows := make([]methodspan.Row, 1+rng.IntN(400))
		pointers := make([]*methodspan.Row, len(rows))
		for i := range rows {
			rows[i] = anyRow(rng, resources)
			pointers[i] = &rows[i]
		}
		e.encoder.groupRows = 50 + rng.IntN(400) // for several row groups
		var got []methodspan.Row
		err := e.Encode(pointers, func(_ string, part []*methodspan.Row, file []byte) error {
			c, err := ReadContent(bytes.Clone(file))
			if err != nil {
				return err
			}
			if len(c.Rows) != len(part) {
				t.Errorf("%d rows of %d", len(c.Rows), len(part))
			}
			got = append(got, c.Rows...)
			return plainOnly(t, file)
		})
		if err != nil {
			t.Fatal(err)
		}
		own := encodeRows(t, NewEncoder(), rows) // in the same order
		if !reflect.DeepEqual(got, own) {
			t.Fatalf("round %d: the rows differ from those of the warehouse's own files", round)
		}
	}
}

func plainOnly(t *testing.T, file []byte) error {
	t.Helper()
	f, err := pq.OpenFile(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return err
	}
	for _, group := range f.Metadata().RowGroups {
		for _, column := range group.Columns {
			for _, encoding := range column.MetaData.Encoding {
				if !slices.Contains([]format.Encoding{format.Plain, format.RLE, format.RLEDictionary}, encoding) {
					t.Errorf("%s has the encoding %s", column.MetaData.PathInSchema, encoding)
				}
			}
		}
	}
	return nil
}
