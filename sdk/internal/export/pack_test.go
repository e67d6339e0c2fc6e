package export

import "testing"

// A request larger than most does not keep its memory for ever.
func TestPacker_ReleasesLargeBuffer(t *testing.T) {
	p := Packer{Gzip: true}
	small := func(b []byte) []byte { return append(b, "small"...) }
	p.Pack(small)
	p.zipped.Grow(2 * KeptBuffer)
	p.plain = make([]byte, 2*KeptBuffer)
	p.Pack(small)
	if p.zipped.Cap() > KeptBuffer || cap(p.plain) > KeptBuffer {
		t.Errorf("%d and %d bytes are kept", p.zipped.Cap(), cap(p.plain))
	}
}
