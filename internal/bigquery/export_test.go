package bigquery

import (
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/corehour/corehour/internal/methodspan"
)

// Small makes the bounds of a writer small, for tests.
func (o *Options) Small(requestBytes int, answerWithin time.Duration) {
	o.requestBytes, o.answerWithin, o.firstPause = requestBytes, answerWithin, time.Microsecond
}

// Abandon lets go of everything as a crash does: nothing is finished.
func (w *Writer) Abandon() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.release()
}

// NewEncoder is for the benchmark.
func NewEncoder() *encoder { return &encoder{} }

// AppendRow is for the benchmark.
func (e *encoder) AppendRow(dst []byte, r *methodspan.Row) []byte { return e.appendRow(dst, r) }

// Row is the fields of one row alone.
func (e *encoder) Row(r *methodspan.Row) []byte { return e.appendFields(nil, r) }

// Descriptor is the rows' descriptor with the names of nested types resolved.
func Descriptor() *descriptorpb.DescriptorProto {
	d := proto.CloneOf(descriptor())
	for _, f := range d.GetField() {
		if f.TypeName != nil {
			f.TypeName = proto.String("." + d.GetName() + "." + f.GetTypeName())
		}
	}
	return d
}
