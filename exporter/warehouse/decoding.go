package warehouse

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"go.opentelemetry.io/collector/exporter/exporterhelper/xexporterhelper"

	"github.com/corehour/corehour/internal/methodspan"
)

var (
	errDamaged      = errors.New("the queued request is damaged")
	errNeverWritten = errors.New("the queue has never written the request")
)

// Unmarshal implements the queue's encoding. What it is given comes from a disk,
// so it may be anything; it takes no more memory than in proportion to it.
func (e encoding) Unmarshal(data []byte) (context.Context, xexporterhelper.Request, error) {
	// Where the disk is full the helper's queue refuses a request, which is aggregated
	// then, and keeps its number all the same. Later it finds nothing under it and goes on.
	if len(data) == 0 {
		return context.Background(), nil, errNeverWritten
	}
	req, err := decode(data)
	if err != nil {
		e.damaged() // the helper drops it without a word
		return context.Background(), nil, err
	}
	return context.Background(), req, nil
}

func decode(data []byte) (*request, error) {
	if len(data) == 0 || data[0] != encodingVersion && data[0] != withoutHosts {
		return nil, fmt.Errorf("%w: it is not of version %d or %d", errDamaged, withoutHosts, encodingVersion)
	}
	d := decoder{data: data[1:], hosts: data[0] != withoutHosts}
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
	hosts     bool // rows have their hosts
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

// count reads how many elements follow, each of which takes at least size bytes.
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
	const leastResource = 12
	d.resources = make([]methodspan.Resource, d.count(leastResource))
	for i := range d.resources {
		r := &d.resources[i]
		strings := resourceStrings(r)
		known := len(strings)
		if !d.hosts {
			known--
		}
		for _, s := range strings[:known] {
			*s = d.string()
		}
		r.ProcessStartNS = d.varint()
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
	const leastItem, leastRow = 3, 26
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
	for _, s := range rowStrings(r) {
		*s = d.string()
	}
	r.StartNS = d.varint()
	r.EndNS = r.StartNS + d.varint()
	r.RowSeq = int32(d.varint())
	for _, v := range rowInts(r) {
		*v = d.varint()
	}
	for _, f := range rowFloats(r) {
		if mask&f.bit != 0 {
			*f.v = d.float()
		}
	}
	if mask&hasWallHist != 0 {
		r.WallHist = d.histogram()
	}
	if mask&hasCPUHist != 0 {
		r.CPUHist = d.histogram()
	}
	if mask&hasPrice != 0 {
		price := d.float()
		r.USDPerCoreHour = &price
	}
	if mask&hasProcess != 0 {
		r.Process = d.process()
	}
	if mask&hasTrace != 0 {
		copy(r.TraceID[:], d.readBytes(16))
	}
	if mask&hasSpan != 0 {
		copy(r.SpanID[:], d.readBytes(8))
	}
	if mask&hasParent != 0 {
		copy(r.ParentSpanID[:], d.readBytes(8))
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
	p := &methodspan.ProcessStats{Cores: d.float()}
	if d.hosts {
		p.HostCores, p.CPULimit = d.float(), d.float()
	}
	p.RSSBytes, p.CallsTotal, p.Final = d.varint(), d.varint(), d.uvarint() != 0
	const leastStat = 9
	for range d.count(leastStat) {
		p.Stats = append(p.Stats, methodspan.Stat{Name: d.string(), Value: d.float()})
	}
	return p
}
