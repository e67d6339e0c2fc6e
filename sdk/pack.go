package corehour

import (
	"bytes"
	"compress/gzip"
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
	p.zipped.Reset()
	p.zipper.Reset(p.zipped)
	_, _ = p.zipper.Write(body) // a bytes.Buffer takes everything
	_ = p.zipper.Close()
	return p.zipped.Bytes()
}

// lend gives a packed body to an HTTP request.
func (p *packer) lend(req *http.Request, body []byte) {
	lent := p.lent
	req.GetBody = func() (io.ReadCloser, error) {
		lent.Add(1)
		return &lentBody{Reader: bytes.NewReader(body), giveBack: sync.OnceFunc(func() { lent.Add(-1) })}, nil
	}
	req.Body, _ = req.GetBody() // never an error
	req.ContentLength = int64(len(body))
	if p.zipper != nil {
		req.Header.Set("Content-Encoding", "gzip")
	}
}

type lentBody struct {
	*bytes.Reader
	giveBack func()
}

func (b *lentBody) Close() error {
	b.giveBack()
	return nil
}
