package parquet

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"github.com/corehour/corehour/internal/methodspan"
)

// Keys of the metadata in a file's footer.
const (
	metaSchema = "corehour.schema_version"
	metaGamma  = "corehour.histogram_gamma"
	metaGroup  = "corehour.write"
)

// writeGroup says which files one Write made together and which items they
// settle. It is what a start needs to adopt a file that no manifest names yet.
type writeGroup struct {
	Files []string          `json:"files"` // below the root, with forward slashes
	Items map[string]string `json:"items"`
}

// rowGroupRows is how many rows a row group has at most: DuckDB's own size, so
// that its threads get one each.
const rowGroupRows = 122_880

// encodeFile writes sorted rows as one Parquet file.
func encodeFile(w io.Writer, rows []*methodspan.Row, group *writeGroup) error {
	meta, err := json.Marshal(group)
	if err != nil {
		return fmt.Errorf("encode the footer: %w", err)
	}
	out := pq.NewGenericWriter[record](w,
		pq.Compression(&zstd.Codec{Level: zstd.SpeedFastest}),
		pq.MaxRowsPerRowGroup(rowGroupRows),
		pq.CreatedBy("corehour", strconv.Itoa(SchemaVersion), ""),
		pq.KeyValueMetadata(metaSchema, strconv.Itoa(SchemaVersion)),
		pq.KeyValueMetadata(metaGamma, strconv.FormatFloat(methodspan.Gamma, 'g', -1, 64)),
		pq.KeyValueMetadata(metaGroup, string(meta)),
	)
	buf := make([]record, 256)
	for len(rows) > 0 {
		n := min(len(buf), len(rows))
		for i, r := range rows[:n] {
			buf[i].fill(r)
		}
		if _, err := out.Write(buf[:n]); err != nil {
			return fmt.Errorf("encode rows: %w", err)
		}
		rows = rows[n:]
	}
	if err := out.Close(); err != nil {
		return fmt.Errorf("finish the file: %w", err)
	}
	return nil
}
