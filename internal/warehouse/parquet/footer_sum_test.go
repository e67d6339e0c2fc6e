package parquet

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
)

// The checksum in a footer is found even if names and ids in the footer contain the bytes that precede
// a checksum.
func TestRead_NameLikeChecksum(t *testing.T) {
	for i, name := range []string{
		metaSeal, metaSeal + ".Sum", metaSeal + "\x18\x0f", metaSeal + "\x18\x0f" + unsealed, metaSeal + "\x18\x0f" + unsealed + "\x00\x18\x12corehour version 1",
	} {
		var rows []*methodspan.Row
		ids := warehouse.IDSet{}
		for n, id := range []string{"plain", name} {
			it := item(fmt.Sprint("a-", n), noon, 5)
			if id == metaSeal {
				it.ID = id // the other names are not valid ids
			}
			ids.AddID(it.ID)
			for j := range it.Rows {
				r := &it.Rows[j]
				r.Method = []string{"m", name, "zzz"}[(i+j+n)%3] // the minimum, the maximum, or neither
				r.Class, r.Caller, r.RequestID, r.Stack = name, name, name, name
				rows = append(rows, r)
			}
		}
		var file bytes.Buffer
		if _, err := NewEncoder().Encode(&file, rows, &WriteGroup{Items: ids.Pack()}); err != nil {
			t.Fatal(err)
		}
		data := file.Bytes()
		end, err := readFooter(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		if at, err := footerSumOffset(end); err != nil || at < 0 {
			t.Fatalf("%q: no checksum is found: %v", name, err)
		}
		if err := CheckFooterSum(data); err != nil {
			t.Errorf("%q: %v", name, err)
		}
		for _, at := range []int{10, len(data) / 2, len(data) - 60} {
			data[at] ^= 1
			if CheckFooterSum(data) == nil {
				t.Errorf("%q: damage at %d of %d is not seen", name, at, len(data))
			}
			data[at] ^= 1
		}
		if c, err := ReadContent(data); err != nil || len(c.Rows) != 10 {
			t.Errorf("%q: %v", name, err)
		}
	}
}
