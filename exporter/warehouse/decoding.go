package warehouse

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unsafe"

	"go.opentelemetry.io/collector/exporter/exporterhelper/xexporterhelper"

	"github.com/corehour/corehour/internal/methodspan"
)

var (
	errDamaged      = errors.New("the queued request is damaged")
	errNeverWritten = errors.New("the queue has never written the request")
)

// Unmarshal implements the queue's encoding. The data comes from a disk and can be damaged in any way;
// memory use stays proportional to its size.
func (e encoding) Unmarshal(data []byte) (context.Context, xexporterhelper.Request, error) {
	// On a full disk the helper's queue refuses a request, which is then aggregated, but keeps its
	// number. Later the queue finds no data under that number and continues.
	if len(data) == 0 {
		return context.Background(), nil, errNeverWritten
	}
	req, err := decode(data)
	if err != nil {
		e.damaged() // the helper drops it silently
		return context.Background(), nil, err
	}
	return context.Background(), req, nil
}

func decode(data []byte) (*request, error) {
	if len(data) == 0 {
		return nil, errDamaged
	}
	if data[0] != encodingVersion {
		return nil, fmt.Errorf("%w: want encoding version %d, found %d", errDamaged, encodingVersion, data[0])
	}
	d := decoder{data: data[1:], layout: rowLayout()}
	d.readTables()
	items := d.items()
	if d.failed || len(d.data) != 0 {
		return nil, errDamaged
	}
	return newRequest(items...), nil
}

// decoder reads until it fails; from then on it reads zeros.
type decoder struct {
	data      []byte
	failed    bool
	layout    *layout
	strings   []string
	resources []methodspan.Resource
}

func (d *decoder) fail() { d.failed, d.data = true, nil }

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.data)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.data = d.data[n:]
	return v
}

func (d *decoder) varint() int64 {
	v, n := binary.Varint(d.data)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.data = d.data[n:]
	return v
}

// readBytes returns the next n bytes, nil if there are fewer.
func (d *decoder) readBytes(n uint64) []byte {
	if n > uint64(len(d.data)) {
		d.fail()
		return nil
	}
	b := d.data[:n]
	d.data = d.data[n:]
	return b
}

func (d *decoder) float() float64 {
	b := d.readBytes(8)
	if b == nil {
		return 0
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b))
}

// count reads the number of elements that follow. Each takes at least size bytes.
func (d *decoder) count(size uint64) int {
	n := d.uvarint()
	if n > uint64(len(d.data))/size {
		d.fail()
		return 0
	}
	return int(n)
}

func (d *decoder) readTables() {
	d.strings = make([]string, 1, 1+min(len(d.data), 1024))
	for range d.count(1) {
		d.strings = append(d.strings, string(d.readBytes(d.uvarint())))
	}
	d.resources = make([]methodspan.Resource, d.count(uint64(len(d.layout.resource.texts)+len(d.layout.resource.longs))))
	for i := range d.resources {
		part := unsafe.Pointer(&d.resources[i])
		for _, f := range d.layout.resource.texts {
			*f.At(part) = d.string()
		}
		for _, f := range d.layout.resource.longs {
			*f.At(part) = d.varint()
		}
	}
}

func (d *decoder) string() string {
	n := d.uvarint()
	if n >= uint64(len(d.strings)) {
		d.fail()
		return ""
	}
	return d.strings[n]
}

func (d *decoder) items() []methodspan.Item {
	const leastItem = 3
	leastRow := uint64(5 + len(d.layout.texts) + len(d.layout.longs))
	items := make([]methodspan.Item, d.count(leastItem))
	for i := range items {
		item := &items[i]
		item.ID = d.string()
		for range d.count(1) {
			item.Folds = append(item.Folds, d.string())
		}
		item.Rows = make([]methodspan.Row, d.count(leastRow))
		for j := range item.Rows {
			d.row(&item.Rows[j])
			item.Rows[j].BatchID = item.ID
		}
		if d.failed {
			return nil
		}
	}
	return items
}

func (d *decoder) row(r *methodspan.Row) {
	mask := d.uvarint()
	if n := d.uvarint(); n > uint64(len(d.resources)) {
		d.fail()
	} else if n > 0 {
		r.Resource = &d.resources[n-1]
	}
	l, part := d.layout, unsafe.Pointer(r)
	for _, f := range l.texts {
		*f.At(part) = d.string()
	}
	r.StartNS = d.varint()
	r.EndNS = r.StartNS + d.varint()
	r.RowSeq = int32(d.varint())
	for _, f := range l.longs {
		*f.At(part) = d.varint()
	}
	for _, f := range l.doubles {
		if mask&f.bit != 0 {
			*f.At(part) = d.float()
		}
	}
	for _, f := range l.histograms {
		if mask&f.bit != 0 {
			*f.At(part) = d.histogram()
		}
	}
	for _, f := range l.prices {
		if mask&f.bit != 0 {
			price := d.float()
			*f.At(part) = &price
		}
	}
	if mask&l.processBit != 0 {
		r.Process = d.process()
	}
	for _, f := range l.ids16 {
		if mask&f.bit != 0 {
			copy(f.At(part)[:], d.readBytes(16))
		}
	}
	for _, f := range l.ids8 {
		if mask&f.bit != 0 {
			copy(f.At(part)[:], d.readBytes(8))
		}
	}
}

func (d *decoder) histogram() methodspan.Histogram {
	const leastBin = 9
	h := make(methodspan.Histogram, d.count(leastBin))
	for i := range h {
		h[i] = methodspan.Bin{Bin: int32(d.varint()), N: d.float()}
	}
	return h
}

func (d *decoder) process() *methodspan.ProcessStats {
	p := &methodspan.ProcessStats{}
	l, part := d.layout.process, unsafe.Pointer(p)
	for _, f := range l.doubles {
		*f.At(part) = d.float()
	}
	for _, f := range l.longs {
		*f.At(part) = d.varint()
	}
	for _, f := range l.bools {
		*f.At(part) = d.uvarint() != 0
	}
	const leastStat = 9
	for _, f := range l.stats {
		for range d.count(leastStat) {
			*f.At(part) = append(*f.At(part), methodspan.Stat{Name: d.string(), Value: d.float()})
		}
	}
	return p
}
