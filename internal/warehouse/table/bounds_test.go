package table

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"testing"
	"time"

	pq "github.com/parquet-go/parquet-go"

	"github.com/corehour/corehour/internal/methodspan"
)

// The bounds of event_date equal the date. Query engines use them to skip row groups.
func TestEventDate_ColumnBounds(t *testing.T) {
	root := t.TempDir()
	now := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	w, err := NewWriter(root, Options{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	row := methodspan.Row{Kind: methodspan.KindCounts, Level: methodspan.LevelRaw, StartNS: now.UnixNano(), Class: "a", Method: "B", Calls: 1}
	if _, err := w.Write(context.Background(), []methodspan.Item{{ID: "a-1", Rows: []methodspan.Row{row}}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := Open(root)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(s.Files[0].Path)
	if err != nil {
		t.Fatal(err)
	}
	file, err := pq.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	stats := file.Metadata().RowGroups[0].Columns[0].MetaData.Statistics
	for _, bound := range [][]byte{stats.MinValue, stats.MaxValue} {
		if len(bound) != 4 || int32(binary.LittleEndian.Uint32(bound)) != row.EventDay() {
			t.Errorf("a bound of event_date is %x, want day %d", bound, row.EventDay())
		}
	}
}
