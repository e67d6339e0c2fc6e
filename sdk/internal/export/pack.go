package export

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
)

// Packer builds bodies in reused buffers. The HTTP client can still read a body after it has
// returned; until it stops, the buffers are not touched and the next body gets new ones.
type Packer struct {
	Gzip   bool
	zipper *gzip.Writer
	zipped *bytes.Buffer
	plain  []byte
	lent   *atomic.Int64 // bodies that the client may still read
}

// Pack compresses a request, which encode appends to a buffer.
func (p *Packer) Pack(encode func([]byte) []byte) []byte {
	if p.lent == nil || p.lent.Load() > 0 {
		p.plain, p.zipped, p.lent = nil, new(bytes.Buffer), new(atomic.Int64)
	}
	if cap(p.plain) > KeptBuffer || p.zipped.Cap() > KeptBuffer {
		p.plain, p.zipped = nil, new(bytes.Buffer)
	}
	p.plain = encode(p.plain[:0])
	if !p.Gzip {
		return p.plain
	}
	if p.zipper == nil {
		// The fastest level: spans of one method differ in a few bytes, and more effort saves
		// little. The only possible error is an invalid level.
		p.zipper, _ = gzip.NewWriterLevel(p.zipped, gzip.BestSpeed)
	}
	p.zipped.Reset()
	p.zipper.Reset(p.zipped)
	_, _ = p.zipper.Write(p.plain) // a bytes.Buffer never fails
	_ = p.zipper.Close()
	return p.zipped.Bytes()
}

// KeptBuffer is the maximum size of a buffer that is reused. Usual requests have a tenth of it; one
// with long names, or the counts of very many methods, can have tens of megabytes.
const KeptBuffer = 4 << 20

// lend attaches a packed body to an HTTP request, and records its owner.
func (p *Packer) lend(req *http.Request, body []byte, at *custody) {
	lent := p.lent
	req.GetBody = func() (io.ReadCloser, error) {
		lent.Add(1)
		return &lentBody{rest: bytes.NewReader(body), at: at, giveBack: sync.OnceFunc(func() { lent.Add(-1) })}, nil
	}
	req.Body, _ = req.GetBody() // never fails
	req.ContentLength = int64(len(body))
	if p.Gzip {
		req.Header.Set("Content-Encoding", "gzip")
	}
}

// custody records whether the body of an attempt can have been sent. Transports of the program need
// not report connections, so a transport that begins to read can have sent it. A body that is reported
// as unsent cannot be read any longer.
type custody struct{ state atomic.Int32 }

const (
	unread int32 = iota
	handedOver
	withdrawn
)

// hand gives the body to the transport, unless it has been withdrawn.
func (c *custody) hand() bool {
	return c.state.CompareAndSwap(unread, handedOver) || c.state.Load() == handedOver
}

// withdraw takes the body back, unless the transport has it.
func (c *custody) withdraw() bool { return c.state.CompareAndSwap(unread, withdrawn) }

var errWithdrawn = errors.New("the attempt that this body belongs to is over")

type lentBody struct {
	rest     *bytes.Reader
	at       *custody
	giveBack func()
}

func (b *lentBody) Read(p []byte) (int, error) {
	if !b.at.hand() {
		return 0, errWithdrawn
	}
	return b.rest.Read(p)
}

func (b *lentBody) Close() error {
	b.giveBack()
	return nil
}
