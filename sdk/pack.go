package corehour

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
)

// packer makes bodies in buffers that serve again and again. The HTTP client may
// go on reading a body after it has answered; while it does, the buffers are not
// touched and the next body gets new ones.
type packer struct {
	zipper *gzip.Writer // nil = send as it is
	zipped *bytes.Buffer
	lent   *atomic.Int64 // bodies in the client's hands
}

func newPacker(zip bool) packer {
	p := packer{zipped: new(bytes.Buffer), lent: new(atomic.Int64)}
	if zip {
		// The fastest level: spans of one method differ in a few bytes, and more
		// effort saves little. The only error is of a level that does not exist.
		p.zipper, _ = gzip.NewWriterLevel(p.zipped, gzip.BestSpeed)
	}
	return p
}

// pack encodes and compresses a request.
func (p *packer) pack(e *engine, r *request) []byte {
	if p.lent.Load() > 0 {
		p.zipped, p.lent = new(bytes.Buffer), new(atomic.Int64)
		e.encoder.body = nil
	}
	body := e.encode(r)
	if p.zipper == nil {
		return body
	}
	if p.zipped.Cap() > keptBuffer {
		p.zipped = new(bytes.Buffer)
	}
	p.zipped.Reset()
	p.zipper.Reset(p.zipped)
	_, _ = p.zipper.Write(body) // a bytes.Buffer takes everything
	_ = p.zipper.Close()
	return p.zipped.Bytes()
}

// lend gives a packed body to an HTTP request, and records who owns it.
func (p *packer) lend(req *http.Request, body []byte, at *custody) {
	lent := p.lent
	req.GetBody = func() (io.ReadCloser, error) {
		lent.Add(1)
		return &lentBody{rest: bytes.NewReader(body), at: at, giveBack: sync.OnceFunc(func() { lent.Add(-1) })}, nil
	}
	req.Body, _ = req.GetBody() // never an error
	req.ContentLength = int64(len(body))
	if p.zipper != nil {
		req.Header.Set("Content-Encoding", "gzip")
	}
}

// custody is whether the body of an attempt can have been sent. Transports of the program
// need not report connections, so one that begins to read may have sent it; and a body that
// is reported as unsent cannot be read any more.
type custody struct{ state atomic.Int32 }

const (
	unread int32 = iota
	handedOver
	withdrawn
)

// hand gives the body away, unless it has been withdrawn.
func (c *custody) hand() bool {
	return c.state.CompareAndSwap(unread, handedOver) || c.state.Load() == handedOver
}

// withdraw takes the body back, unless it has been given away.
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
